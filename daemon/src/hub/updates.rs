//! New firmware for companions, by the configuration.

use super::HubError;
use crate::{
    config::Config,
    pipeline::current::Current,
    updates::{Updates, releases::Releases, rollout::Policy},
};

/// Checks whose firmware companions get, as a start would.
///
/// # Errors
/// The root cannot be used, or a value of `[updates]` is none.
pub fn check_updates(config: &Config) -> Result<(Releases, Policy), HubError> {
    let releases = Releases::open(&config.hub.data_dir, config.updates.root.as_deref())
        .map_err(|error| HubError::Updates("root", error.to_string()))?;
    let policy = config.updates.policy().map_err(|(key, problem)| HubError::Updates(key, problem))?;
    Ok((releases, policy))
}

/// The releases that are kept, and how they are rolled out.
pub(super) async fn open(config: &Config, current: &Current) -> Result<Updates, HubError> {
    let (releases, policy) = check_updates(config)?;
    let approvals = current.pipeline().approvals().clone();
    let current = current.clone();
    let quorum = move || current.pipeline().approvals().terms().quorum;
    let updates = Updates::new(releases, policy, approvals, quorum);
    updates.tidy().await?;
    Ok(updates)
}

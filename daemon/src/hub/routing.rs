//! How received messages find their agents, built from the configuration.

use super::{HubError, agents::spelt};
use crate::{channels::account::Accounts, config::Config, router::Routing};

/// What the configuration says, with addresses as these accounts spell them.
pub(super) fn routing(config: &Config, accounts: &Accounts) -> Result<Routing, HubError> {
    let mut routing = config.checked().routing.clone();
    for route in &mut routing.routes {
        let from = std::mem::take(&mut route.from);
        route.from = spelt(from, accounts).map_err(|(entry, problem)| {
            HubError::Route(format!("routes.{}.from", route.name), format!("{entry:?}: {problem}"))
        })?;
    }
    Ok(routing)
}

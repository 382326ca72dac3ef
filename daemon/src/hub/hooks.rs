//! Hooks, built from the configuration.

use super::{ANSWER, HubError};
use crate::{
    config::{
        Config,
        hooks::{Moment, Way as Configured},
    },
    delivery::hooks::{Hook, Hooks, Way, call::Call},
    program::Program,
};

/// All hooks of the configuration, in the order of their names.
pub(super) fn build(config: &Config) -> Result<Hooks, HubError> {
    let (mut sending, mut sent) = (Vec::new(), Vec::new());
    for (name, hook) in &config.hooks {
        let way = match hook.way().expect("checked when the configuration was read") {
            Configured::Builtin(builtin) => Way::Builtin(builtin),
            Configured::Command(path, arguments) => {
                Way::Command(Program { path, arguments: arguments.to_vec() })
            }
            Configured::Url(url, token) => {
                let token = token.map(|token| token.read()).transpose();
                let token = token.map_err(|error| HubError::HookToken(name.clone(), error))?;
                // What is posted goes where the configuration says, and nowhere else.
                let client = super::http().timeout(ANSWER.max(hook.timeout.0)).no_proxy().build()?;
                Way::Call(Call { client, url, token })
            }
        };
        let built = Hook { name: name.clone(), way, timeout: hook.timeout.0 };
        match hook.on {
            Moment::MessageSending => sending.push(built),
            Moment::MessageSent => sent.push(built),
        }
    }
    Ok(Hooks::new(sending, sent))
}

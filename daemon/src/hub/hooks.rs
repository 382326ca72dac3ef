//! Hooks, built from the configuration.

use super::{ANSWER, HubError};
use crate::{
    config::{
        Config,
        hooks::{Moment, Transport as Configured},
    },
    hooks::{Hook, Hooks, Kinds, Transport, builtin::Builtin, call::Call},
    program::Program,
};

/// All hooks of the configuration, in the order of their names; behind them the guide, where the configuration says nothing of
/// it.
pub(super) fn build(config: &Config) -> Result<Hooks, HubError> {
    let mut kinds = Kinds::default();
    for (name, hook) in config.hooks.iter().filter(|(_, hook)| hook.enabled) {
        // Whatever there is has been checked.
        let Some(configured) = config.checked().hooks.get(name) else { continue };
        let way = match configured {
            Configured::Builtin(builtin) => Transport::Builtin(*builtin),
            Configured::Command(path, arguments) => {
                Transport::Command(Program { path: path.clone(), arguments: arguments.clone() })
            }
            Configured::Url(url, token) => {
                let token = token.as_ref().map(|token| token.read()).transpose();
                let token = token.map_err(|error| HubError::HookToken(name.clone(), error))?;
                // What is posted goes where the configuration says, and nowhere else.
                let client = super::http().timeout(ANSWER.max(hook.timeout.0)).no_proxy().build()?;
                Transport::Call(Call { client, url: url.clone(), token })
            }
        };
        let built = Hook { name: name.clone(), way, timeout: hook.timeout.0, tools: hook.tools.clone() };
        match hook.on {
            Moment::MessageSending => kinds.sending.push(built),
            Moment::MessageSent => kinds.sent.push(built),
            Moment::BeforeToolCall => kinds.before_call.push(built),
            Moment::ToolResult => kinds.result.push(built),
            Moment::InboundSender => kinds.gates.sender.push(built),
            Moment::InboundAccess => kinds.gates.access.push(built),
            Moment::InboundScope => kinds.gates.scope.push(built),
            Moment::InboundRequest => kinds.gates.request.push(built),
        }
    }
    if !config.hooks.values().any(|hook| hook.builtin == Some(Builtin::Guide)) {
        let (name, way, tools) = ("guide".to_owned(), Transport::Builtin(Builtin::Guide), Vec::new());
        kinds.result.push(Hook { name, way, timeout: ANSWER, tools });
    }
    Ok(Hooks::new(kinds))
}

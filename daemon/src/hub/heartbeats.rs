//! The agents' heartbeats, built from the configuration.

use std::sync::Arc;

use super::HubError;
use crate::{
    channels::account::Accounts,
    config::Config,
    heartbeat::{Heartbeats, System, goal::Goal},
};

/// Those that are on. A fixed target has an account to speak from, so that one that has none is told at the start, and not at night.
pub(super) fn heartbeats(config: &Config, accounts: &Accounts) -> Result<Heartbeats, HubError> {
    let plans = config.checked().heartbeats.clone();
    for (agent, plan) in &plans {
        let Goal::Target { channel, .. } = &plan.goal else { continue };
        let bound = config.agents.get(agent).and_then(|agent| agent.accounts.get(channel));
        let account = plan.account.as_ref().or(bound).map(String::as_str);
        accounts
            .pick(channel, account)
            .map_err(|error| HubError::Route(format!("heartbeat.{agent}.target"), error.to_string()))?;
    }
    Ok(Heartbeats::new(plans, Arc::new(System)))
}

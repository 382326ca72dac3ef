//! An agent that takes its turns, and ends them.

use anyhow::{Result, ensure};
use gatepost_tests::hub::Client;
use serde_json::{Value, json};

/// The next turn of the agent.
pub(crate) fn take(agent: &Client) -> Result<Value> {
    let turn = agent.get("/v1/turns?wait=30")?.taken()?["turn"].clone();
    ensure!(turn.is_object(), "no turn came");
    Ok(turn)
}

/// Ends a turn without an answer.
pub(crate) fn end(agent: &Client, turn: &Value) -> Result<()> {
    let id = turn["turn"].as_str().unwrap_or_default();
    agent.post(&format!("/v1/turns/{id}/end"), &json!({"lease": turn["lease"]}))?.taken()?;
    Ok(())
}

/// The next turn of the agent, which ends at once.
pub(crate) fn take_and_end(agent: &Client) -> Result<Value> {
    let turn = take(agent)?;
    end(agent, &turn)?;
    Ok(turn)
}

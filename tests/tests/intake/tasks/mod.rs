//! What agents do by themselves: they are woken for what they scheduled, and they write first.

mod first_word;
mod scheduled;

use anyhow::{Result, ensure};
use gatepost_tests::hub::{Client, SpawnedHub};
use serde_json::{Value, json};

/// A bridge, which vouches for nobody.
fn bridge(hub: &SpawnedHub) -> Result<Client> {
    let token = hub.cli(&["agent", "add", "porch", "--role", "bridge"])?.well()?;
    Ok(hub.anybody(Some(token.trim())))
}

/// Somebody writes to the account, in a conversation of two.
fn writes(bridge: &Client, peer: &str, words: &str) -> Result<()> {
    let report = json!({"channel": "local", "peer": peer, "sender": peer, "direct": true, "text": words});
    bridge.post("/v1/inbound", &report)?.taken()?;
    Ok(())
}

/// The agent's next turn.
fn next_turn(agent: &Client) -> Result<Value> {
    let turn = agent.get("/v1/turns?wait=20")?.taken()?["turn"].clone();
    ensure!(turn.is_object(), "no turn came");
    Ok(turn)
}

/// Ends a turn with these words; what became of them.
fn end(agent: &Client, turn: &Value, words: &str) -> Result<Value> {
    let mut reply = json!({"turn": turn["turn"], "lease": turn["lease"], "text": words});
    if !turn["context"].is_null() {
        reply["context"] = turn["context"].clone();
    }
    agent.post("/v1/reply", &reply)?.taken()
}

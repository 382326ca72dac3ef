//! What agents do by themselves: they are woken for what they scheduled, and they write first.

mod first_word;
mod scheduled;

use anyhow::{Result, ensure};
use gatepost_tests::hub::Client;
use serde_json::{Value, json};

/// A house in which whatever is written wakes the agent; `session` is which of its sessions that belongs to.
fn config(session: &str) -> String {
    format!(
        r#"
[agents.engineer]
allow = ["local:*"]
cross_context = "allow"
decorate = false
per_minute = 0

[people.ann]
ids = ["local:ann"]
scope = "owner"

[routes.home]
from = ["local:*"]
agent = "engineer"
engage = "pattern"
pattern = "."
senders = "all"
unknown = "public"
session = "{session}"

[channels.local.home]
"#
    )
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

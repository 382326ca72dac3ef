//! One call handed in twice, and one message handed in by two calls.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{
    COURIER, Client, SpawnedHub,
    client::{Answer, text},
};
use serde_json::{Value, json};

/// Hands a call in under a key.
fn keyed(agent: &Client, key: &str, call: &Value) -> Result<Answer> {
    let headers = [("Idempotency-Key", key), ("Content-Type", "application/json")];
    agent.raw("POST", "/v1/messages", &headers, call.to_string().as_bytes())
}

#[test]
fn a_key_stands_for_one_call_with_all_its_targets_and_options() -> Result<()> {
    let hub = SpawnedHub::start(COURIER)?;
    let agent = hub.agent("courier")?;
    let call = |targets: &[&str]| json!({"action": "broadcast", "targets": targets, "message": "Tea?"});
    let first = call(&["local:ann", "local:bob"]);
    let taken = keyed(&agent, "k", &first)?.taken()?;
    ensure!(taken["ok"] == true, "{taken}");
    // A key that begins alike is another.
    for other in ["k2", "k 2"] {
        ensure!(keyed(&agent, other, &json!({"to": "local:eve", "message": other}))?.status < 300, "{other}");
    }
    let mut silent = first.clone();
    silent["silent"] = json!(true);
    for (what, other) in [
        ("one more target", call(&["local:ann", "local:bob", "local:carl"])),
        ("another target", call(&["local:carl"])),
        ("one target fewer", call(&["local:ann"])),
        ("another option", silent),
        ("no broadcast", json!({"to": "local:carl", "message": "Tea?"})),
    ] {
        let refused = keyed(&agent, "k", &other)?;
        ensure!(refused.status == 409 && refused.body["code"] == "conflict", "{what}: {refused:?}");
    }
    ensure!(hub.operator()?.arrived("carl")?.is_empty(), "a refused call took a target");
    let again = keyed(&agent, "k", &first)?.taken()?;
    let ids = |all: &Value| -> Result<Vec<String>> {
        let all = all["targets"].as_array().context("targets")?;
        Ok(all.iter().map(|target| text(target, "id").to_owned()).collect())
    };
    ensure!(ids(&again)? == ids(&taken)?, "{again}");
    // And from one target to several.
    keyed(&agent, "one", &json!({"to": "local:dora", "message": "Milk?"}))?.taken()?;
    let refused = keyed(&agent, "one", &call(&["local:carl"]))?;
    ensure!(refused.status == 409, "{refused:?}");
    Ok(())
}

#[test]
fn a_text_alone_and_then_in_a_broadcast_arrives_once() -> Result<()> {
    let hub = SpawnedHub::start(COURIER)?;
    let agent = hub.agent("courier")?;
    let alone = agent.send_and_wait(&json!({"to": "local:ann", "message": "Tea?"}))?;
    let call = json!({"action": "broadcast", "targets": ["local:ann", "local:bob"], "message": "Tea?"});
    let all = agent.post("/v1/messages", &call)?.taken()?;
    let [ann, bob] = &all["targets"].as_array().context("targets")?[..] else { anyhow::bail!("{all}") };
    ensure!(ann["deduplicated"] == true && ann["id"] == alone["id"], "{all}");
    agent.ended(text(bob, "id"), "sent")?;
    // And the other way.
    let again = agent.send(&json!({"to": "local:bob", "message": "Tea?"}))?;
    ensure!(again["deduplicated"] == true && again["id"] == bob["id"], "{again}");
    for name in ["ann", "bob"] {
        ensure!(hub.operator()?.arrived(name)?.len() == 1, "{name} got it twice");
    }
    Ok(())
}

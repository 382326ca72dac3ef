//! What a person at the shell does to messages in the queue: takes them back, sends the rest of them again.

use anyhow::{Result, ensure};
use gatepost_tests::hub::{Client, SpawnedHub, client::text};
use rusqlite::Connection;
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.courier]
allow = ["local:*"]
cross_context = "allow"
decorate = false
[agents.engineer]
allow = ["local:*"]
[channels.local.home]
limit = 100
"#;

/// A message of several parts that arrived, and its row as if it had not: all parts after the first are in `state`.
fn cut_short(hub: &mut SpawnedHub, agent: &Client, state: &str) -> Result<Value> {
    let long = "One sentence of a message that takes more than a part. ".repeat(5);
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": long}))?;
    ensure!(
        sent["state"] == "sent" && sent["parts"].as_array().is_some_and(|parts| parts.len() > 2),
        "{sent}"
    );
    hub.kill()?;
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute("UPDATE messages SET state = ?", [state])?;
    db.execute("UPDATE parts SET state = ?, platform_id = NULL WHERE idx > 0", [state])?;
    db.execute("DELETE FROM local WHERE seq > 1", [])?;
    drop(db);
    hub.run()?;
    Ok(sent)
}

#[test]
fn a_failed_message_goes_on_at_its_first_part_that_did_not_arrive() -> Result<()> {
    let mut hub = SpawnedHub::start(CONFIG)?;
    let agent = hub.agent("courier")?;
    let message = cut_short(&mut hub, &agent, "failed")?;
    let id = text(&message, "id");
    ensure!(hub.operator()?.arrived("team")?.len() == 1, "a restart sends nothing of it by itself");

    let retried = hub.cli(&["queue", "retry", id])?.well()?;
    ensure!(
        retried.starts_with(&format!("{id} ready")) || retried.starts_with(&format!("{id} sen")),
        "{retried}"
    );
    agent.ended(id, "sent")?;
    let arrived = hub.operator()?.arrived("team")?;
    let parts = message["parts"].as_array().map_or(0, Vec::len);
    ensure!(arrived.len() == parts, "{arrived:#?}");
    let again = hub.cli(&["queue", "retry", id])?;
    ensure!(again.status == 1 && again.stderr.contains("the message is sent"), "{again:?}");
    ensure!(hub.operator()?.arrived("team")?.len() == parts);
    Ok(())
}

#[test]
fn a_message_that_may_have_arrived_goes_again_only_if_it_may_duplicate() -> Result<()> {
    let mut hub = SpawnedHub::start(CONFIG)?;
    let agent = hub.agent("courier")?;
    let message = cut_short(&mut hub, &agent, "unknown")?;
    let id = text(&message, "id");
    let refused = hub.cli(&["queue", "retry", id])?;
    ensure!(refused.status == 1 && refused.stderr.contains("may have arrived"), "{refused:?}");
    ensure!(hub.operator()?.arrived("team")?.len() == 1);
    hub.cli(&["queue", "retry", "--may-duplicate", id])?.well()?;
    agent.ended(id, "sent")?;
    Ok(())
}

#[test]
fn only_what_has_not_left_can_be_taken_back_and_only_an_operator_retries() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let agent = hub.agent("engineer")?;
    let held = agent.send(&json!({"to": "local:team", "message": "Hello"}))?;
    let id = text(&held, "id");
    ensure!(held["state"] == "held", "{held}");
    let retry = agent.post(&format!("/v1/messages/{id}/retry"), &json!({}))?;
    ensure!(retry.status == 403 && retry.body["code"] == "forbidden", "{retry:?}");
    let early = hub.cli(&["queue", "retry", id])?;
    ensure!(early.status == 1 && early.stderr.contains("the message is held"), "{early:?}");
    let cancelled = hub.cli(&["queue", "cancel", id])?.well()?;
    ensure!(cancelled.starts_with(&format!("{id} cancelled")), "{cancelled}");
    let twice = hub.cli(&["queue", "cancel", id])?;
    ensure!(twice.status == 1 && twice.stderr.contains("the message is cancelled"), "{twice:?}");
    ensure!(agent.told_of(id)?["state"] == "cancelled");
    ensure!(hub.operator()?.arrived("team")?.is_empty());
    Ok(())
}

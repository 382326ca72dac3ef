//! Heartbeats of the real program, over HTTP: one that is due wakes its agent; what it returns reaches the target that the
//! configuration names, and whatever else it sends waits for a person.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{Client, SpawnedHub, client::text, eventually};
use rusqlite::Connection;
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]

[heartbeat.engineer]
every = "1h"
target = "local:ann"
list = "HEARTBEAT.md"

[channels.local.home]
"#;

/// A hub whose agent has a heartbeat that is due.
fn due() -> Result<(SpawnedHub, Client)> {
    let mut hub = SpawnedHub::start(CONFIG)?;
    fs::write(hub.folder().path().join("HEARTBEAT.md"), "# List\n- the greenhouse\n")?;
    let agent = hub.agent("engineer")?;
    make_due(&mut hub)?;
    Ok((hub, agent))
}

/// An interval passes while the hub is off.
fn make_due(hub: &mut SpawnedHub) -> Result<()> {
    hub.terminate()?;
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    let due = "INSERT INTO heartbeats (agent, next_at) VALUES ('engineer', 1)
         ON CONFLICT DO UPDATE SET next_at = 1";
    db.execute(due, [])?;
    drop(db);
    hub.run()
}

/// The agent's next turn, as its program takes it.
fn next(agent: &Client) -> Result<Value> {
    eventually("a heartbeat", || {
        let answer = agent.get("/v1/turns?wait=30")?.taken()?;
        Ok(Some(answer["turn"].clone()).filter(|turn| !turn.is_null()))
    })
}

fn ending(turn: &Value, said: &str) -> Value {
    json!({"turn": turn["turn"], "lease": turn["lease"], "text": said})
}

#[test]
fn what_a_heartbeat_returns_reaches_its_target_and_whatever_else_it_sends_waits() -> Result<()> {
    let (hub, agent) = due()?;
    let turn = next(&agent)?;
    ensure!(turn["cause"] == "heartbeat" && turn["scope"] == "owner", "{turn}");
    ensure!(turn["context"].is_null() && turn["conversation"].is_null(), "it is in a conversation: {turn}");
    ensure!(turn["items"][0]["kind"] == "system", "{turn}");
    let prompt = text(&turn["items"][0], "text");
    ensure!(prompt.contains("the greenhouse") && prompt.contains("local:ann"), "{prompt}");

    for to in ["local:ann", "local:bob"] {
        let sent = agent.send(&json!({"to": to, "message": "By the tool"}))?;
        ensure!(sent["state"] == "held", "{to}: {sent}");
    }
    let said = "<message to=\"local:bob\">By a block</message>";
    let answer = agent.post(
        "/v1/reply",
        &json!({"context": "gpc_00", "turn": turn["turn"], "lease": turn["lease"], "text": said}),
    )?;
    ensure!(answer.status == 400, "a heartbeat with a context: {answer:?}");
    let answer = agent.post("/v1/reply", &ending(&turn, "The greenhouse is hot."))?.taken()?;
    agent.ended(text(&answer["sent"][0], "id"), "sent")?;
    ensure!(answer["ok"] == true && answer["sent"][0]["to"] == "local:ann", "{answer}");
    let again = agent.post("/v1/reply", &ending(&turn, "The greenhouse is hot."))?;
    ensure!(again.status == 409, "the turn has ended: {again:?}");

    let operator = hub.operator()?;
    let arrived = operator.arrived("ann")?;
    ensure!(arrived.len() == 1 && text(&arrived[0], "text") == "The greenhouse is hot.", "{arrived:?}");
    ensure!(operator.arrived("bob")?.is_empty(), "something crossed unasked");
    Ok(())
}

#[test]
fn a_listing_says_when_it_is_due_where_its_text_goes_and_why_it_would_wake_nobody() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    fs::write(hub.folder().path().join("HEARTBEAT.md"), "# List\n- the greenhouse\n")?;
    let (agent, other) = (hub.agent("engineer")?, hub.agent("cook")?);
    let listed = |client: &Client| -> Result<Value> {
        Ok(client.get("/v1/heartbeats")?.taken()?["heartbeats"].clone())
    };
    let found = listed(&agent)?;
    ensure!(found[0]["agent"] == "engineer" && found[0]["every_s"] == 3600, "{found}");
    ensure!(found[0]["target"] == "local:ann" && found[0]["last_at"].is_null(), "{found}");
    ensure!(found[0]["not_now"] == "no program takes the agent's turns", "{found}");
    ensure!(listed(&hub.operator()?)? == found, "the operator sees all");
    ensure!(listed(&other)? == json!([]), "nobody sees another's");
    let shown = hub.cli(&["heartbeats"])?.well()?;
    ensure!(
        shown.contains("local:ann") && shown.contains("no: no program takes the agent's turns"),
        "{shown}"
    );
    // A program that waits for turns makes the difference.
    agent.get("/v1/turns")?.taken()?;
    ensure!(listed(&agent)?[0]["not_now"].is_null(), "{}", listed(&agent)?);
    Ok(())
}

#[test]
fn the_same_text_is_not_sent_again_after_a_restart_and_blocks_of_a_heartbeat_wait() -> Result<()> {
    let (mut hub, agent) = due()?;
    let turn = next(&agent)?;
    let answer = agent.post("/v1/reply", &ending(&turn, "The greenhouse is hot."))?.taken()?;
    agent.ended(text(&answer["sent"][0], "id"), "sent")?;

    make_due(&mut hub)?;
    let turn = next(&agent)?;
    let answer = agent.post("/v1/reply", &ending(&turn, "the greenhouse is HOT."))?.taken()?;
    ensure!(answer["sent"] == json!([]) && text(&answer, "quiet").contains("24 hours"), "{answer}");

    make_due(&mut hub)?;
    let turn = next(&agent)?;
    let said = "Scratch. <message to=\"local:ann\">By a block</message>";
    let answer = agent.post("/v1/reply", &ending(&turn, said))?.taken()?;
    ensure!(answer["sent"][0]["state"] == "held" && answer["dropped"].is_string(), "{answer}");

    // Nobody takes turns: there is none. The hub looks within some seconds of its start.
    make_due(&mut hub)?;
    let looked = || -> Result<Option<i64>> {
        let db = gatepost_tests::hub::database::open(&hub.data_dir())?;
        let next: i64 = db.query_row("SELECT next_at FROM heartbeats", [], |row| row.get(0))?;
        Ok(Some(next).filter(|next| *next > 1))
    };
    eventually("a look", looked).context("the heartbeat is looked at")?;
    thread::sleep(Duration::from_millis(100));
    let turns = hub.operator()?.get("/v1/turns?agent=engineer&state=waiting")?.taken()?;
    ensure!(turns["turns"] == json!([]), "{turns}");
    Ok(())
}

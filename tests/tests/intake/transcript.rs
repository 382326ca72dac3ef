//! The hub's own record of what an agent has said in its sessions.

use anyhow::{Result, ensure};
use gatepost_tests::hub::{SpawnedHub, agents, client::text};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Parts so short that a message has several.
fn config() -> String {
    agents("limit = 100")
}

#[test]
fn a_transcript_shows_what_arrived_in_a_session_and_nothing_else() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let operator = hub.operator()?;
    let context = |session: &str| -> Result<Value> {
        let report = json!({"agent": "courier", "channel": "local", "peer": "ann", "session": session, "text": "And?"});
        Ok(operator.post("/v1/inbound", &report)?.taken()?["context"].clone())
    };
    let send = |call: Value| -> Result<String> { Ok(text(&courier.send_and_wait(&call)?, "id").to_owned()) };
    let day = send(json!({"to": "current", "message": "By **day**.", "context": context("day")?}))?;
    let night = send(json!({"to": "current", "message": "By night.", "context": context("night")?}))?;
    let none = send(json!({"to": "local:bob", "message": "By timer."}))?;
    let long = "One sentence of a message that takes more than a part. ".repeat(4);
    let cut = send(json!({"to": "current", "message": long, "context": context("day")?}))?;
    send(json!({"to": "local:bob", "message": "[x]: https://hub.test"}))?;
    engineer.send(&json!({"to": "local:ann", "message": "Held, and of another agent."}))?;
    // As if all but its first part had failed.
    hub.kill()?;
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute("UPDATE messages SET state = 'failed' WHERE id = ?", [&cut])?;
    db.execute("UPDATE parts SET state = 'failed' WHERE idx > 0", [])?;
    drop(db);
    hub.run()?;

    let said = |of: &str| -> Result<Vec<Value>> {
        let answer = courier.get(&format!("/v1/transcript{of}"))?.taken()?;
        Ok(answer["said"].as_array().cloned().unwrap_or_default())
    };
    let ids =
        |said: &[Value]| -> Vec<String> { said.iter().map(|said| text(said, "id").to_owned()).collect() };
    let all = said("")?;
    ensure!(ids(&all) == [day.clone(), night.clone(), none, cut.clone()], "{all:#?}");
    ensure!(
        all[0]["parts"] == json!(["By day."]) && all[0]["session"] == "day" && all[0]["to"] == "local:ann",
        "{all:#?}"
    );
    // What it said first has the session of where it went.
    ensure!(all[2]["session"] == "local/home:bob", "{all:#?}");
    let parts = all[3]["parts"].as_array().map_or(0, Vec::len);
    ensure!(all[3]["state"] == "failed" && parts == 1, "{all:#?}");
    let by_day = said("?session=day")?;
    ensure!(ids(&by_day) == [day, cut], "{by_day:#?}");
    let later = said(&format!("?after={}", all[1]["seq"]))?;
    ensure!(later == all[2..], "{later:#?}");
    ensure!(engineer.get("/v1/transcript")?.taken()?["said"] == json!([]));
    ensure!(engineer.get("/v1/transcript?agent=courier")?.status == 403);
    let seen = hub.operator()?.get("/v1/transcript?agent=courier&session=night")?.taken()?;
    ensure!(seen["said"][0]["id"] == json!(night), "{seen}");
    Ok(())
}

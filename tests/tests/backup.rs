//! A hub whose database was lost: what it says, and what a backup brings back.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{SpawnedHub, client::text, eventually};
use serde_json::json;

const CONFIG: &str = r#"
[queue]
backup_every = "1s"
backups = 2
[agents.courier]
allow = ["local:*", "email:*"]
cross_context = "allow"
decorate = false
[agents.engineer]
allow = ["local:*"]
[channels.local.home]
[channels.email.away]
host = "127.0.0.1"
port = 1
from = "hub@example.org"
"#;

#[test]
fn a_damaged_database_is_refused_and_its_backup_sends_nothing_until_an_operator_releases_it() -> Result<()> {
    let mut hub = SpawnedHub::start(CONFIG)?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Arrived."}))?;
    let held = engineer.send(&json!({"to": "local:team", "message": "Held."}))?;
    let (sent, held) = (text(&sent, "id").to_owned(), text(&held, "id").to_owned());
    // Its server is away, so it waits for its next attempt.
    let waits = courier.send(&json!({"to": "email:ann@example.org", "message": "Waits."}))?;
    let waits = text(&waits, "id").to_owned();
    eventually("it waits", || {
        let message = courier.message(&waits)?;
        Ok((message["state"] == "ready" && message["attempts"] == 1).then_some(()))
    })?;

    let backups = hub.data_dir().join("backups");
    let count = || fs::read_dir(&backups).map_or(0, |files| files.count());
    let first = eventually("a backup", || newest(&hub))?;
    let newer = eventually("a newer one", || Ok(newest(&hub)?.filter(|newest| *newest > first)))?;
    eventually("one newer still", || Ok(newest(&hub)?.filter(|newest| *newest > newer)))?;
    ensure!(count() <= 3, "{} files", count());
    hub.kill()?;
    // What is in the write-ahead log alone is younger than the backup.
    for name in ["gatepost.db-wal", "gatepost.db-shm"] {
        fs::remove_file(hub.data_dir().join(name))?;
    }
    let database = hub.data_dir().join("gatepost.db");
    let key = fs::read(hub.data_dir().join("hub.key"))?;
    let newest = newest(&hub)?.context("a backup")?;
    let copy = fs::read(&newest)?;
    ensure!(!copy.windows(key.len()).any(|window| window == key), "the hub's key is in the backup");
    fs::write(&database, b"scribble ".repeat(5_000))?;

    let refused = hub.run().expect_err("it started").to_string();
    ensure!(refused.contains("is damaged") && refused.contains("gatepost restore"), "{refused}");
    ensure!(refused.contains(&newest), "{refused}");
    ensure!(fs::read(&database)? == b"scribble ".repeat(5_000), "it is kept");

    let restored = hub.cli(&["restore"])?;
    ensure!(restored.stderr.contains("nothing of it is sent by itself"), "{restored:?}");
    restored.well()?;
    hub.run()?;
    let operator = hub.operator()?;
    ensure!(operator.message(&sent)?["state"] == "sent");
    for (agent, id) in [(&courier, &waits), (&engineer, &held)] {
        let message = agent.message(id)?;
        ensure!(message["state"] == "unknown" && message["code"] == "unknown_outcome", "{message}");
        ensure!(text(&message, "error").contains("restored from a backup"), "{message}");
        ensure!(agent.told_of(id)?["state"] == "unknown");
    }
    let refused = hub.cli(&["queue", "retry", &waits])?;
    ensure!(refused.status == 1, "{refused:?}");
    // What nobody had approved, nobody's release lets out.
    let refused = hub.cli(&["queue", "retry", "--may-duplicate", &held])?;
    ensure!(refused.status == 1 && refused.stderr.contains("nobody approved"), "{refused:?}");
    hub.cli(&["queue", "retry", "--may-duplicate", &waits])?.well()?;
    eventually("it is tried again", || {
        let message = courier.message(&waits)?;
        Ok((message["state"] == "ready" && message["attempts"] == 2).then_some(()))
    })?;
    ensure!(operator.arrived("team")?.len() == 1, "nothing of it was sent by itself");
    // The hub runs: its database is not to be exchanged under it.
    let refused = hub.cli(&["restore"])?;
    ensure!(refused.status == 1 && refused.stderr.contains("in use by process"), "{refused:?}");
    Ok(())
}

fn newest(hub: &SpawnedHub) -> Result<Option<String>> {
    let listed = hub.cli(&["restore", "--list"])?.well()?;
    Ok(listed.lines().last().map(str::to_owned))
}

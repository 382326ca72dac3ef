//! A hub that is put back to its version from before an update: it uses the database that its successor has changed, or says
//! what to do.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{Client, SpawnedHub, agents, client::text, database, eventually};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Backups every second.
fn config() -> String {
    format!("[queue]\nbackup_every = \"1s\"\nbackups = 2\n{}", agents(""))
}

fn version(db: &Connection) -> Result<u32> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// A hub whose database a successor has changed in so many steps, and the version that it has now. It has sent one message for
/// this agent, and does not run.
fn changed(steps: u32) -> Result<(SpawnedHub, Client, u32)> {
    let mut hub = SpawnedHub::start(&config())?;
    let courier = hub.agent("courier")?;
    courier.send_and_wait(&json!({"to": "local:team", "message": "Before."}))?;
    eventually("a backup", || Ok(backups(&hub).pop()))?;
    hub.terminate()?;
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    let changed = version(&db)? + steps;
    db.execute_batch(
        "CREATE TABLE later (message INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE, n INTEGER);
         INSERT INTO later SELECT seq, 1 FROM messages;
         ALTER TABLE messages ADD COLUMN later INTEGER NOT NULL DEFAULT 7;
         CREATE INDEX messages_later ON messages (later)",
    )?;
    db.pragma_update(None, "user_version", changed)?;
    Ok((hub, courier, changed))
}

/// The backups, oldest first.
fn backups(hub: &SpawnedHub) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(hub.data_dir().join("backups")) else { return vec![] };
    let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "db"));
    files.sort();
    files
}

#[test]
fn a_hub_uses_a_database_that_its_successor_has_changed_and_leaves_its_tables_alone() -> Result<()> {
    const SAID: &str = "uses it as it is";
    let (mut hub, courier, changed) = changed(1)?;
    let directory = hub.data_dir();
    let is_of_successor = || -> Result<()> {
        let db = database::open(&directory)?;
        let later = "SELECT min(later), max(later), (SELECT count(*) FROM later) FROM messages";
        let later: (u32, u32, u32) =
            db.query_row(later, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        ensure!((version(&db)?, later) == (changed, (7, 7, 1)), "{later:?}");
        database::is_whole(&db)
    };
    let checked = hub.cli(&["check", "--offline"])?;
    ensure!(checked.status == 0 && checked.stderr.contains(SAID), "{checked:?}");
    hub.run()?;
    ensure!(hub.log()?.matches(SAID).count() == 1, "{}", hub.log()?);
    let held = hub.agent("engineer")?.send(&json!({"to": "local:team", "message": "Held."}))?;
    ensure!(held["state"] == "held", "{held}");
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "After."}))?;
    ensure!(sent["state"] == "sent" && hub.operator()?.arrived("team")?.len() == 2, "{sent}");
    let copy = eventually("a backup of the successor's tables", || {
        let all = "SELECT count(*) FROM messages WHERE later = 7";
        let has_all = |path: &PathBuf| -> Result<bool> {
            Ok(Connection::open(path)?.query_row(all, [], |row| row.get::<_, u32>(0))? == 3)
        };
        Ok(backups(&hub).pop().filter(|newest| has_all(newest).unwrap_or(false)))
    })?;
    let kept = hub.data_dir().join("kept.db");
    fs::copy(&copy, &kept)?;
    hub.kill()?;
    hub.run()?;
    let operator = hub.operator()?;
    ensure!(operator.message(text(&sent, "id"))?["state"] == "sent");
    ensure!(operator.message(text(&held, "id"))?["state"] == "held");
    hub.terminate()?;
    let verified = hub.cli(&["audit", "verify"])?;
    ensure!(verified.status == 0 && verified.stderr.contains("verify with the newer one"), "{verified:?}");
    is_of_successor()?;

    hub.cli(&["restore", kept.to_str().context("a path")?])?.well()?;
    is_of_successor()?;
    hub.run()?;
    ensure!(hub.operator()?.message(text(&sent, "id"))?["state"] == "sent");
    is_of_successor()?;
    ensure!(
        backups(&hub).iter().all(|path| !path.to_string_lossy().contains("-schema")),
        "nothing was migrated"
    );
    Ok(())
}

#[test]
fn a_database_of_two_steps_ahead_is_refused_with_the_copy_that_can_be_put_back() -> Result<()> {
    let (mut hub, _, changed) = changed(2)?;
    let copy = backups(&hub).pop().context("a backup")?;
    let refused = hub.run().expect_err("it started").to_string();
    for said in [
        "exit status: 1".to_owned(),
        format!("the database has schema version {changed}"),
        format!("schema version {} or newer can use", changed - 1),
        "Run the newer gatepost again".into(),
        format!("gatepost restore {}", copy.display()),
    ] {
        ensure!(refused.contains(&said), "{said}: {refused}");
    }
    let checked = hub.cli(&["check", "--json"])?;
    let rows: Value = serde_json::from_str(&checked.stdout)?;
    let rows = rows.as_array().context("rows")?;
    let is_said =
        |row: &Value| row["channel"] == "hub.data_dir" && text(row, "error").contains("gatepost restore");
    ensure!(checked.status == 1 && rows.iter().any(is_said), "{checked:?}");

    // What it says is what helps.
    hub.cli(&["restore", copy.to_str().context("a path")?])?.well()?;
    hub.run()?;
    let db = database::open(&hub.data_dir())?;
    ensure!(version(&db)? == changed - 2);
    database::is_whole(&db)
}

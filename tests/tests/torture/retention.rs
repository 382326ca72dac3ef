//! Killed while it lets go of what is past its retention and gives the room back: nothing but that goes, and all of that.

use std::{fs, thread, time::Duration};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, database, eventually},
    torture::{
        Dice, number,
        platform::{Behaviour, Platform},
    },
};
use serde_json::json;

use super::{KEYED, configuration, settled, turn};

/// The shortest there is, so that it fires in most lives.
const CONFIG: &str =
    "[queue]\nretention = \"1s\"\naudit_retention = \"1s\"\nbackup_every = \"1s\"\nbackups = 2\n";
/// Messages of a life, and the words of each.
const MESSAGES: usize = 25;
const WORDS: usize = 500;
/// Conversations that they go to.
const LANES: usize = 8;

#[test]
fn retention_and_vacuum_fire_by_themselves_and_survive_kills() -> Result<()> {
    let _turn = turn();
    let kills = number("TORTURE_RETENTION", 25)?;
    let mut dice = Dice::throw("retention")?;
    let folder = tempfile::tempdir()?;
    let platform = Platform::start(Behaviour { dawdles: 0, faults: vec![] }, dice.clone())?;
    let config = configuration(&platform, &[KEYED], folder.path())?;
    let mut hub = SpawnedHub::start(&format!("{CONFIG}{config}"))?;
    let agent = hub.agent("courier")?;
    let text = "something to say ".repeat(WORDS);
    let (mut highest, mut hit, mut taken) = (0, 0, 0);
    for kill in 0..kills {
        for message in 0..MESSAGES {
            let said = format!("{kill} {message} {text}");
            agent.send(&json!({"to": format!("matrix:!lane{:03}:double.test", message % LANES), "accountId": KEYED, "message": said}))?;
            taken += 1;
        }
        thread::sleep(Duration::from_millis(700 + dice.below(1_300)));
        hub.kill()?;
        let db = database::open(&hub.data_dir())?;
        let at = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        highest = highest.max(at("page_count")?);
        hit += i64::from(at("freelist_count")? > 0);
        drop(db);
        if kill % 10 == 0 {
            let verified = hub.cli(&["audit", "verify"])?;
            ensure!(verified.status == 0, "after kill {kill}: {verified:?}");
        }
        hub.run()?;
    }
    // What is still on its way has no retention yet; how it stands then is printed.
    let left = database::open(&hub.data_dir())?;
    let by_state = "SELECT coalesce(group_concat(state || ' ' || n), 'none') FROM
        (SELECT state, count(*) AS n FROM messages GROUP BY state)";
    let left: String = left.query_row(by_state, [], |row| row.get(0))?;
    println!("retention: after the last kill: {left}");
    settled(&hub, 0, Duration::from_secs(300))?;
    let mut seen = String::new();
    eventually("all that has ended is gone, and its room given back", || {
        let db = database::open(&hub.data_dir())?;
        let left: i64 = db.query_row("SELECT count(*) FROM messages", [], |row| row.get(0))?;
        let free: i64 = db.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        seen = format!("{left} messages, {free} free pages");
        Ok((left == 0 && free < 300).then_some(()))
    })
    .map_err(|error| {
        let log = hub.log().unwrap_or_default();
        let end: Vec<&str> = log.lines().rev().take(40).collect();
        error.context(format!("{seen}; the log's end, newest first:\n{}", end.join("\n")))
    })?;
    hub.terminate()?;
    let db = database::open(&hub.data_dir())?;
    database::is_whole(&db)?;
    let sql =
        "SELECT (SELECT count(*) FROM parts) + (SELECT count(*) FROM file_uses), messages, bytes FROM depth";
    let rest: (i64, i64, i64) = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    ensure!(rest == (0, 0, 0), "{rest:?}");
    let total: i64 = db.query_row("SELECT sum(n) FROM totals WHERE state = 'sent'", [], |row| row.get(0))?;
    ensure!(total == taken, "{total} of {taken} were sent");
    let purged =
        db.query_row("SELECT max(seq) FROM checkpoints WHERE purged", [], |row| row.get::<_, i64>(0))?;
    ensure!(purged > taken, "the audit's rows went as well: {purged}");
    let log = hub.log()?;
    let fired = log.matches("let go of what is past its retention").count();
    let now = db.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0))?;
    println!(
        "retention: {kills} kills, {hit} with room that was not given back yet; it fired {fired} times; \
         {highest} pages at most, {now} at the end; audit purged to row {purged}"
    );
    ensure!(hit > 0, "no kill fell into a moment in which room was to be given back");
    ensure!(u64::try_from(fired)? * 2 > kills, "it fired {fired} times in {kills} lives");
    ensure!(now * 2 < highest, "{now} pages of {highest}: nothing was given back");
    for file in fs::read_dir(hub.data_dir().join("backups"))? {
        database::is_whole(&rusqlite::Connection::open(file?.path())?)?;
    }
    let verified = hub.cli(&["audit", "verify"])?;
    ensure!(verified.status == 0, "{verified:?}");
    Ok(())
}

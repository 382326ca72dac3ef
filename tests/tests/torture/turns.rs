//! `kill -9` in the midst of what people write, with agents that crash, hang and answer twice: every message stands in exactly one
//! turn of each agent that it engages, every turn is ended once, and no answer arrives twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text},
    torture::{Dice, number},
};
use serde_json::json;

use super::{
    programs::{Did, all_ended, work},
    turn,
};

const CONFIG: &str = r#"
[routing]
lease = "2s"

[agents.engineer]
per_minute = 0
allow = ["local:*"]

[agents.scribe]
per_minute = 0
allow = ["local:*"]

[people.family]
ids = ["local:p0", "local:p1", "local:p2", "local:p3", "local:p4", "local:p5", "local:p6", "local:p7"]
scope = "owner"

[routes.engineer]
from = ["local:*"]
agent = "engineer"

[routes.scribe]
from = ["local:p0", "local:p1", "local:p2"]
agent = "scribe"
engage = "pattern"
pattern = "note"

[channels.local.home]
"#;

const PEOPLE: usize = 8;
/// Whom the scribe hears, and which of their words it notes: every third.
const NOTED_PEOPLE: usize = 3;
const NOTED: usize = 3;

#[test]
fn kills_in_the_midst_of_what_people_write_leave_every_message_in_one_turn_that_is_ended_once() -> Result<()>
{
    let _turn = turn();
    let kills = usize::try_from(number("TORTURE_TURNS", 40)?)?;
    let messages = usize::try_from(number("TORTURE_TURN_MESSAGES", 800)?)?;
    let mut dice = Dice::throw("turns")?;
    let mut hub = SpawnedHub::start(CONFIG)?;
    let (engineer, scribe) = (hub.agent("engineer")?, hub.agent("scribe")?);
    let bridge = hub.operator()?;
    let port = hub.anybody(None);
    let did = Did::default();
    let over = AtomicBool::new(false);
    thread::scope(|scope| -> Result<()> {
        let writer = scope.spawn(|| write_all(&bridge, messages));
        for (agent, client) in [("engineer", &engineer), ("engineer", &engineer), ("scribe", &scribe)] {
            let (did, over) = (&did, &over);
            scope.spawn(move || work(agent, client, did, over));
        }
        let done = (|| -> Result<()> {
            for _ in 0..kills {
                thread::sleep(Duration::from_millis(dice.below(250)));
                hub.kill()?;
                hub.run_without_waiting()?;
                let start = Instant::now();
                while dice.below(5) > 0 && !port.get("/readyz").is_ok_and(|answer| answer.status == 200) {
                    ensure!(start.elapsed() < Duration::from_secs(60), "the hub does not become ready");
                    thread::sleep(Duration::from_millis(3));
                }
            }
            hub.kill()?;
            hub.run()?;
            writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
            all_ended(&hub.data_dir())
        })();
        over.store(true, Ordering::Relaxed);
        done
    })?;
    println!("turns: {kills} kills, {messages} messages; {}", did.said());
    did.were_bad()?;
    balance(&hub, &bridge, messages)?;
    ensure!(hub.cli(&["audit", "verify"])?.status == 0);
    Ok(())
}

/// Everybody writes, each message until the hub has it.
fn write_all(bridge: &Client, messages: usize) -> Result<()> {
    for number in 0..messages {
        let who = format!("p{}", number % PEOPLE);
        let words = if number % NOTED == 0 { format!("note {number}") } else { format!("say {number}") };
        let report = json!({
            "channel": "local", "peer": who, "sender": who, "direct": true,
            "messageId": format!("m{number}"), "text": words,
        });
        let start = Instant::now();
        loop {
            match bridge.post("/v1/inbound", &report) {
                Ok(answer) if answer.status == 202 => break,
                Ok(answer) => ensure!(answer.status >= 500, "{answer:?}"),
                Err(_) => {}
            }
            ensure!(start.elapsed() < Duration::from_secs(120), "nobody takes {report}");
            thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// Holds what was written against the turns and what arrived.
fn balance(hub: &SpawnedHub, operator: &Client, messages: usize) -> Result<()> {
    let db = rusqlite::Connection::open(hub.data_dir().join("gatepost.db"))?;
    let rows: usize =
        db.query_row("SELECT count(*) FROM inbound", [], |row| row.get(0)).map(|n: u32| n as usize)?;
    ensure!(rows == messages, "{rows} rows of {messages} messages");
    for (agent, expected) in [
        ("engineer", messages),
        ("scribe", (0..messages).filter(|n| n % PEOPLE < NOTED_PEOPLE && n % NOTED == 0).count()),
    ] {
        let items: u32 = db.query_row(
            "SELECT count(DISTINCT inbound) FROM turn_items JOIN turns ON turns.seq = turn
             WHERE turn_items.agent = ? AND engages AND state = 'done'",
            [agent],
            |row| row.get(0),
        )?;
        ensure!(items as usize == expected, "{agent}: {items} messages in turns that ended, of {expected}");
    }
    let turns: BTreeSet<String> = db
        .prepare("SELECT agent || ' ' || id FROM turns WHERE state = 'done'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut arrived: BTreeMap<String, usize> = BTreeMap::new();
    for person in 0..PEOPLE {
        let mut after = 0;
        loop {
            let page = operator.get(&format!("/v1/local?address=p{person}&after={after}"))?.taken()?;
            let page = page["arrived"].as_array().cloned().context("what arrived")?;
            let Some(last) = page.last() else { break };
            after = last["seq"].as_i64().context("a number")?;
            for message in &page {
                *arrived.entry(text(message, "text").to_owned()).or_default() += 1;
            }
        }
    }
    let twice: Vec<_> = arrived.iter().filter(|(_, times)| **times > 1).collect();
    ensure!(twice.is_empty(), "arrived twice: {twice:?}");
    let answered: BTreeSet<String> = arrived.into_keys().collect();
    let missing: Vec<_> = turns.difference(&answered).take(5).collect();
    ensure!(missing.is_empty(), "ended, and never answered: {missing:?}");
    let strange: Vec<_> = answered.difference(&turns).take(5).collect();
    ensure!(strange.is_empty(), "answers of no turn that ended: {strange:?}");
    Ok(())
}

//! `kill -9`, and what the next start makes of it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{Client, SpawnedHub, TestHub, agents, client::text, database, eventually},
    main_job,
};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Parts so short that a message has several.
fn config() -> String {
    agents("limit = 120")
}

const LANES: usize = 5;
const IN_A_LANE: usize = 12;
/// Answers after which the hub is killed.
const KILLS: [usize; 5] = [4, 15, 26, 37, 48];

/// A message of several parts.
fn letter(lane: usize, number: usize) -> String {
    (0..2 + number % 4)
        .map(|line| format!("lane {lane} message {number} line {line}: {}", "word ".repeat(14)))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Hands in one lane's messages one after the other, each until it is answered, however often the hub dies meanwhile.
/// Returns their ids.
fn courier(agent: &Client, lane: usize, answered: &AtomicUsize) -> Result<Vec<String>> {
    (0..IN_A_LANE)
        .map(|number| {
            let call =
                json!({"to": format!("local:lane-{lane}"), "message": letter(lane, number)}).to_string();
            let key = format!("{lane}-{number}");
            let answer = eventually("an answer", || {
                let answer = agent.raw("POST", "/v1/messages", &[("idempotency-key", &key)], call.as_bytes());
                // The same call again, under the same key: whether the lost one was taken, nobody knows.
                Ok(answer.ok())
            })?;
            answered.fetch_add(1, Ordering::SeqCst);
            Ok(text(&answer.taken()?, "id").to_owned())
        })
        .collect()
}

#[test]
fn what_was_accepted_arrives_once_and_in_order_however_often_the_hub_is_killed() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    let answered = Arc::new(AtomicUsize::new(0));
    let couriers: Vec<_> = (0..LANES)
        .map(|lane| {
            let (agent, answered) = (agent.clone(), Arc::clone(&answered));
            thread::spawn(move || courier(&agent, lane, &answered))
        })
        .collect();
    for after in KILLS {
        eventually("the next moment to kill", || {
            Ok((answered.load(Ordering::SeqCst) >= after).then_some(()))
        })?;
        hub.kill()?;
        hub.run()?;
    }
    let lanes: Vec<Vec<String>> = couriers
        .into_iter()
        .map(|courier| courier.join().map_err(|_| anyhow!("a courier panicked"))?)
        .collect::<Result<_>>()?;

    let operator = hub.operator()?;
    let mut parts = 0;
    let mut platform_ids = BTreeSet::new();
    for (lane, ids) in lanes.iter().enumerate() {
        let mut expected = vec![];
        for (number, id) in ids.iter().enumerate() {
            let sent = operator.ended(id, "sent")?;
            ensure!(text(&sent, "message") == letter(lane, number), "{sent}");
            for part in sent["parts"].as_array().context("parts")? {
                ensure!(part["state"] == "confirmed", "{sent}");
                ensure!(platform_ids.insert(text(part, "platform_id").to_owned()), "{part} is there twice");
                expected.push(text(part, "text").to_owned());
            }
        }
        let arrived: Vec<String> = operator
            .arrived(&format!("lane-{lane}"))?
            .iter()
            .map(|part| text(part, "text").to_owned())
            .collect();
        ensure!(arrived == expected, "lane {lane}: {arrived:#?} arrived of {expected:#?}");
        parts += arrived.len();
    }
    ensure!(parts > LANES * IN_A_LANE * 2, "{parts} parts are too few for kills between them");
    let queue = operator.queue()?;
    ensure!(queue.len() == LANES * IN_A_LANE, "{} messages", queue.len());

    hub.terminate()?;
    let db = database::open(&hub.data_dir())?;
    ensure!(gatepost::audit::first_broken(&db)?.is_none());
    // A test of kills that never cut anything proves nothing.
    let cut =
        database::audit(&db)?.iter().filter(|line| line.detail["reason"] == "the hub was restarted").count();
    ensure!(cut > 0, "no kill hit a message on its way");
    Ok(())
}

#[test]
fn a_message_that_was_sent_is_not_sent_again_by_a_restart() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "Once."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    for next in ["Next.", "And next."] {
        hub.kill()?;
        hub.run()?;
        // The lane goes on, and whatever was to be sent before has been.
        agent.send_and_wait(&json!({"to": "local:team", "message": next}))?;
    }
    let arrived = hub.operator()?.arrived("team")?;
    let texts: Vec<&str> = arrived.iter().map(|part| text(part, "text")).collect();
    ensure!(texts == ["Once.", "Next.", "And next."], "{texts:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_survives_kill_9_and_can_then_be_approved() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("engineer")?;
    let held = agent.send(&json!({"to": "local:team", "message": letter(1, 3)}))?;
    let id = text(&held, "id");
    ensure!(held["state"] == "held", "{held}");
    hub.kill()?;
    hub.run()?;
    ensure!(agent.message(id)?["state"] == "held");
    hub.kill()?;

    let config = config() + "[approval]\nallow_software_companion = true\n";
    let fixture = TestHub::start_in(Arc::clone(hub.folder()), &config).await?;
    let agent = fixture.anybody(Some(agent.token()))?;
    ensure!(agent.message(id)?["state"] == "held");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(id, "sent")?;
    main_job::arrived_as_shown(&fixture, &sent, &seen, "team")?;
    fixture.audit_is_whole().await
}

#[test]
fn a_hold_that_ran_out_while_the_hub_was_down_is_expired_after_the_start() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("engineer")?;
    let held = agent.send(&json!({"to": "local:team", "message": "Quick!"}))?;
    let id = text(&held, "id");
    hub.kill()?;
    // The clock is not ours to turn; the deadline is.
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    let state: String = db.query_row("SELECT state FROM messages WHERE id = ?", [id], |row| row.get(0))?;
    ensure!(state == "held");
    ensure!(db.execute("UPDATE approvals SET deadline = 1", [])? == 1);
    drop(db);
    hub.run()?;
    let expired = agent.ended(id, "expired")?;
    ensure!(expired["code"] == "expired", "{expired}");
    ensure!(agent.told_of(id)?["state"] == "expired");
    ensure!(hub.operator()?.arrived("team")?.is_empty());
    Ok(())
}

#[test]
fn a_message_whose_time_ran_out_while_the_hub_was_down_is_not_sent() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "Stale."}))?;
    let id = text(&sent, "id");
    hub.kill()?;
    // As if it had been killed just before sending, days ago.
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute("UPDATE messages SET state = 'ready', deadline = 1, ended_at = NULL", [])?;
    db.execute("UPDATE parts SET state = 'planned', platform_id = NULL", [])?;
    db.execute("DELETE FROM local", [])?;
    drop(db);
    hub.run()?;
    let failed = agent.ended(id, "failed")?;
    ensure!(failed["code"] == "expired" && text(&failed, "error").contains("time was over"), "{failed}");
    ensure!(agent.told_of(id)?["state"] == "failed");
    ensure!(hub.operator()?.arrived("team")?.is_empty());
    Ok(())
}

#[test]
fn a_second_hub_on_the_same_data_is_refused_and_told_whose_it_is() -> Result<()> {
    let first = SpawnedHub::start(&config())?;
    let second = first.folder().path().join("second");
    std::fs::create_dir(&second)?;
    let config = format!(
        "[hub]\ndata_dir = {:?}\nlisten = \"127.0.0.1:0\"\n{}",
        first.data_dir().display().to_string(),
        config()
    );
    let file = second.join("gatepost.toml");
    std::fs::write(&file, config)?;
    let arguments = ["run".as_ref(), "--config".as_ref(), file.as_os_str()];
    let refused = gatepost_tests::hub::gatepost(&arguments, b"", &[])?;
    ensure!(refused.status == 1, "{refused:?}");
    ensure!(refused.stderr.contains(&format!("in use by process {}", first.pid()?)), "{refused:?}");
    ensure!(refused.stderr.contains("data_dir"), "{refused:?}");

    // The first one did not notice.
    let agent = first.agent("courier")?;
    let sent: Value = agent.send_and_wait(&json!({"to": "local:team", "message": "Still here."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(())
}

#[test]
fn after_a_boot_with_an_unknown_time_what_waited_goes_on_waiting_and_time_does_not_go_back() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Waits."}))?;
    let held = engineer.send(&json!({"to": "local:other", "message": "Held."}))?;
    let (waits, held) = (text(&sent, "id"), text(&held, "id"));
    hub.kill()?;
    // As if the power had gone just before it was sent, and the board had come back with a clock an hour behind.
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute("UPDATE messages SET state = 'ready', ended_at = NULL WHERE id = ?", [waits])?;
    db.execute("UPDATE parts SET state = 'planned', platform_id = NULL", [])?;
    db.execute("DELETE FROM local", [])?;
    db.execute("UPDATE approvals SET deadline = 1", [])?;
    let last: i64 = db.query_row(
        "UPDATE hub SET boot = 'another', clock_last = clock_last + 3600000 RETURNING clock_last",
        [],
        |row| row.get(0),
    )?;
    drop(db);
    hub.run()?;
    let new = courier.send_and_wait(&json!({"to": "local:elsewhere", "message": "New."}))?;
    ensure!(new["state"] == "sent", "what comes in now goes out: {new}");
    // Two looks of the dispatcher and more.
    thread::sleep(std::time::Duration::from_millis(2_500));
    ensure!(courier.message(waits)?["state"] == "ready", "nobody knows whether its time is over");
    ensure!(engineer.message(held)?["state"] == "held", "nor of this");
    ensure!(hub.operator()?.arrived("team")?.is_empty());
    hub.kill()?;
    let db = database::open(&hub.data_dir())?;
    let sql = "SELECT accepted_at FROM messages WHERE id = ?";
    let at: i64 = db.query_row(sql, [text(&new, "id")], |row| row.get(0))?;
    ensure!(at >= last, "{at} is before {last}");
    Ok(())
}

//! A platform that answers as badly as it can, and a clock that is set back.

use std::{path::Path, time::Duration};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, client::text, eventually},
    torture::{
        Dice,
        book::{self, LOCAL, Lane},
        number,
        platform::{Behaviour, FORGETFUL, Fault, LATE, PATIENCE, PATIENT, Platform},
    },
};
use rusqlite::Connection;

use super::{KEYED, configuration, lanes, settled};

#[test]
fn a_storm_of_errors_ends_with_everything_there_once_and_a_long_pause_is_kept() -> Result<()> {
    let dice = Dice::throw("storm")?;
    let faults = vec![
        (Fault::TooMany, 130),
        (Fault::Unavailable, 40),
        (Fault::Error, 40),
        (Fault::ClosedBefore, 40),
        (Fault::ClosedAfter, 40),
        (Fault::Garbage, 30),
    ];
    let folder = tempfile::tempdir()?;
    let platform = Platform::start(Behaviour { dawdles: 3, faults }, dice)?;
    let config = configuration(&platform, &[KEYED, FORGETFUL, PATIENT, LATE], folder.path())?;
    let messages = usize::try_from(number("TORTURE_STORM", 4)?)?;
    let mut lanes = lanes(&[(KEYED, 50), (FORGETFUL, 15), (LATE, 1)], messages);
    // Half a minute each.
    lanes[65].messages = 1;
    let mut hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;

    let patient = Lane { number: 900, account: PATIENT, messages: 2 };
    let ids = [0, 1].map(|n| agent.send(&patient.call(n)).map(|receipt| text(&receipt, "id").to_owned()));
    let [first, second] = ids;
    let (first, second) = (first?, second?);
    let waits = eventually("the platform asks for a long pause", || {
        Ok(Some(agent.message(&first)?).filter(|message| !text(message, "reason").is_empty()))
    })?;
    ensure!(waits["state"] == "ready" && waits["attempts"] == 0, "{waits}");

    for message in 0..messages {
        for lane in lanes.iter().filter(|lane| message < lane.messages) {
            ensure!(lane.hand_in(&agent, message)?, "nobody answers");
        }
    }
    settled(&hub, 2, Duration::from_secs(240))?;
    let tally = book::balance(&lanes, &platform, None, &hub.data_dir(), &agent, &hub.operator()?)?;
    book::unknown_is_said_where_it_is(&platform, &lanes, &hub.data_dir())?;
    let faults = platform.faults();
    let (requests, wrong) = (platform.requests(), faults.values().sum::<usize>());
    println!("storm: {tally:?}; {wrong} of {requests} requests went wrong: {faults:?}");
    for fault in [
        Fault::TooMany,
        Fault::Unavailable,
        Fault::Error,
        Fault::ClosedBefore,
        Fault::ClosedAfter,
        Fault::Garbage,
        Fault::TooLate,
    ] {
        ensure!(faults.contains_key(&fault), "{fault:?} did not happen");
    }
    ensure!(platform.answered_nobody() > 0, "nobody had gone when the late answer came");

    // Killed, and started again in another boot, whose clock was set back by an hour.
    hub.kill()?;
    let last = set_back(&hub.data_dir(), 3_600_000)?;
    hub.run()?;
    let after = Lane { number: 901, account: LOCAL, messages: 1 };
    let receipt = agent.send_and_wait(&after.call(0))?;
    ensure!(receipt["state"] == "sent", "{receipt}");
    let accepted: i64 = Connection::open(hub.data_dir().join("gatepost.db"))?.query_row(
        "SELECT accepted_at FROM messages WHERE id = ?",
        [text(&receipt, "id")],
        |row| row.get(0),
    )?;
    ensure!(accepted >= last, "time went back by {} ms", last - accepted);
    for id in [&first, &second] {
        let message = agent.message(id)?;
        ensure!(message["state"] == "ready" && message["attempts"] == 0, "{message}");
    }
    ensure!(text(&agent.message(&first)?, "due_at") == text(&waits, "due_at"), "the pause is what it was");
    let asked: u64 =
        told_keys(&hub.data_dir(), &[&first, &second])?.iter().map(|key| platform.asked(key)).sum();
    ensure!(asked == 1, "the platform asked for {PATIENCE} s and was asked {asked} times");
    ensure!(hub.cli(&["audit", "verify"])?.status == 0);
    Ok(())
}

/// Makes the hub's database one of another boot that went on for so many milliseconds; the last time that it knows.
fn set_back(data_dir: &Path, milliseconds: i64) -> Result<i64> {
    let db = Connection::open(data_dir.join("gatepost.db"))?;
    let sql = "UPDATE hub SET boot = 'another', clock_last = clock_last + ? RETURNING clock_last";
    Ok(db.query_row(sql, [milliseconds], |row| row.get(0))?)
}

fn told_keys(data_dir: &Path, ids: &[&str]) -> Result<Vec<String>> {
    let db = gatepost_tests::hub::database::open(data_dir)?;
    let mut keys = vec![];
    for id in ids {
        keys.extend(gatepost_tests::hub::database::parts(&db, id)?.into_iter().map(|part| part.key));
    }
    Ok(keys)
}

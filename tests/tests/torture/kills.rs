//! `kill -9`, over and over: nothing is lost, nothing arrives twice, and what nobody knows is said.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, secret},
    peers::Synapse,
    torture::{
        Dice,
        book::{self, LOCAL, Lane},
        number,
        platform::{Behaviour, FORGETFUL, Platform},
        post::{self, POST, Post},
    },
};
use serde_json::{Value, json};

use super::{AGENTS, KEYED, configuration, lanes, settled, turn};

/// Starts the hub, and lets it live for a moment of random length, or not even become ready; then kills it.
fn live_and_die(hub: &mut SpawnedHub, port: &Client, dice: &mut Dice) -> Result<()> {
    hub.run_without_waiting()?;
    let start = Instant::now();
    let at_start = dice.below(6) == 0;
    if !at_start {
        while !port.get("/readyz").is_ok_and(|answer| answer.status == 200) {
            ensure!(start.elapsed() < Duration::from_secs(60), "the hub does not become ready");
            thread::sleep(Duration::from_millis(3));
        }
    }
    thread::sleep(Duration::from_millis(if at_start { dice.below(200) } else { dice.below(350) }));
    hub.kill()
}

/// One kill in so many comes right after the answer to a mail.
const AIMED: usize = 5;

/// Starts the hub, and kills it as soon as the answer to a mail has left, before that can be written down; whether there was
/// one to wait for.
fn die_at_an_answer(hub: &mut SpawnedHub, post: &Post) -> Result<bool> {
    hub.run_without_waiting()?;
    let answered = post.next_answer(Duration::from_secs(2));
    hub.kill()?;
    Ok(answered)
}

#[test]
fn kills_at_random_moments_lose_nothing_send_nothing_twice_and_keep_the_order() -> Result<()> {
    let _turn = turn();
    let kills = usize::try_from(number("TORTURE_KILLS", 200)?)?;
    let messages = usize::try_from(number("TORTURE_MESSAGES", 5_000)?)?;
    let mut dice = Dice::throw("kills")?;
    let folder = tempfile::tempdir()?;
    let platform = Platform::start(Behaviour { dawdles: 15, faults: vec![] }, dice.clone())?;
    let post = Post::start(post::Behaviour { dawdles: 15, loses: 20 }, dice.clone())?;
    let config = configuration(&platform, &[KEYED, FORGETFUL], folder.path())? + &post.account();
    let lanes = lanes(&[(KEYED, 12), (FORGETFUL, 6), (POST, 3), (LOCAL, 4)], messages / 25);
    let total: usize = lanes.iter().map(|lane| lane.messages).sum();
    let mut hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let port = hub.anybody(None);
    hub.kill()?;

    let (killed, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (mut aimed, mut unrecorded) = (0, 0);
    let start = Instant::now();
    let dead = thread::scope(|scope| -> Result<()> {
        let writers: Vec<_> = lanes
            .chunks(lanes.len().div_ceil(4))
            .map(|lanes| {
                let (agent, killed, taken) = (&agent, &killed, &taken);
                scope.spawn(move || hand_in_slowly(lanes, agent, kills, total, killed, taken))
            })
            .collect();
        for kill in 0..kills {
            if kill % AIMED == 0 {
                aimed += usize::from(die_at_an_answer(&mut hub, &post)?);
                unrecorded += book::answered_unrecorded(&lanes, &post, &hub.data_dir())?;
            } else {
                live_and_die(&mut hub, &port, &mut dice)?;
            }
            killed.fetch_add(1, Ordering::Relaxed);
        }
        hub.run()?;
        for writer in writers {
            writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        Ok(())
    });
    killed.store(usize::MAX / total.max(1), Ordering::Relaxed);
    dead?;
    let lived = start.elapsed();
    settled(&hub, 0, Duration::from_secs(300))?;

    let tally = book::balance(&lanes, &platform, Some(&post), &hub.data_dir(), &agent, &hub.operator()?)?;
    println!(
        "kills: {kills} in {lived:?}, {total} messages: {tally:?}; {} parts asked for again, {} answered to nobody",
        platform.asked_again(),
        platform.answered_nobody()
    );
    println!(
        "mails: {} answers lost, {} given to nobody, {unrecorded} not written down after {aimed} kills at an answer",
        post.lost(),
        post.answered_nobody()
    );
    ensure!(tally.sent + tally.unknown == total);
    // The kills hit: requests were on their way, with keys and without.
    ensure!(platform.asked_again() > 0, "no kill hit a request that could be sent again");
    ensure!(tally.unknown > 0, "no kill hit a request that could not");
    ensure!(platform.answered_nobody() > 0, "nobody was killed while the platform worked");
    // And mails, in each of the ways in which nobody can know.
    ensure!(tally.unknown_mails > 0, "no kill hit a mail");
    ensure!(post.lost() > 0, "no answer to a mail was lost");
    ensure!(post.answered_nobody() > 0, "nobody was killed while the server had a mail");
    ensure!(unrecorded > 0, "nobody was killed between an answer to a mail and its row");
    ensure!(hub.cli(&["audit", "verify"])?.status == 0);
    Ok(())
}

/// Messages that one conversation is handed in a row: what comes one by one never waits, and has no order to lose.
const BURST: usize = 20;

/// Hands all messages of some lanes in, each lane's in order, no faster than the hub is killed.
fn hand_in_slowly(
    lanes: &[Lane],
    agent: &Client,
    kills: usize,
    total: usize,
    killed: &AtomicUsize,
    taken: &AtomicUsize,
) -> Result<()> {
    let most = lanes.iter().map(|lane| lane.messages).max().unwrap_or(0);
    for first in (0..most).step_by(BURST) {
        for lane in lanes {
            for message in first..lane.messages.min(first + BURST) {
                // A share ahead, so that there is always something to do.
                let due = || (killed.load(Ordering::Relaxed) + 2).saturating_mul(total) / kills.max(1);
                while taken.load(Ordering::Relaxed) > due() {
                    thread::sleep(Duration::from_millis(2));
                }
                while !lane.hand_in(agent, message)? {
                    thread::sleep(Duration::from_millis(10));
                }
                taken.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    Ok(())
}

#[test]
fn kills_before_a_real_homeserver_leave_every_event_there_once_and_in_order() -> Result<()> {
    let kills = number("TORTURE_SYNAPSE_KILLS", 12)?;
    let per_room = usize::try_from(kills)? * 5;
    let mut dice = Dice::throw("kills before Synapse")?;
    let synapse = Synapse::start()?;
    let bot = synapse.register("gatepost", "a password")?;
    let rooms = [synapse.create_room(&bot.access_token)?, synapse.create_room(&bot.access_token)?];
    let folder = tempfile::tempdir()?;
    let config = format!(
        "{AGENTS}[channels.matrix.home]\nhomeserver = \"{}\"\ntoken = {}\n",
        synapse.base_url(),
        secret(folder.path(), "token", &bot.access_token)?
    );
    let mut hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let port = hub.anybody(None);
    for (number, room) in rooms.iter().enumerate() {
        for message in 0..per_room {
            let call =
                json!({"to": format!("matrix:{room}"), "message": format!("room{number} message{message}")});
            agent.send(&call)?;
        }
    }
    hub.kill()?;
    let mut hit = 0;
    for _ in 0..kills {
        live_and_die(&mut hub, &port, &mut dice)?;
        let db = gatepost_tests::hub::database::open(&hub.data_dir())?;
        let sql = "SELECT count(*) FROM parts WHERE state = 'in_flight'";
        hit += db.query_row(sql, [], |row| row.get::<_, i64>(0))?;
    }
    let left = book::under_way(&hub.data_dir())?;
    hub.run()?;
    settled(&hub, 0, Duration::from_secs(120))?;
    println!("kills before Synapse: {kills}, {hit} requests hit, {left} messages left after the last");
    ensure!(hit > 0, "no kill hit a request");
    for (number, room) in rooms.iter().enumerate() {
        let events = synapse.messages(&bot.access_token, room)?;
        let bodies: Vec<&str> = events
            .iter()
            .filter(|event| event["type"] == "m.room.message")
            .map(|event| text(&event["content"], "body"))
            .collect();
        let expected: Vec<String> =
            (0..per_room).map(|message| format!("room{number} message{message}")).collect();
        if bodies != expected {
            bail!("{} events for {per_room} messages: {bodies:?}", bodies.len());
        }
    }
    let states: Vec<Value> = hub.operator()?.queue()?;
    ensure!(states.iter().all(|message| message["state"] == "sent"));
    Ok(())
}

//! The hub under torture: killed, starved of answers, flooded, and run for long.
//!
//! How long each of it runs, and with which dice, is said by the environment; CONTRIBUTING.md has the list. Each test
//! makes sure that what it does to the hub has happened.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, eventually},
    peers::Synapse,
    torture::{
        Dice,
        book::{self, LOCAL, Lane},
        number,
        platform::{FORGETFUL, Fault, LATE, Manner, PATIENCE, PATIENT, Platform},
    },
};
use rusqlite::Connection;
use serde_json::{Value, json};

const KEYED: &str = "keyed";
const AGENTS: &str = "
[agents.courier]
allow = [\"*\"]
cross_context = \"allow\"
decorate = false

[channels.local.home]
";

/// What keeps both processors busy takes turns.
static BUSY: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lanes(accounts: &[(&'static str, usize)], messages: usize) -> Vec<Lane> {
    accounts
        .iter()
        .flat_map(|(account, lanes)| std::iter::repeat_n(*account, *lanes))
        .enumerate()
        .map(|(number, account)| Lane { number, account, messages })
        .collect()
}

fn configuration(platform: &Platform, accounts: &[&str], folder: &Path) -> Result<String> {
    let mut text = AGENTS.to_owned();
    for account in accounts {
        text += &platform.account(account, folder)?;
    }
    Ok(text)
}

/// Waits until no more than `left` messages are under way.
fn settled(hub: &SpawnedHub, left: u64, longest: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        let under_way = book::under_way(&hub.data_dir())?;
        if under_way <= left {
            return Ok(());
        }
        ensure!(start.elapsed() < longest, "{under_way} messages are under way after {longest:?}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Starts the hub, and lets it live for a moment of random length, or not even become ready; then kills it.
fn live_and_die(hub: &mut SpawnedHub, door: &Client, dice: &mut Dice) -> Result<()> {
    hub.run_without_waiting()?;
    let start = Instant::now();
    let at_start = dice.below(6) == 0;
    if !at_start {
        while !door.get("/readyz").is_ok_and(|answer| answer.status == 200) {
            ensure!(start.elapsed() < Duration::from_secs(60), "the hub does not become ready");
            thread::sleep(Duration::from_millis(3));
        }
    }
    thread::sleep(Duration::from_millis(if at_start { dice.below(200) } else { dice.below(350) }));
    hub.kill()
}

#[test]
fn kills_at_random_moments_lose_nothing_send_nothing_twice_and_keep_the_order() -> Result<()> {
    let _turn = turn();
    let kills = usize::try_from(number("TORTURE_KILLS", 200)?)?;
    let messages = usize::try_from(number("TORTURE_MESSAGES", 5_000)?)?;
    let mut dice = Dice::throw("kills")?;
    let folder = tempfile::tempdir()?;
    let platform = Platform::start(Manner { dawdles: 15, faults: vec![] }, dice.clone())?;
    let config = configuration(&platform, &[KEYED, FORGETFUL], folder.path())?;
    let lanes = lanes(&[(KEYED, 12), (FORGETFUL, 8), (LOCAL, 5)], messages / 25);
    let total: usize = lanes.iter().map(|lane| lane.messages).sum();
    let mut hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let door = hub.anybody(None);
    hub.kill()?;

    let (killed, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = Instant::now();
    let dead = thread::scope(|scope| -> Result<()> {
        let writers: Vec<_> = lanes
            .chunks(lanes.len().div_ceil(4))
            .map(|lanes| {
                let (agent, killed, taken) = (&agent, &killed, &taken);
                scope.spawn(move || hand_in_slowly(lanes, agent, kills, total, killed, taken))
            })
            .collect();
        for _ in 0..kills {
            live_and_die(&mut hub, &door, &mut dice)?;
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

    let tally = book::balance(&lanes, &platform, &hub.data_dir(), &agent, &hub.operator()?)?;
    println!(
        "kills: {kills} in {lived:?}, {total} messages: {tally:?}; {} parts asked for again, {} answered to nobody",
        platform.asked_again(),
        platform.answered_nobody()
    );
    ensure!(tally.sent + tally.unknown == total);
    // The kills hit: requests were on their way, with keys and without.
    ensure!(platform.asked_again() > 0, "no kill hit a request that could be sent again");
    ensure!(tally.unknown > 0, "no kill hit a request that could not");
    ensure!(platform.answered_nobody() > 0, "nobody was killed while the platform worked");
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
fn a_storm_of_errors_ends_with_everything_there_once_and_a_long_pause_is_kept() -> Result<()> {
    let dice = Dice::throw("storm")?;
    let faults = vec![
        (Fault::TooMany, 130),
        (Fault::Error, 60),
        (Fault::ClosedBefore, 40),
        (Fault::ClosedAfter, 40),
        (Fault::Garbage, 30),
    ];
    let folder = tempfile::tempdir()?;
    let platform = Platform::start(Manner { dawdles: 3, faults }, dice)?;
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
        Ok(Some(agent.message(&first)?).filter(|message| !text(message, "error").is_empty()))
    })?;
    ensure!(waits["state"] == "ready" && waits["attempts"] == 0, "{waits}");

    for message in 0..messages {
        for lane in lanes.iter().filter(|lane| message < lane.messages) {
            ensure!(lane.hand_in(&agent, message)?, "nobody answers");
        }
    }
    settled(&hub, 2, Duration::from_secs(240))?;
    let tally = book::balance(&lanes, &platform, &hub.data_dir(), &agent, &hub.operator()?)?;
    book::unknown_is_said_where_it_is(&platform, &lanes, &hub.data_dir())?;
    let faults = platform.faults();
    let (requests, wrong) = (platform.requests(), faults.values().sum::<usize>());
    println!("storm: {tally:?}; {wrong} of {requests} requests went wrong: {faults:?}");
    for fault in [
        Fault::TooMany,
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

/// What a process keeps in memory, in kilobytes.
fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

#[test]
fn a_long_queue_costs_hardly_any_memory_and_delays_nobody_at_the_start() -> Result<()> {
    let _turn = turn();
    let rows = number("TORTURE_ROWS", 100_000)?;
    let mut hub = SpawnedHub::start(AGENTS)?;
    let agent = hub.agent("courier")?;
    let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "Hello"}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    thread::sleep(Duration::from_secs(1));
    let without = resident(hub.pid()?)?;
    hub.terminate()?;

    fill(&hub.data_dir(), rows)?;
    let began = Instant::now();
    hub.run()?;
    let ready = began.elapsed();
    ensure!(book::under_way(&hub.data_dir())? == rows, "they are all there");
    let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "Hello"}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    thread::sleep(Duration::from_secs(1));
    let with = resident(hub.pid()?)?;
    println!("{rows} rows: ready after {ready:?}, {with} kB resident, {without} kB with an empty queue");
    // 100 bytes a row; SQLite's cache of pages is bounded by itself.
    let bound = without + 4 * 1024 + rows / 10;
    ensure!(with <= bound, "{with} kB with {rows} rows, {without} kB without");
    Ok(())
}

/// Puts messages into the queue of a stopped hub, in a lane each for a thousand people, due in an hour.
fn fill(data_dir: &Path, rows: u64) -> Result<()> {
    let mut db = Connection::open(data_dir.join("gatepost.db"))?;
    let tx = db.transaction()?;
    tx.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint,
            accepted_at, deadline, due_at, released)
         SELECT 'queued' || i, 'courier', 'ready', 'send', 'local', 'home', 'p' || (i % 1000), 0, 'Good morning', x'',
            clock_last, clock_last + 86400000, clock_last + 3600000, i FROM n, hub",
        [i64::try_from(rows)?],
    )?;
    tx.execute(
        "INSERT INTO parts (message, idx, key, state, shown, wire)
         SELECT seq, 0, id, 'planned', text, '{}' FROM messages WHERE state = 'ready'",
        [],
    )?;
    Ok(tx.commit()?)
}

#[test]
fn a_flood_that_does_not_end_takes_no_more_and_more_memory() -> Result<()> {
    let _turn = turn();
    let seconds = number("TORTURE_SOAK", 60)?.max(20);
    let rate = number("TORTURE_RATE", 500)?;
    let dice = Dice::throw("soak")?;
    let folder = tempfile::tempdir()?;
    let platform = Platform::start(Manner::default(), dice)?;
    let config = configuration(&platform, &[KEYED], folder.path())?;
    let hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let (start, pid) = (Instant::now(), hub.pid()?);
    let end = Duration::from_secs(seconds);
    let taken = AtomicUsize::new(0);
    let mut memory = vec![];
    thread::scope(|scope| -> Result<()> {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (agent, taken) = (&agent, &taken);
                scope.spawn(move || flood(agent, writer, rate, start, end, taken))
            })
            .collect();
        while start.elapsed() < end {
            memory.push(resident(pid)?);
            thread::sleep(Duration::from_secs(1));
        }
        for writer in writers {
            writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        Ok(())
    })?;
    let taken = taken.into_inner();
    let behind = book::under_way(&hub.data_dir())?;
    settled(&hub, 0, Duration::from_secs(120))?;
    ensure!(platform.events() == taken, "{} of {taken} arrived", platform.events());

    // The second minute against the last; of a short run, the second quarter against the last.
    let window = if memory.len() >= 180 { 60 } else { memory.len() / 4 };
    let mean = |slice: &[u64]| slice.iter().sum::<u64>() / u64::try_from(slice.len().max(1)).unwrap_or(1);
    let early = mean(&memory[window..2 * window]);
    let late = mean(&memory[memory.len() - window..]);
    let per_second = taken as u64 / seconds;
    println!(
        "soak: {taken} messages in {seconds} s, {per_second}/s of {rate} asked for, {behind} behind at its end; {early} kB, then {late} kB, over {window} s each"
    );
    ensure!(late * 10 <= early * 11, "{early} kB became {late} kB: {memory:?}");
    // How fast a machine is, is for the benchmarks; a trickle is no flood.
    ensure!(per_second * 5 >= rate, "no flood: {per_second} messages a second");
    Ok(())
}

/// Callers who flood at the same time, each with two conversations.
const WRITERS: u32 = 32;

/// One writer's share of so many messages a second.
fn flood(
    agent: &Client,
    writer: u32,
    rate: u64,
    start: Instant,
    end: Duration,
    taken: &AtomicUsize,
) -> Result<()> {
    let step = (Duration::from_secs(1) * WRITERS).checked_div(u32::try_from(rate)?).context("a rate")?;
    for number in 0_u32.. {
        let due = step * number;
        if due >= end || start.elapsed() >= end {
            break;
        }
        thread::sleep(due.saturating_sub(start.elapsed()));
        let room = writer * 2 + number % 2;
        let to = format!("matrix:!flood{room}:double.test");
        agent.send(&json!({"to": to, "accountId": KEYED, "message": format!("Message {number}.")}))?;
        taken.fetch_add(1, Ordering::Relaxed);
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
    let token = folder.path().join("token");
    fs::write(&token, &bot.access_token)?;
    let config = format!(
        "{AGENTS}[channels.matrix.home]\nhomeserver = \"{}\"\ntoken = \"file:{}\"\n",
        synapse.base_url(),
        token.display()
    );
    let mut hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let door = hub.anybody(None);
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
        live_and_die(&mut hub, &door, &mut dice)?;
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

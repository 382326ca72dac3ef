//! A queue that is long, and a flood that does not end: neither takes memory that it does not give back.

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub},
    torture::{
        Dice, book, number,
        platform::{Behaviour, Platform},
    },
};
use rusqlite::Connection;
use serde_json::json;

use super::{AGENTS, KEYED, configuration, settled, turn};

/// Memory is counted in kilobytes here.
const KB: u64 = 1024;

#[test]
fn a_long_queue_costs_hardly_any_memory_and_delays_nobody_at_the_start() -> Result<()> {
    let _turn = turn();
    let rows = number("TORTURE_ROWS", 100_000)?;
    let mut hub = SpawnedHub::start(AGENTS)?;
    let agent = hub.agent("courier")?;
    let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "Hello"}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    thread::sleep(Duration::from_secs(1));
    let without = hub.memory("VmRSS")? / KB;
    hub.terminate()?;

    fill(&hub.data_dir(), rows)?;
    let began = Instant::now();
    hub.run()?;
    let ready = began.elapsed();
    ensure!(book::under_way(&hub.data_dir())? == rows, "they are all there");
    let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "Hello"}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    thread::sleep(Duration::from_secs(1));
    let with = hub.memory("VmRSS")? / KB;
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
    let platform = Platform::start(Behaviour::default(), dice)?;
    let config = configuration(&platform, &[KEYED], folder.path())?;
    let hub = SpawnedHub::start(&config)?;
    let agent = hub.agent("courier")?;
    let start = Instant::now();
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
            memory.push(hub.memory("VmRSS")? / KB);
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

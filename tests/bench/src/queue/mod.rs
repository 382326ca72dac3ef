//! The queue: how fast it takes messages and delivers them, beside what a disk and a door cost by themselves.
//!
//! The hub is `gatepost run`, built in release, in a process of its own with its default logging. This process holds the
//! clients and the platform: a mock of a Matrix homeserver, since that adapter speaks HTTP. What is compared:
//!
//! - *bare loop* ([`bare`]): the rows of messages, parts and audit that the hub has written, read back from its database and
//!   inserted as they are into an empty one with the same tables, indexes and triggers, by one prepared statement a table, WAL and
//!   `synchronous=FULL`, as many messages a commit as the hub had on average. It hashes nothing, judges nothing, changes no row;
//! - *endpoint* ([`endpoint`]): a server of the same make (axum, two threads) in a process of its own that reads the same call,
//!   parses it as the hub does, and answers with a receipt of the same size. It knows no tokens and writes nothing.
//!
//! Where accepting is measured the platform reads its requests and answers none, one lane a client: what is accepted
//! waits, as in a queue that is longer than what goes out. Nothing is taken out of the hub for that.
//!
//! - [`fixture`]: processes; [`mock`]: the platform; [`load`]: the clients.

mod accept;
mod bare;
mod broadcast;
mod card;
mod deliver;
mod endpoint;
pub(crate) mod fixture;
pub(crate) mod load;
mod mock;
mod receivers;
mod turns;

use std::{
    error::Error,
    time::{Duration, Instant},
};

use gatepost::channels::registry::KINDS;

use crate::{start, verdict};

pub(crate) use accept::within_this_process;
pub(crate) use endpoint::serve as serve_endpoint;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;
/// Measures some figures and prints them.
type Part = fn() -> Outcome<()>;

/// Of the bare loop's rate.
const TIMES_BARE: f64 = 0.5;
/// Of the endpoint's rate.
const TIMES_ENDPOINT: f64 = 0.4;
const PER_SECOND: f64 = 5_000.0;
/// Of a bare commit and the endpoint's round trip.
const TIMES_SERIAL: f64 = 2.0;
/// From the call to the platform's request: the 99th percentile.
const LATENCY: Duration = Duration::from_millis(5);
/// From what somebody did to the agent that has it: the 99th percentile.
const WAKE: Duration = Duration::from_millis(50);
const DELIVERED_PER_SECOND: f64 = 3_000.0;
/// Bytes of memory of a hub without work.
const IDLE: u64 = 20_000_000;
/// How often a second its threads wake up while it waits for people.
const WAKES: f64 = 3.0;
const LONG_QUEUE: u32 = 100_000;
/// Beside that of an empty queue: so many for SQLite's pages and the like, and these for each row.
const LONG_QUEUE_MEMORY: u64 = 4_000_000;
const ROW_MEMORY: u64 = 100;
const ROUNDS: usize = 3;

/// Of what a slow card takes for a sync: the 99th percentile of an answer, where the sync is what takes long, and the card does not stall.
const TIMES_SYNC: f64 = 3.0;
const SLOW: Duration = Duration::from_millis(30);

/// Prints the figures of the queue: all, or those of `accept`, `card`, `broadcast`, `deliver`, `turns`, `memory` or `receivers`.
pub(crate) fn measure(only: Option<&str>) -> Outcome<()> {
    println!("\nqueue: medians of {ROUNDS} rounds; both sides of each ratio in turns");
    let parts: [(&str, Part); 7] = [
        ("accept", accepts),
        ("card", slow_cards),
        ("broadcast", broadcasts),
        ("deliver", delivers),
        ("turns", wakes),
        ("memory", memory),
        ("receivers", receives),
    ];
    if let Some(only) = only.filter(|only| !parts.iter().any(|(name, _)| name == only)) {
        return Err(format!(
            "queue has no part {only:?}: accept, card, broadcast, deliver, turns, memory, receivers"
        )
        .into());
    }
    parts
        .into_iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name))
        .try_for_each(|(_, part)| part())
}

fn delivers() -> Outcome<()> {
    let delivery = deliver::measure(ROUNDS)?;
    println!(
        "accept to platform request, idle hub: p99 {:.2} ms, p50 {:.2} ms from the call (from the answer: p99 {:.2} ms); budget {:.0} ms  {}",
        ms(delivery.p99),
        ms(delivery.p50),
        ms(delivery.p99_from_answer),
        ms(LATENCY),
        verdict(delivery.p99 <= LATENCY)
    );
    println!(
        "{} messages over {} lanes to a local double, end to end: {:.0}/s; budget {DELIVERED_PER_SECOND:.0}/s  {}",
        deliver::MESSAGES,
        deliver::LANES,
        delivery.rate,
        verdict(delivery.rate >= DELIVERED_PER_SECOND)
    );
    Ok(())
}

fn wakes() -> Outcome<()> {
    let storm = turns::measure()?;
    println!(
        "{} presses a second for {} s to {} agents, {} turns: row to wake p99 {:.1} ms, p50 {:.1} ms; budget {:.0} ms  {}",
        turns::PER_SECOND,
        storm.seconds,
        turns::AGENTS,
        storm.turns,
        ms(storm.p99),
        ms(storm.p50),
        ms(WAKE),
        verdict(storm.p99 <= WAKE)
    );
    println!(
        "  memory: {:.1} MB before, {:.1} MB at most meanwhile",
        storm.idle as f64 / 1e6,
        storm.most as f64 / 1e6
    );
    Ok(())
}

fn broadcasts() -> Outcome<()> {
    let times = broadcast::measure(ROUNDS)?;
    println!(
        "one text of {} KB to {} conversations of one channel: {:.0} ms from the call to its answer; to one: {:.1} ms; ratio {:.1}",
        broadcast::TEXT / 1000,
        broadcast::TARGETS,
        ms(times.many),
        ms(times.one),
        times.many.as_secs_f64() / times.one.as_secs_f64()
    );
    Ok(())
}

fn accepts() -> Outcome<()> {
    let inside = accept::inside(ROUNDS)?;
    println!(
        "accept in process, {} callers: {:.0}/s, bare loop {:.0}/s at {:.1} messages a commit: ratio {:.2}; budget {TIMES_BARE}  {}",
        accept::CALLERS,
        inside.rate,
        inside.other,
        inside.batch,
        inside.ratio,
        verdict(inside.ratio >= TIMES_BARE)
    );
    let (http, asked) = accept::over_http(ROUNDS)?;
    println!(
        "accept over HTTP, {} clients: {:.0}/s, endpoint {:.0}/s: ratio {:.2}; budget {TIMES_ENDPOINT} and {PER_SECOND:.0}/s  {}",
        accept::CALLERS,
        http.rate,
        http.other,
        http.ratio,
        verdict(http.ratio >= TIMES_ENDPOINT && http.rate >= PER_SECOND)
    );
    println!(
        "  beside the hub's own dry run of the same calls, which judges and renders but writes nothing: {:.0}/s, ratio {:.2}",
        asked.other, asked.ratio
    );
    let serial = accept::serial(ROUNDS)?;
    println!(
        "one accept after another over HTTP: {:.2} ms, bare commit {:.2} ms and endpoint {:.2} ms: ratio {:.2}; budget {TIMES_SERIAL}  {}",
        ms(serial.accept),
        ms(serial.commit),
        ms(serial.endpoint),
        serial.ratio,
        verdict(serial.ratio <= TIMES_SERIAL)
    );
    Ok(())
}

/// A card that is slow, and one that also stalls now and then.
fn slow_cards() -> Outcome<()> {
    for (sync, stall) in [(1, None), (10, None), (30, None), (30, Some((Duration::from_secs(2), 100)))] {
        let sync = Duration::from_millis(sync);
        let times = card::measure(card::Card { sync, stall })?;
        let syncs = times.p99.as_secs_f64() / sync.as_secs_f64();
        let budget = match (stall, sync == SLOW) {
            (None, true) => format!(", budget {TIMES_SYNC}  {}", verdict(syncs <= TIMES_SYNC)),
            _ => String::new(),
        };
        let stalls = stall.map_or(String::new(), |(stall, every)| {
            format!(", and {} s for each {every}th", stall.as_secs())
        });
        println!(
            "accept over HTTP, {} clients, a card that takes {:.0} ms for a sync{stalls}: {:.0}/s, p50 {:.1} ms, p99 {:.1} ms, longest \
             {:.0} ms; p99 of {syncs:.1} syncs{budget}",
            accept::CALLERS,
            ms(sync),
            times.per_second,
            ms(times.p50),
            ms(times.p99),
            ms(times.longest),
        );
    }
    Ok(())
}

/// What a hub costs that waits for people.
fn receives() -> Outcome<()> {
    let idle = receivers::measure()?;
    println!(
        "idle hub, five receivers: {:.1} MB resident, {:.1} wake-ups/s; budget {:.0} MB and {WAKES:.0}/s  {}",
        megabytes(idle.resident),
        idle.wakes,
        megabytes(IDLE),
        verdict(idle.resident <= IDLE && idle.wakes <= WAKES)
    );
    Ok(())
}

/// What a hub holds in memory, and how soon it is ready.
fn memory() -> Outcome<()> {
    let mut fixture = fixture::Fixture::build(None)?;
    fixture.run()?;
    std::thread::sleep(receivers::SETTLED);
    let (before, idle) = (fixture.sleeps()?, fixture.resident()?);
    std::thread::sleep(Duration::from_secs(5));
    let slept = fixture.sleeps()?.into_iter().map(|(thread, now)| now - before.get(&thread).unwrap_or(&0));
    let wakes = slept.sum::<u64>() as f64 / 5.0;
    println!(
        "idle hub, embedded broker, all {} channels: {:.1} MB resident, {wakes:.1} wake-ups/s; budget {:.0} MB  {}",
        KINDS.len(),
        megabytes(idle),
        megabytes(IDLE),
        verdict(idle <= IDLE)
    );
    fixture.stop()?;
    start::fill(&fixture.data_dir(), LONG_QUEUE)?;
    let mut times = vec![];
    let mut resident = 0;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        fixture.run()?;
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_secs(3));
        resident = resident.max(fixture.resident()?);
        fixture.stop()?;
    }
    let (ready, bound) = (median(times), idle + LONG_QUEUE_MEMORY + ROW_MEMORY * u64::from(LONG_QUEUE));
    println!(
        "{LONG_QUEUE} rows in the queue: process to ready {:.0} ms, {:.1} MB resident; budget {:.0} ms and {:.1} MB  {}",
        ms(ready),
        megabytes(resident),
        ms(start::BUDGET),
        megabytes(bound),
        verdict(ready <= start::BUDGET && resident <= bound)
    );
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("figures are numbers"));
    values[values.len() / 2]
}

/// The value below which so many percent of `values` lie.
fn percentile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort_unstable();
    values[(values.len() * percent / 100).min(values.len() - 1)]
}

//! Wear: what the hub writes to the disk that its queue is on, for an SD card dies of writes and accepting waits for them.
//!
//! Nothing here is asserted: each figure stands beside its budget. The hub is a process of its own, and what it writes is counted in two
//! runs of the same. *Bytes* are those that the kernel counts for the process, the checkpoints among them, each page of the cache when it
//! is first changed: what the file system writes for itself, its journal, is not in them. Where the file system counts none, as in
//! memory, they are what SQLite wrote: all frames of the log, and each of their pages once for one checkpoint of all. *Commits and pages*
//! are the frames of the log itself ([`log`]).
//!
//! - [`house`]: a hub, its companion, and the ways of a message; [`history`]: a long past, its backup, and its end.

mod history;
mod house;
mod log;

use std::{fs, thread, time::Duration};

use self::{
    house::{House, QUIET},
    log::{Logged, Watch},
};
use crate::queue::{Outcome, fixture::Fixture};

const KB: f64 = 1024.0;
/// Callers at once, and messages of each.
const CALLERS: usize = 64;
const EACH: usize = 20;
/// Times that something is done one after the other: some checkpoints are among them.
const TIMES: usize = 48;
/// The same where a person takes seconds to read and to press.
const FEW: usize = 12;
/// Before anything counts: tables have their first pages, and statements are prepared.
const WARM: usize = 4;
/// Of an idle hub, unless `--idle` says otherwise: what it does every five minutes is in it.
const IDLE: u64 = 300;
/// Until what a start and the first messages leave to be done is done, once and not every day: the audit's checkpoint comes after five
/// minutes.
const SETTLED: Duration = Duration::from_secs(330);
/// Ended messages, unless `--messages` says otherwise.
const MESSAGES: usize = 100_000;
const DAY: f64 = 86_400.0;
const MB: f64 = 1e6;

/// One way of a message.
struct Way {
    what: &'static str,
    /// Kilobytes to the disk, all in all.
    budget: f64,
    /// Commits, where there is a budget for them.
    commits: Option<u64>,
    messages: usize,
    /// Does so many of them, from this number on.
    go: fn(&House, usize, usize) -> Outcome<()>,
}

const WAYS: [Way; 4] = [
    Way {
        what: "one message alone, accepted to sent",
        budget: 24.0,
        commits: Some(3),
        messages: TIMES,
        go: |house, first, count| each(first, count, |number| house.alone(number)),
    },
    Way {
        what: "the same, 64 callers at once",
        budget: 6.0,
        commits: None,
        messages: CALLERS * EACH,
        go: |house, first, count| house.together(first, CALLERS, count.div_ceil(CALLERS), 300),
    },
    Way {
        what: "held, approved, sent",
        budget: 40.0,
        commits: None,
        messages: FEW,
        go: |house, first, count| each(first, count, |number| house.held(number)),
    },
    Way {
        what: "heard, its turn, the answer sent",
        budget: 40.0,
        commits: None,
        messages: TIMES,
        go: |house, first, count| each(first, count, |number| house.heard(number)),
    },
];

/// Measures what is named, or everything, and prints it.
pub(crate) fn measure(arguments: &[String]) -> Outcome<()> {
    let (mut messages, mut idle_seconds, mut only) = (MESSAGES, IDLE, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--messages" => messages = rest.next().ok_or("--messages takes a number")?.parse()?,
            "--idle" => idle_seconds = rest.next().ok_or("--idle takes seconds")?.parse()?,
            part @ ("ways" | "idle" | "backup" | "history") => only = Some(part),
            other => return Err(format!("wear has no part {other}: ways, idle, backup, history").into()),
        }
    }
    let is = |part| only.is_none_or(|only| only == part);
    println!("what is written to the disk; 1 KB is 1024 bytes, and a page has {} bytes", page_size()?);
    if is("ways") {
        for way in &WAYS {
            measure_way(way)?;
        }
    }
    if is("idle") {
        idle(Duration::from_secs(idle_seconds))?;
    }
    if is("backup") {
        history::backup(messages.min(20_000))?;
    }
    if is("history") {
        history::long(messages)?;
    }
    Ok(())
}

fn each(first: usize, count: usize, work: impl Fn(usize) -> Outcome<()>) -> Outcome<()> {
    (first..first + count).try_for_each(|number| {
        work(number)?;
        // Between two of them the hub has nothing to do.
        thread::sleep(QUIET / 10);
        Ok(())
    })
}

fn measure_way(way: &Way) -> Outcome<()> {
    let mut house = House::build(Fixture::with(tempfile::tempdir()?, "")?, "")?;
    (way.go)(&house, 1_000_000, WARM)?;
    thread::sleep(QUIET);
    let before = house.fixture.written()?;
    (way.go)(&house, 2_000_000, way.messages)?;
    thread::sleep(QUIET);
    let written = house.fixture.written()? - before;
    let watch = Watch::begin(&house.database())?;
    (way.go)(&house, 3_000_000, way.messages)?;
    thread::sleep(QUIET);
    let logged = watch.end()?;
    house.fixture.stop()?;
    print(way, written, &logged);
    Ok(())
}

fn print(way: &Way, written: u64, logged: &Logged) {
    let per = |number: u64| number as f64 / way.messages as f64;
    let (bytes, by) = match written {
        0 => (logged.bytes, "as SQLite wrote them: this file system counts none"),
        written => (written, "by the kernel's count"),
    };
    let commits = way.commits.map_or(String::new(), |most| format!(" (budget {most})"));
    println!(
        "{}: {:.1} KB {by}; budget {:.0} KB; {:.2} commits{commits}, {:.1} pages:",
        way.what,
        per(bytes) / KB,
        way.budget,
        per(logged.commits),
        per(logged.all()),
    );
    list(logged, way.messages);
}

/// Whose pages they were, the most first, for each of so many messages.
fn list(logged: &Logged, messages: usize) {
    let mut pages: Vec<_> = logged.pages.iter().collect();
    pages.sort_by(|a, b| b.1.cmp(a.1));
    for (name, pages) in pages {
        println!("    {:>6.2}  {name}", *pages as f64 / messages as f64);
    }
}

/// What a hub writes that has all channels and a companion, and nothing to do.
fn idle(watched: Duration) -> Outcome<()> {
    let mut house = House::build(Fixture::build(None)?, "")?;
    for number in 0..WARM {
        house.alone(number)?;
    }
    thread::sleep(SETTLED);
    let (written, slept) = (house.fixture.written()?, house.fixture.sleeps()?);
    // A checkpoint comes once in many of these commits, and none of them now.
    let watch = Watch::begin(&house.database())?;
    thread::sleep(watched);
    let written = house.fixture.written()? - written;
    let logged = watch.end()?;
    let sleeps =
        house.fixture.sleeps()?.into_iter().map(|(thread, now)| now - slept.get(&thread).unwrap_or(&0));
    let seconds = watched.as_secs_f64();
    println!(
        "an idle day with a companion and all channels: {:.1} MB and {:.0} commits, {:.1} wake-ups/s, extrapolated from {seconds:.0} s; \
         budget 5 MB and 2/s. Pages in that time:",
        written as f64 / MB * DAY / seconds,
        logged.commits as f64 * DAY / seconds,
        sleeps.sum::<u64>() as f64 / seconds,
    );
    list(&logged, 1);
    house.fixture.stop()
}

fn page_size() -> Outcome<i64> {
    let folder = tempfile::tempdir()?;
    gatepost::store::Store::open(folder.path())?.close();
    let db = log::open(&folder.path().join("gatepost.db"))?;
    Ok(db.pragma_query_value(None, "page_size", |row| row.get(0))?)
}

/// Bytes of a file; none, where there is none.
fn size(path: &std::path::Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

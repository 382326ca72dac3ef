//! A long past: how much room it takes, what its daily backup costs, and what is left of it when retention has let go.

use std::{
    cell::Cell,
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{CALLERS, MB, house::House, size};
use crate::queue::{Outcome, fixture::Fixture};

/// Bytes of each message.
const BYTES: usize = 1_000;
/// Between two backups that are measured.
const BACKUP: Duration = Duration::from_secs(20);
/// A beat of the hub's, in which it does what is due.
const BEAT: Duration = Duration::from_secs(6);
/// All of it goes in steps; nothing here takes longer than this without one.
const STILL: Duration = Duration::from_secs(15);

fn hub(more: &str) -> Outcome<House> {
    House::build(Fixture::with(tempfile::tempdir()?, "")?, more)
}

fn fill(house: &House, messages: usize) -> Outcome<()> {
    house.together(0, CALLERS, messages.div_ceil(CALLERS), BYTES)
}

/// What a backup writes when nothing has changed since the last one, and how long a message waits to be taken meanwhile.
pub(super) fn backup(messages: usize) -> Outcome<()> {
    let mut house = hub(&format!("[queue]\nbackup_every = \"{}s\"\nbackups = 2\n", BACKUP.as_secs()))?;
    fill(&house, messages)?;
    let folder = house.fixture.data_dir().join("backups");
    let next = || -> Outcome<()> {
        let (before, began) = (newest(&folder)?, Instant::now());
        while newest(&folder)? == before {
            if began.elapsed() > BACKUP * 3 {
                return Err("there is no new backup".into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        // Its last commit.
        thread::sleep(Duration::from_secs(1));
        Ok(())
    };
    // Two that are kept, and the first one that is made of one that was let go.
    for _ in 0..4 {
        next()?;
    }
    let before = house.fixture.written()?;
    next()?;
    let written = house.fixture.written()? - before;
    let (before, rounds) = (newest(&folder)?, Cell::new(0_u32));
    let slowest = house.slowest_while(10_000_000, || {
        rounds.set(rounds.get() + 1);
        rounds.get() % 16 == 0 && newest(&folder).is_ok_and(|newest| newest != before)
    })?;
    println!(
        "backup of {messages} ended messages of {BYTES} bytes, a database of {:.1} MB, nothing changed: {:.1} MB; budget: the pages that \
         changed. The slowest message meanwhile was taken in {:.0} ms; budget 50 ms",
        size(&house.database()) as f64 / MB,
        written as f64 / MB,
        slowest.as_secs_f64() * 1e3,
    );
    house.fixture.stop()
}

/// How large the database is after so many messages, and when they are let go.
pub(super) fn long(messages: usize) -> Outcome<()> {
    let mut house = hub("[queue]\nbackups = 0\n")?;
    fill(&house, messages)?;
    house.fixture.stop()?;
    let database = house.database();
    let full = size(&database);
    println!(
        "database after {messages} ended messages of {BYTES} bytes: {:.1} MB; budget 250 MB for 100,000",
        full as f64 / MB
    );
    let pages = super::log::open(&database)?
        .prepare("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 12")?
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?
        .collect::<Result<Vec<_>, _>>()?;
    for (name, bytes) in pages {
        println!("    {:>8.1} MB  {name}", bytes as f64 / MB);
    }
    let config = fs::read_to_string(house.fixture.config())?;
    let short = "[queue]\nretention = \"1s\"\naudit_retention = \"1s\"\n";
    OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(house.fixture.config())?
        .write_all(config.replace("[queue]\n", short).as_bytes())?;
    house.fixture.run()?;
    let (mut last, mut since) = (full, Instant::now());
    let before = house.fixture.written()?;
    thread::sleep(BEAT);
    while since.elapsed() < STILL || last == full {
        let now = size(&database);
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > STILL * 40 {
            break;
        }
        thread::sleep(Duration::from_secs(1));
    }
    println!(
        "the same when retention has let go of all: {:.1} MB, for which {:.1} MB were written",
        last as f64 / MB,
        (house.fixture.written()? - before) as f64 / MB
    );
    house.fixture.stop()
}

/// The name of the newest backup.
fn newest(folder: &Path) -> Outcome<Option<String>> {
    let Ok(files) = fs::read_dir(folder) else { return Ok(None) };
    let names: Vec<String> =
        files.map(|file| Ok(file?.file_name().to_string_lossy().into_owned())).collect::<Outcome<_>>()?;
    Ok(names.into_iter().filter(|name| name.ends_with(".db")).max())
}

//! `kill -9` in the first moments of a database: new, restored, or of an older program. Every later start works.
//!
//! A torture that begins when a hub is ready never kills one that makes its files.

use std::{
    cell::Cell,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, database},
    torture::{Dice, number},
};
use rusqlite::Connection;
use serde_json::json;

use super::{AGENTS, turn};

/// The moments that this is about.
const FIRST_MS: u64 = 200;
/// Hubs at once.
const TOGETHER: usize = 3;

/// Does it as often as the environment says, some at once; each has dice of its own.
fn often(what: &str, kill: impl Fn(&mut Dice) -> Result<()> + Sync) -> Result<()> {
    times(usize::try_from(number("TORTURE_STARTS", 60)?)?, what, kill)
}

/// The same so many times.
fn times(kills: usize, what: &str, kill: impl Fn(&mut Dice) -> Result<()> + Sync) -> Result<()> {
    let mut dice = Dice::throw(what)?;
    let left = AtomicUsize::new(kills);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..TOGETHER)
            .map(|_| {
                let mut dice = dice.fork();
                let (left, kill) = (&left, &kill);
                scope.spawn(move || -> Result<()> {
                    let one = |left: usize| left.checked_sub(1);
                    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one).is_ok() {
                        kill(&mut dice)?;
                    }
                    Ok(())
                })
            })
            .collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow!("a worker panicked"))??;
        }
        println!("{what}: {kills} kills");
        Ok(())
    })
}

/// Starts the hub and kills it within its first moments.
fn die_early(hub: &mut SpawnedHub, dice: &mut Dice) -> Result<()> {
    die_within(hub, FIRST_MS, dice)
}

/// The same within this many milliseconds.
fn die_within(hub: &mut SpawnedHub, longest: u64, dice: &mut Dice) -> Result<()> {
    hub.run_without_waiting()?;
    thread::sleep(Duration::from_millis(dice.below(longest)));
    hub.kill()
}

/// Within how many milliseconds to kill what takes so long by itself: some run at once and slow each other down, and some are to come
/// to their end.
fn spread(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX / 4) * 4 + 2
}

/// It starts, and its database is whole.
fn lives(hub: &mut SpawnedHub) -> Result<Connection> {
    hub.run()?;
    let db = database::open(&hub.data_dir())?;
    database::is_whole(&db)?;
    Ok(db)
}

/// Until a hub has made a file of its data directory.
fn await_file(hub: &SpawnedHub, name: &str) -> Result<()> {
    let path = hub.data_dir().join(name);
    let patience = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        ensure!(Instant::now() < patience, "{name} is not made: {}", hub.log()?);
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn copy_into(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        // It is made anew, and it is long.
        if file.file_name() == "reserve" {
            continue;
        }
        match file.file_type()?.is_dir() {
            true => copy_into(&file.path(), &to.join(file.file_name()))?,
            false => fs::copy(file.path(), to.join(file.file_name())).map(drop)?,
        }
    }
    Ok(())
}

#[test]
fn a_hub_that_is_killed_in_the_first_moments_of_its_first_start_starts_the_next_time() -> Result<()> {
    let _turn = turn();
    let (before, between) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // From the database to the token it is a few milliseconds: half of the kills are for those.
    let mut whole = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), AGENTS)?;
    whole.run_without_waiting()?;
    await_file(&whole, "gatepost.db")?;
    let began = Instant::now();
    await_file(&whole, "operator.token")?;
    let longest = spread(began.elapsed());
    whole.kill()?;
    println!("first starts: half are killed within {longest} ms of the database");
    often("first starts", |dice| {
        let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), AGENTS)?;
        if dice.below(2) == 0 {
            hub.run_without_waiting()?;
            await_file(&hub, "gatepost.db")?;
            thread::sleep(Duration::from_millis(dice.below(longest)));
            hub.kill()?;
        } else {
            die_early(&mut hub, dice)?;
        }
        let there = |name: &str| hub.data_dir().join(name).exists();
        match (there("gatepost.db"), there("operator.token")) {
            (false, _) => before.fetch_add(1, Ordering::Relaxed),
            (true, false) => between.fetch_add(1, Ordering::Relaxed),
            (true, true) => 0,
        };
        let db = lives(&mut hub)?;
        let restored: i64 =
            db.query_row("SELECT count(*) FROM audit WHERE event = 'hub.restored'", [], |row| row.get(0))?;
        ensure!(restored == 0, "a new database was taken for an old copy");
        hub.operator()?.queue()?;
        hub.kill()?;
        let verified = hub.cli(&["audit", "verify"])?;
        ensure!(verified.status == 0, "{verified:?}");
        Ok(())
    })?;
    let (before, between) = (before.into_inner(), between.into_inner());
    println!("first starts: {before} killed before there was a database, {between} before there was a token");
    ensure!(before > 0 && between > 0, "the kills did not hit what they are for");
    Ok(())
}

#[test]
fn a_restore_and_the_start_after_it_can_be_killed_at_any_moment() -> Result<()> {
    let _turn = turn();
    // Killed, so that what was accepted last is in the log alone.
    let mut first = SpawnedHub::start(AGENTS)?;
    let agent = first.agent("courier")?;
    let send = |message: &str| agent.send_and_wait(&json!({"to": "local:team", "message": message}));
    send("Before the backup.")?;
    let backups = first.data_dir().join("backups");
    let backup = gatepost_tests::hub::eventually("a backup", || {
        Ok(fs::read_dir(&backups).ok().and_then(|mut files| files.find_map(Result::ok)))
    })?;
    send("After the backup.")?;
    first.kill()?;
    let model = first.data_dir();
    let name = Path::new("data/backups").join(backup.file_name());
    let in_backup = count(&Connection::open(backup.path())?)?;
    let all = count(&database::open(&model)?)?;
    ensure!(in_backup < all, "{in_backup} of {all}");

    let (old, restored, cut) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    often("restores", |dice| {
        let folder = Arc::new(tempfile::tempdir()?);
        let mut hub = SpawnedHub::at_rest(folder.clone(), AGENTS)?;
        copy_into(&model, &hub.data_dir())?;
        let path = folder.path().join(&name);
        let path = path.to_str().context("a path")?;
        let early = dice.below(2) == 0;
        if early {
            let killed =
                hub.cli_killed(&["restore", path], Duration::from_millis(dice.below(FIRST_MS / 2)))?;
            cut.fetch_add(usize::from(killed), Ordering::Relaxed);
        } else {
            hub.cli(&["restore", path])?.well()?;
            die_early(&mut hub, dice)?;
        }
        let db = lives(&mut hub)?;
        let messages = count(&db)?;
        // The one or the other, and nothing between: what was sent is sent.
        match messages {
            messages if messages == all && early => old.fetch_add(1, Ordering::Relaxed),
            messages if messages == in_backup => restored.fetch_add(1, Ordering::Relaxed),
            other => anyhow::bail!("{other} messages, neither {all} nor {in_backup}"),
        };
        let was_restored = "SELECT count(*) FROM audit WHERE event = 'hub.restored'";
        let was_restored: i64 = db.query_row(was_restored, [], |row| row.get(0))?;
        ensure!((was_restored == 1) == (messages == in_backup), "it does not know what it is");
        hub.kill()?;
        // What was replaced is whole as well, and nothing of it is lost.
        for file in fs::read_dir(hub.data_dir())? {
            let replaced = file?.path().join("gatepost.db");
            if replaced.exists() {
                let replaced = Connection::open(replaced)?;
                database::is_whole(&replaced)?;
                ensure!(count(&replaced)? == all);
            }
        }
        Ok(())
    })?;
    let (old, restored, cut) = (old.into_inner(), restored.into_inner(), cut.into_inner());
    println!("restores: {cut} cut short, {old} left the old one, {restored} the backup");
    ensure!(cut > 0 && old > 0 && restored > 0, "the kills did not hit what they are for");
    Ok(())
}

#[test]
fn a_restore_that_brings_keys_can_be_killed_at_any_moment_and_mixes_none() -> Result<()> {
    let _turn = turn();
    let hub = |messages: usize| -> Result<SpawnedHub> {
        let mut hub = SpawnedHub::start(AGENTS)?;
        let agent = hub.agent("courier")?;
        for number in 0..messages {
            agent.send_and_wait(&json!({"to": "local:team", "message": format!("Number {number}.")}))?;
        }
        hub.kill()?;
        Ok(hub)
    };
    let (moved, model) = (hub(3)?, hub(1)?);
    let passphrase = moved.folder().path().join("passphrase");
    fs::write(&passphrase, "killed at any moment")?;
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600))?;
    let backup = moved.folder().path().join("hub.backup");
    let (backup, passphrase) = (backup.to_str().context("UTF-8")?, passphrase.to_str().context("UTF-8")?);
    moved.cli(&["backup", backup, "--with-keys", "--passphrase-file", passphrase])?.well()?;
    // Both are of a hub that was killed: so one log has what the database has not.
    let key = |hub: &SpawnedHub| fs::read(hub.data_dir().join("hub.key"));
    let (ours, theirs) = ((key(&model)?, 1), (key(&moved)?, 3));
    let restore = ["restore", backup, "--access", "revoke", "--passphrase-file", passphrase];
    let copy = || -> Result<SpawnedHub> {
        let hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), AGENTS)?;
        copy_into(&model.data_dir(), &hub.data_dir())?;
        Ok(hub)
    };
    // Most of the time goes into the passphrase, before anything is written. What follows takes a few milliseconds on one machine
    // and a second on another, so the kills are spread over what it takes on this one.
    let whole = copy()?;
    let part = whole.data_dir().join("restored.part");
    let began = Cell::new(None);
    let to_its_end = || {
        if began.get().is_none() && part.exists() {
            began.set(Some(Instant::now()));
        }
        false
    };
    ensure!(!whole.cli_killed_once(&restore, to_its_end, Duration::ZERO)?, "it is killed at its end");
    let took = began.get().context("a restore unpacks its backup")?.elapsed();
    let longest = spread(took);
    println!("restores with keys: killed within {longest} ms of unpacking");
    let (old, restored, halfway) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let kills = usize::try_from(number("TORTURE_STARTS", 60)?)? / 2;
    times(kills, "restores with keys", |dice| {
        let mut hub = copy()?;
        let part = hub.data_dir().join("restored.part");
        let after = Duration::from_millis(dice.below(longest));
        hub.cli_killed_once(&restore, || part.exists(), after)?;
        let left = |name: &str| hub.data_dir().join(name).exists();
        if left("restored.part") || left("restored.keys") || left("gatepost.db.restored") {
            halfway.fetch_add(1, Ordering::Relaxed);
        }
        let found = (count(&lives(&mut hub)?)?, key(&hub)?);
        let found = (found.1, found.0);
        match found {
            found if found == ours => old.fetch_add(1, Ordering::Relaxed),
            found if found == theirs => restored.fetch_add(1, Ordering::Relaxed),
            (_, messages) => anyhow::bail!("{messages} messages with the key of the other hub"),
        };
        hub.kill()?;
        let verified = hub.cli(&["audit", "verify"])?;
        ensure!(verified.status == 0, "{verified:?}");
        let left = |name: &str| hub.data_dir().join(name).exists();
        ensure!(!left("restored.part") && !left("restored.keys"), "keys are left lying");
        Ok(())
    })?;
    let (old, restored, halfway) = (old.into_inner(), restored.into_inner(), halfway.into_inner());
    println!(
        "restores with keys: {old} left the old one, {restored} the backup; {halfway} were killed in between"
    );
    ensure!(old > 0 && restored > 0 && halfway > 0, "the kills did not hit what they are for");
    Ok(())
}

fn count(db: &Connection) -> Result<i64> {
    Ok(db.query_row("SELECT count(*) FROM messages", [], |row| row.get(0))?)
}

/// Messages beside those of the old database, so that a migration takes its time.
const MORE: i64 = 4_000;

#[test]
fn a_migration_can_be_killed_at_any_moment_and_keeps_a_copy_from_before_it() -> Result<()> {
    let _turn = turn();
    let folder = tempfile::tempdir()?;
    let db = database::old(folder.path())?;
    db.execute(
        "INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint,
            accepted_at, deadline, due_at, ended_at)
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
         SELECT 'old' || n, 'courier', 'sent', 'send', 'local', 'home', 'team', 0, hex(randomblob(500)), zeroblob(32),
            accepted_at, deadline, due_at, ended_at FROM n, messages WHERE seq = 4",
        [MORE],
    )?;
    drop(db);
    // A busy machine takes longer than the first moments: then the kills are spread over all that it takes.
    let mut whole = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), AGENTS)?;
    copy_into(folder.path(), &whole.data_dir())?;
    let began = Instant::now();
    whole.run()?;
    let longest = FIRST_MS.max(u64::try_from(began.elapsed().as_millis())? * 3 / 2);
    whole.kill()?;
    println!("migrations: killed within {longest} ms");
    let (before, after) = (AtomicUsize::new(0), AtomicUsize::new(0));
    often("migrations", |dice| {
        let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), AGENTS)?;
        copy_into(folder.path(), &hub.data_dir())?;
        die_within(&mut hub, longest, dice)?;
        let version =
            |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0));
        let left = version(&Connection::open(hub.data_dir().join("gatepost.db"))?)?;
        let began = hub.data_dir().join("backups").exists();
        match (began, left == database::OLD_SCHEMA) {
            (true, true) => before.fetch_add(1, Ordering::Relaxed),
            (true, false) => after.fetch_add(1, Ordering::Relaxed),
            (false, _) => 0,
        };
        let db = lives(&mut hub)?;
        ensure!(version(&db)? > database::OLD_SCHEMA && count(&db)? == MORE + 4);
        // The tables, their version, and which programs can use them are one change.
        let said: u32 = db.query_row("SELECT of_schema FROM hub", [], |row| row.get(0))?;
        ensure!(said == version(&db)?, "it says it of schema {said}");
        let copies: Vec<_> = fs::read_dir(hub.data_dir().join("backups"))?
            .map(|file| Ok(file?.path()))
            .filter(|path| path.as_ref().is_ok_and(|path| path.to_string_lossy().contains("-schema")))
            .collect::<Result<_>>()?;
        ensure!(copies.len() == 1, "{copies:?}");
        let copy = Connection::open(&copies[0])?;
        database::is_whole(&copy)?;
        ensure!(version(&copy)? == database::OLD_SCHEMA && count(&copy)? == MORE + 4);
        hub.kill()
    })?;
    let (before, after) = (before.into_inner(), after.into_inner());
    println!(
        "migrations: {before} killed between the copy's beginning and the new tables, {after} after those"
    );
    ensure!(before > 0 && after > 0, "the kills did not hit what they are for");
    Ok(())
}

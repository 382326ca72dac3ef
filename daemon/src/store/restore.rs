//! Putting a copy in the place of the database of a hub that does not run.
//!
//! A database in WAL mode is several files: what is committed may lie in its log alone, and SQLite rolls a journal that
//! lies beside a database back into it, whosesoever it was. So a copy never goes beside the files of another database, and
//! these never part. The copy is made ready under a name of its own, whole, checked and synced; from the moment that it has
//! the name [`READY`] it is the database to be. The old files are moved away, the database itself first, and the copy takes
//! its name. Whatever stops that half-way, the next who locks the directory goes on with it ([`finish`]).
//!
//! What a restored copy may do is said in [`super::epoch`]; what a backup brings beside its database, in [`unpacked`].

mod unpacked;

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, Transaction};

use super::{
    DirectoryLock, alone,
    backup::{self, BackupError},
    epoch, private_file,
    schema::{self, Schema, Standing},
};

/// A copy that is whole, and is to be the database.
const READY: &str = "gatepost.db.restored";
/// Where the files go that it replaces, until all are there.
const AWAY: &str = "replaced.part";
/// What SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["gatepost.db-wal", "gatepost.db-shm", "gatepost.db-journal"];

/// Puts a copy in the place of the database of a hub that does not run; returns where the old one is now.
///
/// `amend` sees the copy before it is the database, and what it replaces if that can be opened: what must not be forgotten
/// is carried over here, so that no crash leaves a database without it.
pub fn restore<E: From<BackupError>>(
    directory: &Path,
    copy: &Path,
    amend: impl FnOnce(&Transaction<'_>, Option<&Connection>) -> Result<(), E>,
) -> Result<Option<PathBuf>, E> {
    restore_as(Schema::OWN, directory, |_| Ok(copy.into()), amend)
}

/// The same with a backup, which `unpack` reads into the folder that it is given, not there yet, once the directory is locked.
/// It returns where the database in it is. Files of messages are beneath `files` there, the hub's keys beneath `keys`.
pub fn restore_unpacked<E: From<BackupError>>(
    directory: &Path,
    unpack: impl FnOnce(&Path) -> Result<PathBuf, E>,
    amend: impl FnOnce(&Transaction<'_>, Option<&Connection>) -> Result<(), E>,
) -> Result<Option<PathBuf>, E> {
    restore_as(Schema::OWN, directory, unpack, amend)
}

/// The same as a program with this schema would.
fn restore_as<E: From<BackupError>>(
    schema: Schema,
    directory: &Path,
    copy: impl FnOnce(&Path) -> Result<PathBuf, E>,
    amend: impl FnOnce(&Transaction<'_>, Option<&Connection>) -> Result<(), E>,
) -> Result<Option<PathBuf>, E> {
    let _lock = DirectoryLock::take(directory).map_err(BackupError::from)?;
    let failed = |error| BackupError::File(directory.into(), error);
    finish(directory).map_err(failed)?;
    let restored = replace(schema, directory, copy, amend);
    if restored.is_err() && !is_halfway(directory) {
        // There may be keys in it, and they are not wanted. If it cannot be removed, the next who locks the directory tries again.
        let _ = unpacked::clear(directory);
    }
    restored
}

/// Puts a copy in the place of the database of a directory that is locked.
fn replace<E: From<BackupError>>(
    schema: Schema,
    directory: &Path,
    copy: impl FnOnce(&Path) -> Result<PathBuf, E>,
    amend: impl FnOnce(&Transaction<'_>, Option<&Connection>) -> Result<(), E>,
) -> Result<Option<PathBuf>, E> {
    let failed = |error| BackupError::File(directory.into(), error);
    let copy = copy(&unpacked::place(directory))?;
    // One that is lost cannot be opened; one that is damaged fails when it is read.
    let replaced = open(&directory.join("gatepost.db")).ok();
    let beside = directory.join("gatepost.db.new");
    let Prepared { mut database, kept } = prepared(schema, directory, &copy, &beside, replaced.as_ref())?;
    let sql = |error: rusqlite::Error| BackupError::from(error);
    let tx = database.transaction().map_err(sql)?;
    amend(&tx, replaced.as_ref())?;
    tx.commit().map_err(sql)?;
    drop(replaced);
    alone::seal(database, &beside).map_err(BackupError::from)?;
    let swapped = unpacked::prepare(directory)
        .and_then(|()| fs::rename(&beside, directory.join(READY)))
        .and_then(|()| private_file::sync(directory))
        .and_then(|()| finish(directory));
    let replaced = swapped.map_err(failed)?;
    if let Some(kept) = kept {
        backup::only_from_before_migration(directory, &kept)?;
    }
    Ok(replaced)
}

/// What is to be the database.
struct Prepared {
    database: Connection,
    /// A new copy from before its migration.
    kept: Option<PathBuf>,
}

/// Makes the copy ready `beside` the database: whole, of this program's schema or a newer one that it can use, and known for a
/// copy.
fn prepared(
    schema: Schema,
    directory: &Path,
    copy: &Path,
    beside: &Path,
    replaced: Option<&Connection>,
) -> Result<Prepared, BackupError> {
    let failed = |error| BackupError::File(directory.into(), error);
    alone::clear(beside).map_err(failed)?;
    drop(private_file::create(beside).map_err(failed)?);
    let damaged = |error: &dyn std::fmt::Display| BackupError::Damaged(copy.into(), error.to_string());
    // By SQLite, because what is in a log beside it belongs to it.
    let source = open(copy).map_err(|error| damaged(&error))?;
    schema::version(&source).map_err(|error| damaged(&error))?;
    let standing = schema.judge(&source, directory)?;
    backup::copy_to(&source, beside, || Ok(())).map_err(|error| damaged(&error))?;
    // By a connection of its own: one that has checked holds on to the database.
    let fault = open(beside).and_then(|db| fault_in(&db)).map_err(|error| damaged(&error))?;
    fault.map_or(Ok(()), |fault| Err(damaged(&fault)))?;
    let kept = match standing {
        Standing::Older(found @ 1..) => keep_unmigrated(&source, directory, copy, found),
        _ => None,
    };
    let mut database = Connection::open(beside)?;
    schema.migrate(&mut database)?;
    // A database that is gone, damaged or from before there were epochs has none.
    let own = replaced.and_then(|db| epoch::own(db).ok());
    let known = [epoch::recorded(directory)?.unwrap_or(0), own.unwrap_or(0)];
    let next = known.into_iter().fold(epoch::own(&database)?, i64::max) + 1;
    database.execute("UPDATE hub SET epoch = ?, restored = 1", [next])?;
    Ok(Prepared { database, kept })
}

/// Keeps a copy that is migrated as a copy from before a migration, unless it is one that stays: a daily one goes with its time,
/// and with it went the way back to the program before.
fn keep_unmigrated(source: &Connection, directory: &Path, copy: &Path, schema: u32) -> Option<PathBuf> {
    let stays = |kept: &backup::Copy| kept.schema.is_some() && same_file(&kept.path, copy);
    if backup::list(directory).iter().any(stays) {
        return None;
    }
    match backup::keep_unmigrated(source, directory, schema) {
        Ok(kept) => Some(kept),
        Err(error) => {
            // What is restored lies where it lay, so this is no reason to stay without a database.
            tracing::warn!(%error, copy = %copy.display(), "no copy is kept from before the migration: keep this one");
            None
        }
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Goes on with a restore that was stopped half-way; returns where the files are that were replaced, if there were any.
pub(super) fn finish(directory: &Path) -> io::Result<Option<PathBuf>> {
    let (ready, database) = (directory.join(READY), directory.join("gatepost.db"));
    if ready.exists() {
        unpacked::take_keys(directory)?;
        move_away(directory, &["gatepost.db"])?;
        move_away(directory, &BESIDE)?;
        fs::rename(&ready, &database)?;
        private_file::sync(directory)?;
    }
    unpacked::clear(directory)?;
    settle_away(directory)
}

/// Whether a restore was stopped half-way, and the copy is to be the database.
pub(super) fn is_halfway(directory: &Path) -> bool {
    directory.join(READY).exists()
}

/// Moves what lies beside a database that is not there out of the way of a new one.
pub(super) fn set_aside(directory: &Path) -> io::Result<Option<PathBuf>> {
    move_away(directory, &BESIDE)?;
    settle_away(directory)
}

fn move_away(directory: &Path, names: &[&str]) -> io::Result<()> {
    let away = directory.join(AWAY);
    for name in names {
        let file = directory.join(name);
        if !file.exists() {
            continue;
        }
        // Somebody else's, who began anew in between.
        if away.join(name).exists() {
            settle_away(directory)?;
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&away)?;
        fs::rename(&file, away.join(name))?;
        private_file::sync(&away)?;
    }
    private_file::sync(directory)
}

/// Gives the folder of what was replaced its name for good.
fn settle_away(directory: &Path) -> io::Result<Option<PathBuf>> {
    let away = directory.join(AWAY);
    if !away.exists() {
        return Ok(None);
    }
    let named = format!("replaced-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let mut kept = directory.join(&named);
    for again in 2_u32.. {
        if !kept.exists() {
            break;
        }
        kept = directory.join(format!("{named}-{again}"));
    }
    fs::rename(&away, &kept)?;
    private_file::sync(directory)?;
    Ok(Some(kept))
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// What is wrong with a database, if anything.
pub(crate) fn fault_in(db: &Connection) -> rusqlite::Result<Option<String>> {
    let report: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok((report != "ok").then_some(report))
}

/// Restores a copy that nothing is carried over to.
#[cfg(test)]
pub(crate) fn as_it_is(directory: &Path, copy: &Path) -> Result<Option<PathBuf>, BackupError> {
    as_it_is_by(Schema::OWN, directory, copy)
}

/// The same as a program with this schema would.
#[cfg(test)]
pub(crate) fn as_it_is_by(
    schema: Schema,
    directory: &Path,
    copy: &Path,
) -> Result<Option<PathBuf>, BackupError> {
    restore_as(schema, directory, |_| Ok(copy.into()), |_, _| Ok(()))
}

#[cfg(test)]
mod tests;

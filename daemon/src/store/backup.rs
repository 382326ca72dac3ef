//! Copies of the database: made while the hub runs, and before a newer program changes its tables.
//!
//! A copy is one moment of the database, read a megabyte at a time beside the hub, so the writer never waits
//! for it. It is checked before it counts, and only then may the oldest go: a database that rots would otherwise replace
//! all of its good copies by bad ones. That one is not removed: the next copy is made of it, and only what differs is written ([`patch`]).
//! Neither the hub's key nor its tokens' texts are in it. Each says of itself that it
//! is a copy, so that nothing of it is sent by itself wherever it is put back ([`super::epoch`]).
//!
//! The copy from before a migration is the way back to the program before: there is one, the newest, and it stays until the
//! next migration. [`super::restore`] puts a copy back. A copy that leaves the machine is a [`DatabaseCopy`].

mod apart;
mod patch;

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

pub use apart::DatabaseCopy;

use super::{LockError, Store, StoreError, alone, epoch, private_file, space};

/// Bytes that are copied at once, and how long the disk is left to others between: at most some 100 MB/s.
const STEP_BYTES: i64 = 1024 * 1024;
const STEP_PAUSE: Duration = Duration::from_millis(10);
/// Meanwhile the write-ahead log cannot be cut back, so there is an end to it.
const LONGEST: Duration = Duration::from_mins(30);
/// Room that a copy must leave on the disk, beside the reserve.
const MIN_LEFT_BYTES: u64 = 16 * 1024 * 1024;

/// What is being copied to, and until then the copy that was let go last.
const BESIDE: &str = "gatepost.new";

/// How the name of a copy begins; its time follows.
const NAME: &str = "gatepost-";
/// A copy's time in its name, UTC.
const TIME: &str = "%Y%m%dT%H%M%SZ";
/// What follows the time in the name of a copy from before a migration; the number of its schema is next.
const SCHEMA: &str = "-schema";

/// Why there is no new copy, or why one was not put back.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Whose directory it is.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file.
    #[error("cannot use {}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// The disk.
    #[error(
        "a backup needs {0} bytes of room, and the disk has {1}: make room, or keep fewer ([queue] backups)"
    )]
    NoRoom(u64, u64),
    /// It took too long, or the hub stops.
    #[error("the backup was given up after {0:?}; the next one is tried later")]
    GivenUp(Duration),
    /// What was copied is not whole.
    #[error("{} is damaged: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// There is no database.
    #[error("there is no database in {}: no hub has run there", .0.display())]
    NoDatabase(PathBuf),
    /// There is none.
    #[error("there is no backup in {}", .0.display())]
    None(PathBuf),
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A copy of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The file.
    pub path: PathBuf,
    /// When it was made, by its name; by the file's own time where somebody has renamed it.
    pub made: jiff::Timestamp,
    /// For one from before a migration: its schema.
    pub schema: Option<u32>,
}

impl Copy {
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".db")?;
        let rest = name.strip_prefix(NAME).unwrap_or(name);
        let (time, schema) = match rest.split_once(SCHEMA) {
            Some((time, schema)) => (time, schema.parse().ok()),
            None => (rest, None),
        };
        let named = jiff::civil::DateTime::strptime(TIME, time)
            .and_then(|time| time.to_zoned(jiff::tz::TimeZone::UTC))
            .map(|time| time.timestamp());
        let made = match named {
            Ok(made) => made,
            Err(_) => fs::metadata(&path).ok()?.modified().ok()?.try_into().ok()?,
        };
        Some(Self { path, made, schema })
    }
}

/// Where the copies are.
pub fn folder(directory: &Path) -> PathBuf {
    directory.join("backups")
}

/// All copies, oldest first.
pub fn list(directory: &Path) -> Vec<Copy> {
    let Ok(files) = fs::read_dir(folder(directory)) else { return vec![] };
    let mut copies: Vec<Copy> = files.filter_map(|file| Copy::at(file.ok()?.path())).collect();
    copies.sort_by(|a, b| (a.made, &a.path).cmp(&(b.made, &b.path)));
    copies
}

/// The newest copy.
pub fn newest(directory: &Path) -> Option<PathBuf> {
    list(directory).pop().map(|copy| copy.path)
}

/// When the newest copy was made, those from before migrations aside.
pub fn made(directory: &Path) -> Option<SystemTime> {
    list(directory).iter().rfind(|copy| copy.schema.is_none()).map(|copy| copy.made.into())
}

impl StoreError {
    /// The same, with what to do about it if the database in `directory` is damaged.
    pub fn explained(self, directory: &Path) -> Self {
        match self.damage() {
            Some(what) => {
                let path = directory.join("gatepost.db");
                Self::Damaged { path, what, newest: newest(directory) }
            }
            None => self,
        }
    }
}

impl Store {
    /// Makes a copy, and lets the oldest go beyond `keep`.
    pub async fn back_up(&self, keep: usize) -> Result<PathBuf, BackupError> {
        let store = self.clone();
        let copied = tokio::task::spawn_blocking(move || store.copy(keep)).await;
        let path = copied.unwrap_or_else(|_| Err(StoreError::Closed.into()))?;
        // From here on this copy is behind.
        let raised: i64 = self
            .write(|tx| {
                let raised = "UPDATE hub SET epoch = epoch + 1 RETURNING epoch";
                Ok::<_, StoreError>(tx.query_row(raised, [], |row| row.get(0))?)
            })
            .await?;
        epoch::record(self.directory(), raised)?;
        Ok(path)
    }

    fn copy(&self, keep: usize) -> Result<PathBuf, BackupError> {
        let (directory, start) = (self.directory(), Instant::now());
        let pause = || {
            if start.elapsed() > LONGEST || self.is_closed() {
                return Err(BackupError::GivenUp(start.elapsed()));
            }
            thread::sleep(STEP_PAUSE);
            Ok(())
        };
        let (database, old) = (directory.join("gatepost.db"), folder(directory).join(BESIDE));
        let still = match old.exists() {
            true => patch::hold_still(&database, pause)?,
            false => None,
        };
        let path = match &still {
            Some(source) => keep_copy(source, directory, "", true, |beside| {
                clear_beside(beside)?;
                let bytes = patch::patch(&*self.file(&database)?, beside, pause)?;
                tracing::debug!(bytes, "the backup differs in so many from the one that it was made of");
                say_copy(Connection::open(beside)?)
            })?,
            None => {
                let source = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
                // One moment, however long it takes: without this every write in between would start the copy over.
                source.execute_batch("BEGIN; SELECT * FROM hub")?;
                keep_copy(&source, directory, "", false, |beside| copy_to(&source, beside, pause))?
            }
        };
        drop(still);
        let mut all = list(directory);
        all.retain(|copy| copy.schema.is_none());
        let gone = &all[..all.len().saturating_sub(keep.max(1))];
        for (left, copy) in (1..=gone.len()).rev().zip(gone) {
            match left {
                1 if has_room_for_another(directory, copy) => {
                    let kept = fs::rename(&copy.path, &old);
                    kept.map_err(|error| BackupError::File(copy.path.clone(), error))?;
                }
                _ => drop_copy(copy)?,
            }
        }
        Ok(path)
    }

    /// The database's file. It stays open as long as the store: with any descriptor of a file the locks go that SQLite has on it.
    fn file(&self, database: &Path) -> Result<Arc<fs::File>, BackupError> {
        let mut file = self.0.file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(file) = &*file {
            return Ok(Arc::clone(file));
        }
        let opened = fs::File::open(database).map_err(|error| BackupError::File(database.into(), error))?;
        Ok(Arc::clone(file.insert(Arc::new(opened))))
    }
}

/// Whether the disk has as much again as this copy takes: else the next one begins from nothing.
fn has_room_for_another(directory: &Path, copy: &Copy) -> bool {
    let size = fs::metadata(&copy.path).map_or(u64::MAX, |file| file.len());
    space::free(directory).is_ok_and(|free| free >= size.saturating_add(MIN_LEFT_BYTES))
}

/// Removes what a copy that was interrupted has left beside its file.
fn clear_beside(copy: &Path) -> Result<(), BackupError> {
    ["-journal", "-wal", "-shm"].into_iter().try_for_each(|end| {
        let mut name = copy.as_os_str().to_owned();
        name.push(end);
        let path = PathBuf::from(name);
        private_file::remove(&path).map_err(|error| BackupError::File(path.clone(), error))
    })
}

/// Copies the database, which nobody else uses yet, before its tables are changed; lets go of the copy before.
pub(super) fn before_migration(
    source: &Connection,
    directory: &Path,
    schema: u32,
) -> Result<PathBuf, BackupError> {
    let path = keep_unmigrated(source, directory, schema)?;
    only_from_before_migration(directory, &path)?;
    Ok(path)
}

/// Copies a database of this schema before its tables are changed.
pub(super) fn keep_unmigrated(
    source: &Connection,
    directory: &Path,
    schema: u32,
) -> Result<PathBuf, BackupError> {
    let kind = format!("{SCHEMA}{schema}");
    keep_copy(source, directory, &kind, false, |beside| copy_to(source, beside, || Ok(())))
}

/// Lets go of every copy from before a migration but this one.
pub(super) fn only_from_before_migration(directory: &Path, kept: &Path) -> Result<(), BackupError> {
    let all = list(directory);
    all.iter().filter(|copy| copy.schema.is_some() && copy.path != kept).try_for_each(drop_copy)
}

fn drop_copy(copy: &Copy) -> Result<(), BackupError> {
    private_file::remove(&copy.path).map_err(|error| BackupError::File(copy.path.clone(), error))
}

/// Makes a copy in its folder by `make`: whole and checked, or not there at all. `of_old`: from the one that is there, or from nothing.
fn keep_copy(
    source: &Connection,
    directory: &Path,
    kind: &str,
    of_old: bool,
    make: impl FnOnce(&Path) -> Result<(), BackupError>,
) -> Result<PathBuf, BackupError> {
    let backups = folder(directory);
    let failed = |error| BackupError::File(backups.clone(), error);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&backups).map_err(failed)?;
    let (size, beside) = (size_of(source)?, backups.join(BESIDE));
    // What an older one takes is taken already.
    let there = fs::metadata(&beside).map_or(0, |file| file.len());
    let free = space::free(directory).unwrap_or(u64::MAX).saturating_add(there);
    if free < size.saturating_add(MIN_LEFT_BYTES) {
        return Err(BackupError::NoRoom(size.saturating_add(MIN_LEFT_BYTES), free));
    }
    let name = format!("{NAME}{}{kind}.db", jiff::Timestamp::now().strftime(TIME));
    let path = backups.join(name);
    if !of_old {
        alone::clear(&beside).and_then(|()| private_file::create(&beside)).map(drop).map_err(failed)?;
    }
    let made = make(&beside).and_then(|()| check(&beside));
    if let Err(error) = made {
        private_file::remove(&beside).map_err(failed)?;
        return Err(error);
    }
    let synced = fs::File::open(&beside).and_then(|file| file.sync_all());
    synced.and_then(|()| fs::rename(&beside, &path)).map_err(failed)?;
    private_file::sync(&backups).and_then(|()| private_file::sync(directory)).map_err(failed)?;
    Ok(path)
}

/// Bytes of a database.
fn size_of(db: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let size: i64 = db.query_row(sql, [], |row| row.get(0))?;
    Ok(u64::try_from(size).unwrap_or(u64::MAX))
}

/// Copies a database into an empty file: a single one, with no log beside it, that says that it is a copy.
pub(super) fn copy_to(
    source: &Connection,
    beside: &Path,
    mut pause: impl FnMut() -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    // Opened first, and so closed last: with any descriptor of a file the locks go that SQLite has on it.
    let written = fs::File::open(beside).map_err(|error| BackupError::File(beside.into(), error))?;
    let mut copy = Connection::open(beside)?;
    let page: i64 = source.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = std::ffi::c_int::try_from(STEP_BYTES / page.max(512)).unwrap_or(1);
    {
        let backup = Backup::new(source, &mut copy)?;
        while backup.step(pages)? != StepResult::Done {
            // Or all of it goes to the disk at the end, and every commit waits for that.
            written.sync_data().map_err(|error| BackupError::File(beside.into(), error))?;
            pause()?;
        }
    }
    say_copy(copy)
}

/// Has a database say that it is a copy, as a single file with no log beside it.
fn say_copy(copy: Connection) -> Result<(), BackupError> {
    copy.pragma_update(None, "journal_mode", "delete")?;
    // The oldest schemas have nowhere to say it.
    if copy.column_exists(None, "hub", "restored")? {
        copy.execute("UPDATE hub SET restored = 1", [])?;
    }
    copy.close().map_err(|(_, error)| error.into())
}

/// Reads every page once.
pub(super) fn check(database: &Path) -> Result<(), BackupError> {
    let damaged = |why: String| BackupError::Damaged(database.into(), why);
    let fault = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .and_then(|db| super::damage(&db))
        .map_err(|error| damaged(error.to_string()))?;
    fault.map_or(Ok(()), |why| Err(damaged(why)))
}

#[cfg(test)]
mod tests;

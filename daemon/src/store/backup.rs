//! Copies of the database: made while the hub runs, and put back by a person.
//!
//! A copy is one moment of the database, read by a connection of its own a megabyte at a time, so the writer never waits
//! for it. It is checked before it counts, and only then may the oldest go: a database that rots would otherwise replace
//! all of its good copies by bad ones. Neither the hub's key nor its tokens' texts are in it.
//!
//! [`restore`] puts one in place and keeps what was there. What a restored copy may do is said in [`super::epoch`].

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::{DirectoryLock, LockError, Store, StoreError, epoch, schema, space};

/// Pages of 4 KB that are copied at once, and how long the disk is left to others between: at most some 100 MB/s.
const PAGES: std::ffi::c_int = 256;
const PAUSE: Duration = Duration::from_millis(10);
/// Meanwhile the write-ahead log cannot be cut back, so there is an end to it.
const LONGEST: Duration = Duration::from_mins(30);
/// Room that a copy must leave on the disk, beside the reserve.
const LEFT: u64 = 16 * 1024 * 1024;

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
    /// There is none.
    #[error("there is no backup in {}", .0.display())]
    None(PathBuf),
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Where the copies are.
pub fn folder(directory: &Path) -> PathBuf {
    directory.join("backups")
}

/// All copies, oldest first.
pub fn list(directory: &Path) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(folder(directory)) else { return vec![] };
    let mut files: Vec<PathBuf> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "db"))
        .collect();
    // Their names begin with the time.
    files.sort();
    files
}

/// The newest copy.
pub fn newest(directory: &Path) -> Option<PathBuf> {
    list(directory).pop()
}

/// When the newest copy was made.
pub fn made(directory: &Path) -> Option<SystemTime> {
    fs::metadata(newest(directory)?).and_then(|file| file.modified()).ok()
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
        let backups = folder(directory);
        let failed = |error| BackupError::File(backups.clone(), error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&backups).map_err(failed)?;
        let database = directory.join("gatepost.db");
        let size = fs::metadata(&database).map_err(failed)?.len();
        let free = space::free(directory).unwrap_or(u64::MAX);
        if free < size.saturating_add(LEFT) {
            return Err(BackupError::NoRoom(size + LEFT, free));
        }
        let name = format!("gatepost-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
        let (path, beside) = (backups.join(format!("{name}.db")), backups.join("gatepost.new"));
        remove(&beside).map_err(failed)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).map_err(failed)?;
        let made = self.copy_to(&database, &beside, start).and_then(|()| check(&beside));
        if let Err(error) = made {
            remove(&beside).map_err(failed)?;
            return Err(error);
        }
        let synced = File::open(&beside).and_then(|file| file.sync_all());
        synced.and_then(|()| fs::rename(&beside, &path)).map_err(failed)?;
        File::open(&backups).and_then(|folder| folder.sync_all()).map_err(failed)?;
        let all = list(directory);
        for old in &all[..all.len().saturating_sub(keep.max(1))] {
            remove(old).map_err(failed)?;
        }
        Ok(path)
    }

    fn copy_to(&self, database: &Path, beside: &Path, start: Instant) -> Result<(), BackupError> {
        let source = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // One moment, however long it takes: without this every write in between would start the copy over.
        source.execute_batch("BEGIN; SELECT * FROM hub")?;
        let mut copy = Connection::open(beside)?;
        {
            let backup = Backup::new(&source, &mut copy)?;
            while backup.step(PAGES)? != StepResult::Done {
                if start.elapsed() > LONGEST || self.is_closed() {
                    return Err(BackupError::GivenUp(start.elapsed()));
                }
                thread::sleep(PAUSE);
            }
        }
        // A single file, with no log beside it.
        copy.pragma_update(None, "journal_mode", "delete")?;
        copy.close().map_err(|(_, error)| error.into())
    }
}

/// Puts a copy in the place of the database of a hub that does not run; returns where the old one is now.
pub fn restore(directory: &Path, backup: &Path) -> Result<Option<PathBuf>, BackupError> {
    let _lock = DirectoryLock::take(directory)?;
    let version = check(backup).and_then(|()| schema::version(&open(backup)?).map_err(BackupError::from))?;
    schema::refuse_newer(version)?;
    let failed = |error| BackupError::File(directory.into(), error);
    let beside = directory.join("gatepost.db.new");
    remove(&beside).map_err(failed)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).map_err(failed)?;
    fs::copy(backup, &beside).map_err(failed)?;
    File::open(&beside).and_then(|file| file.sync_all()).map_err(failed)?;

    let next = epoch::recorded(directory)?.unwrap_or(0).max(epoch_of(&beside)) + 1;
    // First of all: whatever stops this half-way, the copy is known for one.
    epoch::record(directory, next)?;
    let away = directory.join(format!("replaced-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ")));
    let mut kept = None;
    for name in ["gatepost.db-wal", "gatepost.db-shm", "gatepost.db"] {
        let file = directory.join(name);
        if file.exists() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&away).map_err(failed)?;
            fs::rename(&file, away.join(name)).map_err(failed)?;
            kept = Some(away.clone());
        }
    }
    fs::rename(&beside, directory.join("gatepost.db")).map_err(failed)?;
    File::open(directory).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(kept)
}

/// A copy from before there were epochs has none.
fn epoch_of(database: &Path) -> i64 {
    let epoch = open(database).and_then(|db| db.query_row("SELECT epoch FROM hub", [], |row| row.get(0)));
    epoch.unwrap_or(0)
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Reads every page once.
fn check(database: &Path) -> Result<(), BackupError> {
    let damaged = |why: String| BackupError::Damaged(database.into(), why);
    let said =
        open(database).and_then(|db| super::damage(&db)).map_err(|error| damaged(error.to_string()))?;
    said.map_or(Ok(()), |why| Err(damaged(why)))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn add(store: &Store, name: &'static str) {
        let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (randomblob(8), ?, 0, 0)";
        store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [name]).map(drop)?)).await.unwrap();
    }

    async fn look(store: &Store) -> (i64, bool) {
        let sql = "SELECT (SELECT count(*) FROM devices), restored FROM hub";
        store
            .read(move |db| Ok::<_, StoreError>(db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?))
            .await
            .unwrap()
    }

    fn close(store: Store) {
        store.close();
    }

    #[tokio::test]
    async fn a_backup_is_one_file_of_one_moment_and_only_so_many_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        add(&store, "one").await;
        let first = store.back_up(2).await.unwrap();
        add(&store, "two").await;
        let copy = open(&first).unwrap();
        let devices: i64 = copy.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).unwrap();
        assert_eq!(devices, 1);
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&first).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        for name in ["gatepost-20200101T000000Z.db", "gatepost-20200102T000000Z.db"] {
            fs::copy(&first, folder(directory.path()).join(name)).unwrap();
        }
        fs::remove_file(&first).unwrap();
        let second = store.back_up(2).await.unwrap();
        let kept = list(directory.path());
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert_eq!(newest(directory.path()), Some(second));
        assert!(fs::read_dir(folder(directory.path())).unwrap().count() == 2, "nothing is left beside them");
    }

    #[tokio::test]
    async fn a_backup_that_is_put_back_by_hand_or_by_command_is_known_for_one() {
        for by_hand in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path()).unwrap();
            add(&store, "one").await;
            let backup = store.back_up(7).await.unwrap();
            add(&store, "two").await;
            assert_eq!(look(&store).await, (2, false));
            close(store);
            if by_hand {
                fs::copy(&backup, directory.path().join("gatepost.db")).unwrap();
                for beside in ["gatepost.db-wal", "gatepost.db-shm"] {
                    remove(&directory.path().join(beside)).unwrap();
                }
            } else {
                let kept = restore(directory.path(), &backup).unwrap().unwrap();
                assert!(kept.join("gatepost.db").exists(), "what was there is kept");
            }
            let store = Store::open(directory.path()).unwrap();
            assert_eq!(look(&store).await, (1, true));
            close(store);
            // Until somebody has settled it, however often it is opened.
            let store = Store::open(directory.path()).unwrap();
            assert_eq!(look(&store).await, (1, true));
        }
    }

    #[tokio::test]
    async fn a_copy_of_a_stopped_hubs_database_is_known_for_one_after_the_next_start() {
        let directory = tempfile::tempdir().unwrap();
        close(Store::open(directory.path()).unwrap());
        let copy = directory.path().join("copy");
        fs::copy(directory.path().join("gatepost.db"), &copy).unwrap();
        let store = Store::open(directory.path()).unwrap();
        assert!(!look(&store).await.1, "its own database is no copy");
        close(store);
        fs::copy(&copy, directory.path().join("gatepost.db")).unwrap();
        let store = Store::open(directory.path()).unwrap();
        assert!(look(&store).await.1);
        close(store);
        // In another house, without the file beside it.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::copy(&copy, elsewhere.path().join("gatepost.db")).unwrap();
        assert!(look(&Store::open(elsewhere.path()).unwrap()).await.1);
    }

    #[tokio::test]
    async fn a_damaged_database_is_refused_kept_and_answered_with_the_newest_backup() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gatepost.db");
        let store = Store::open(directory.path()).unwrap();
        for _ in 0..200 {
            add(&store, "a device with a name that is not short at all, so that there are some pages").await;
        }
        let backup = store.back_up(7).await.unwrap();
        close(store);
        let whole = fs::read(&path).unwrap();
        let mut scribbled = whole.clone();
        let middle = whole.len() / 2 / 4096 * 4096;
        scribbled[middle..middle + 8192].fill(0xa5);
        let cut = whole[..whole.len() - 20_000].to_vec();
        for damaged in [scribbled, cut, b"this is no database".repeat(300), vec![]] {
            fs::write(&path, &damaged).unwrap();
            let error = Store::open(directory.path()).err().expect("refused").to_string();
            assert!(error.contains("gatepost restore"), "{error}");
            assert!(error.contains(&backup.display().to_string()), "{error}");
            assert!(fs::read(&path).unwrap() == damaged, "it is kept as it is");
        }
        fs::remove_file(&path).unwrap();
        assert!(matches!(Store::open(directory.path()), Err(StoreError::Damaged { .. })), "it is gone");
        restore(directory.path(), &backup).unwrap();
        assert_eq!(look(&Store::open(directory.path()).unwrap()).await, (200, true));
    }

    #[tokio::test]
    async fn a_damaged_backup_is_not_put_in_place_of_anything() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let backup = store.back_up(7).await.unwrap();
        assert!(matches!(restore(directory.path(), &backup), Err(BackupError::Lock(_))), "a hub runs");
        close(store);
        drop(fs::OpenOptions::new().write(true).open(&backup).unwrap().set_len(5_000));
        assert!(matches!(restore(directory.path(), &backup), Err(BackupError::Damaged(..))));
        assert!(!look(&Store::open(directory.path()).unwrap()).await.1);
    }
}

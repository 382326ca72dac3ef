//! The hub's one database, and the lock that makes it ours alone.
//!
//! SQLite in WAL mode with `synchronous=FULL`: when [`Store::write`] returns, the rows are on disk. One thread owns the
//! writing connection ([`writer`]), so there is one order of events, and commits together what came together; readers have
//! connections of their own and never wait for it: one for what may take long, on a thread beside, and one for look-ups.
//! The data directory is locked for as long as the store is open: two hubs that drained one queue sent everything
//! twice elsewhere.
//!
//! [`space`] watches over the room on the disk, [`backup`] copies the database, [`epoch`] knows an old copy for one,
//! [`anchor`] keeps the time. [`schema`] holds the tables. What the rows mean is known by the modules that own them.

mod anchor;
pub mod backup;
mod epoch;
mod error;
mod lock;
pub(crate) mod private_file;
mod schema;
mod space;
mod writer;

use std::{
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use rusqlite::{Connection, OpenFlags, Transaction, config::DbConfig};
use tokio::sync::oneshot;

pub use crate::clock::now_ms;
use crate::clock::{Clock, Facts};
pub use error::StoreError;
pub use lock::{DirectoryLock, LockError};
pub use space::{Room, Space};
use writer::Job;

/// Up to this size the whole file is read at every start; a longer one is checked with its daily backup.
const READ_AT_START: u64 = 8 * 1024 * 1024;

/// Statements that a connection keeps prepared: more than there are different ones in the life of a message.
const PREPARED: usize = 64;

/// Pages that look-ups keep; fewer kibibytes than SQLite's default of 2,000, which is what a negative number means to it.
const LOOKED_UP: i64 = -512;

/// What is wrong with a database, if anything: reads every page.
fn damage(db: &Connection) -> rusqlite::Result<Option<String>> {
    let said: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((said != "ok").then_some(said))
}

/// A handle on the database. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    writer: Mutex<Option<thread::JoinHandle<()>>>,
    reader: Mutex<Connection>,
    quick: Mutex<Connection>,
    directory: PathBuf,
    space: Arc<Space>,
    clock: Mutex<Clock>,
    opened_at: i64,
    commits: Arc<AtomicU64>,
    _lock: DirectoryLock,
}

impl Store {
    /// Locks `directory`, opens the database in it and brings its schema up to date.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let lock = DirectoryLock::take(directory)?;
        let space = Arc::new(Space::new(directory));
        let path = directory.join("gatepost.db");
        let there = std::fs::metadata(&path).map_or(0, |file| file.len());
        if there == 0 && epoch::recorded(directory)?.is_some() {
            let what = "it is missing or empty, though this directory had one".into();
            return Err(StoreError::Damaged { path, what, newest: backup::newest(directory) });
        }
        // SQLite's own files take over its rights: messages are nobody else's to read.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| LockError::Directory(directory.into(), error))?;
        let opened = connect(&path, directory, there).map_err(|error| error.explained(directory));
        let (mut writer, [reader, quick], clock) = opened?;
        let watched = Arc::clone(&space);
        let commits = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&commits);
        let (jobs, queue) = mpsc::channel::<Job>();
        let handle = thread::Builder::new()
            .name("store".into())
            .spawn(move || writer::work(&mut writer, &queue, &watched, &counted))
            .map_err(|error| StoreError::Lock(LockError::Directory(directory.into(), error)))?;
        Ok(Self(Arc::new(Inner {
            jobs: Mutex::new(Some(jobs)),
            writer: Mutex::new(Some(handle)),
            reader: Mutex::new(reader),
            quick: Mutex::new(quick),
            directory: directory.into(),
            space,
            clock: Mutex::new(clock),
            opened_at: now_ms(),
            commits,
            _lock: lock,
        })))
    }

    fn is_closed(&self) -> bool {
        self.0.jobs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_none()
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// The room on its disk.
    pub fn space(&self) -> &Space {
        &self.0.space
    }

    /// How many times it has committed since it was opened. What is written at the same time shares a commit.
    pub fn commits(&self) -> u64 {
        self.0.commits.load(Ordering::Relaxed)
    }

    /// While nobody vouches for the clock: when this store was opened, by which times from before it are known. They are
    /// not to be judged yet.
    pub fn unsettled_since(&self) -> Option<i64> {
        (!self.clock().is_settled()).then_some(self.0.opened_at)
    }

    /// If the clock is not settled and now can be: when this store was opened, the clock, and by how much it goes forward.
    pub fn clock_to_settle(&self) -> Option<(i64, Clock, i64)> {
        let clock = self.clock();
        if clock.is_settled() {
            return None;
        }
        let next = clock.look(&Facts::now());
        next.is_settled().then(|| (self.0.opened_at, next, next.offset() - clock.offset()))
    }

    /// From here on this is the clock.
    pub fn settle_clock(&self, clock: Clock) {
        clock.install();
        *self.0.clock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = clock;
    }

    /// Writes the time down, so that no later start goes below it.
    pub async fn keep_time(&self) -> Result<(), StoreError> {
        let clock = self.clock();
        self.write(move |tx| Ok(anchor::save(tx, &clock)?)).await
    }

    fn clock(&self) -> Clock {
        *self.0.clock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Runs `work` as a whole or not at all, and returns once it is on disk; an error undoes all of it, and nothing of
    /// others that are committed with it.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    {
        self.write_then(work, |_| {}).await
    }

    /// The same, and once it is on disk `then`, whether or not anybody waits for it any more. It runs on the writer's
    /// thread, so it must be short.
    pub async fn write_then<T, E, F>(&self, work: F, then: impl FnOnce(&T) + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            let outcome = tx.map_err(E::from).and_then(|tx| writer::within_savepoint(tx, work));
            Box::new(move |committed| {
                let outcome = outcome.and_then(|value| committed.map(|()| value).map_err(E::from));
                if let Ok(value) = &outcome {
                    then(value);
                }
                // Nobody waiting any more is no reason not to finish what was begun.
                let _ = answer.send(outcome);
            })
        });
        {
            let jobs = self.0.jobs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let sender = jobs.as_ref().ok_or(StoreError::Closed)?;
            sender.send(job).map_err(|_| StoreError::Closed)?;
        }
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs `work` on the reading connection, off the asynchronous threads.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || {
            let reader = inner.reader.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            work(&reader)
        })
        .await
        .map_err(|_| StoreError::Closed)?
    }

    /// Looks something up by an index, at once and on the caller's thread: for so little, changing to another one costs
    /// several times the look.
    pub fn look<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        work(&self.0.quick.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Finishes what is being written and closes the writer. Later writes are refused.
    pub fn close(&self) {
        let take = |slot: &Mutex<Option<mpsc::Sender<Job>>>| {
            slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
        };
        drop(take(&self.0.jobs));
        let handle = self.0.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(handle) = handle {
            // A panic in the writer has already been printed; there is nothing to add to it here.
            let _ = handle.join();
        }
    }
}

/// Opens the database, `size` bytes long, for its writer and its readers.
fn connect(
    path: &Path,
    directory: &Path,
    size: u64,
) -> Result<(Connection, [Connection; 2], Clock), StoreError> {
    // By a connection that cannot write, so that what is damaged stays as it was found.
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if (1..=READ_AT_START).contains(&size)
        && let Some(what) = damage(&reader)?
    {
        let newest = backup::newest(directory);
        return Err(StoreError::Damaged { path: path.into(), what, newest });
    }
    schema::refuse_newer(schema::version(&reader)?)?;
    let mut writer = Connection::open(path)?;
    // Only a new database takes this; it lets go of room step by step.
    writer.pragma_update(None, "auto_vacuum", "incremental")?;
    writer.pragma_update(None, "journal_mode", "wal")?;
    writer.pragma_update(None, "synchronous", "full")?;
    writer.pragma_update(None, "foreign_keys", true)?;
    // A write-ahead log that once grew gives its room back.
    writer.pragma_update(None, "journal_size_limit", 8 * 1024 * 1024)?;
    // What undoes one piece of work alone need not outlive anything.
    writer.pragma_update(None, "temp_store", "memory")?;
    let quick = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    quick.pragma_update(None, "cache_size", LOOKED_UP)?;
    for connection in [&writer, &reader, &quick] {
        connection.set_prepared_statement_cache_capacity(PREPARED);
        // A plan that does not hang on bound values: SQLite would prepare a statement anew whenever one of them is 0 or 1,
        // as parts' numbers are (<https://www.sqlite.org/queryplanner-ng.html>, "query planner stability guarantee").
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    }
    schema::migrate(&mut writer)?;
    epoch::begin(&writer, directory)?;
    let clock = anchor::resume(&writer)?;
    match anchor::save(&writer, &clock) {
        Err(error) if Room::of(&error).is_some() => tracing::warn!(%error, "cannot write the time down"),
        saved => saved?,
    }
    Ok((writer, [reader, quick], clock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_error_rolls_the_whole_transaction_back() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let failed: Result<(), StoreError> = store
            .write(|tx| {
                tx.execute(
                    "INSERT INTO devices (key, name, software, added_at) VALUES (x'00', 'a', 0, 0)",
                    [],
                )?;
                Err(StoreError::Closed)
            })
            .await;
        assert!(failed.is_err());
        let rows: i64 = store
            .read(|db| {
                db.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).map_err(StoreError::from)
            })
            .await
            .unwrap();
        assert_eq!(rows, 0);
    }

    #[tokio::test]
    async fn who_fails_takes_nobody_along() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let writes = (0..200_u8).map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                store
                    .write(move |tx| {
                        let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (?, 'a', 0, 0)";
                        tx.execute(sql, [[n]])?;
                        if n % 3 == 0 { Err(StoreError::Closed) } else { Ok(n) }
                    })
                    .await
            })
        });
        let writes: Vec<_> = writes.collect();
        let mut written = 0;
        for (n, write) in (0..200_u8).zip(writes) {
            let result = write.await.unwrap();
            assert_eq!(result.is_ok(), n % 3 != 0, "{n}: {result:?}");
            written += i64::from(result.is_ok());
        }
        let rows: i64 = store
            .read(|db| {
                db.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).map_err(StoreError::from)
            })
            .await
            .unwrap();
        assert_eq!(rows, written);
    }

    #[tokio::test]
    async fn who_comes_after_a_transaction_that_the_disk_ended_is_refused_and_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (?, 'a', 0, 0)";
        let insert = |n: u8| {
            let store = store.clone();
            tokio::spawn(async move {
                store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [[n]]).map(drop)?)).await
            })
        };
        // Keeps the writer busy until the next three are there, so that all come together.
        let busy = store.clone();
        let busy = tokio::spawn(async move {
            busy.write(|_| {
                thread::sleep(std::time::Duration::from_millis(300));
                Ok::<_, StoreError>(())
            })
            .await
        });
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let before = insert(1);
        tokio::task::yield_now().await;
        let ends = store.clone();
        // What SQLite does by itself when the disk fails in the midst of a statement.
        let ends = tokio::spawn(async move {
            ends.write(|tx| {
                tx.execute_batch("ROLLBACK")?;
                Err::<(), _>(StoreError::Closed)
            })
            .await
        });
        tokio::task::yield_now().await;
        let after = insert(2);
        assert!(matches!(ends.await.unwrap(), Err(StoreError::Closed)), "its own error is told");
        for refused in [busy.await.unwrap(), before.await.unwrap(), after.await.unwrap()] {
            assert!(refused.as_ref().is_err_and(StoreError::passes), "{refused:?}");
        }
        let count = "SELECT count(*) FROM devices";
        let rows: i64 = store
            .read(move |db| Ok::<_, StoreError>(db.query_row(count, [], |row| row.get(0))?))
            .await
            .unwrap();
        assert_eq!(rows, 0);
        insert(3).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn what_was_written_is_in_the_database_itself_once_it_is_quiet() {
        let (directory, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = Store::open(directory.path()).unwrap();
        for n in 0..40_u8 {
            let sql = "INSERT INTO devices (key, name, software, added_at) VALUES (?, 'a', 0, 0)";
            store.write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [[n]]).map(drop)?)).await.unwrap();
        }
        // Without the log beside it.
        let path = copy.path().join("copy.db");
        let rows = || {
            std::fs::copy(directory.path().join("gatepost.db"), &path).unwrap();
            let count = "SELECT count(*) FROM devices";
            let db = Connection::open(&path).unwrap();
            db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap_or(0)
        };
        let began = std::time::Instant::now();
        // The last few may wait for more to come.
        while rows() < 40 - 16 {
            assert!(began.elapsed().as_secs() < 30, "{} rows", rows());
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn a_second_store_on_the_same_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let first = Store::open(directory.path()).unwrap();
        let Err(error) = Store::open(directory.path()) else { panic!("both opened") };
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        first.close();
        drop(first);
        assert!(Store::open(directory.path()).is_ok(), "the lock goes with the store");
    }

    #[test]
    fn a_newer_database_is_refused_with_both_versions() {
        let directory = tempfile::tempdir().unwrap();
        drop(Store::open(directory.path()).unwrap());
        let db = Connection::open(directory.path().join("gatepost.db")).unwrap();
        db.pragma_update(None, "user_version", 999).unwrap();
        drop(db);
        let Err(error) = Store::open(directory.path()) else { panic!("opened") };
        assert!(error.to_string().contains("999"), "{error}");
    }
}

//! The hub's one database, and the lock that makes it ours alone.
//!
//! SQLite in WAL mode with `synchronous=FULL`: when [`Store::write`] returns, the rows are on disk. One thread owns the
//! writing connection ([`writer`]), so there is one order of events, and commits together what came together; readers have
//! a connection of their own and never wait for it.
//! The data directory is locked for as long as the store is open: two hubs that drained one queue sent everything
//! twice elsewhere.
//!
//! [`schema`] holds the tables. What the rows mean is known by the modules that own them.

mod lock;
mod schema;
mod writer;

use std::{
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use rusqlite::{Connection, OpenFlags, Transaction};
use tokio::sync::oneshot;

pub use lock::{DirectoryLock, LockError};
use writer::Job;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory is another's.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// SQLite's own words.
    #[error("the database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Written by a newer Gatepost.
    #[error(
        "the database has schema version {found}, this gatepost knows up to {known}: run the newer one again"
    )]
    Newer {
        /// The file's version.
        found: u32,
        /// The newest that this program knows.
        known: u32,
    },
    /// The transaction that this was part of could not be committed.
    #[error("the database failed: {0}")]
    Commit(String),
    /// The writer is gone; the hub is stopping.
    #[error("the store is closed")]
    Closed,
}

/// A handle on the database. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    writer: Mutex<Option<thread::JoinHandle<()>>>,
    reader: Mutex<Connection>,
    directory: PathBuf,
    _lock: DirectoryLock,
}

impl Store {
    /// Locks `directory`, opens the database in it and brings its schema up to date.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let lock = DirectoryLock::take(directory)?;
        let path = directory.join("gatepost.db");
        // SQLite's own files take over its rights: messages are nobody else's to read.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| LockError::Directory(directory.into(), error))?;
        let mut writer = Connection::open(&path)?;
        writer.pragma_update(None, "journal_mode", "wal")?;
        writer.pragma_update(None, "synchronous", "full")?;
        writer.pragma_update(None, "foreign_keys", true)?;
        schema::migrate(&mut writer)?;
        let reader = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;

        let (jobs, queue) = mpsc::channel::<Job>();
        let handle = thread::Builder::new()
            .name("store".into())
            .spawn(move || writer::work(&mut writer, &queue))
            .map_err(|error| StoreError::Lock(LockError::Directory(directory.into(), error)))?;
        Ok(Self(Arc::new(Inner {
            jobs: Mutex::new(Some(jobs)),
            writer: Mutex::new(Some(handle)),
            reader: Mutex::new(reader),
            directory: directory.into(),
            _lock: lock,
        })))
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Runs `work` as a whole or not at all, and returns once it is on disk; an error undoes all of it, and nothing of
    /// others that are committed with it.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            let outcome = tx.map_err(E::from).and_then(|tx| writer::within_savepoint(tx, work));
            Box::new(move |committed| {
                // Nobody waiting any more is no reason not to finish what was begun.
                let _ = answer.send(outcome.and_then(|value| committed.map(|()| value).map_err(E::from)));
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

/// Milliseconds since 1970: the unit of every time in the database.
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
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

//! The hub's one database, and the lock that makes it ours alone.
//!
//! SQLite in WAL mode with `synchronous=FULL`: when [`Store::write`] returns, the rows are on disk. One thread owns the
//! writing connection ([`writer`]), so there is one order of events, and commits together what came together; readers have
//! connections of their own and never wait for it: one for what may take long, on a thread beside, and one for look-ups.
//! The data directory is locked for as long as the store is open: two hubs that drained one queue sent everything
//! twice elsewhere.
//!
//! [`fresh`] makes a new database, whole or not at all; [`space`] watches over the room on the disk, [`backup`] copies the
//! database and [`restore`] puts a copy back, [`owner`] is for root, whose directory it is not, [`epoch`] knows an old copy for one, [`anchor`] keeps the time. [`schema`] holds
//! the tables, and says which databases of other versions can be used. What the rows mean is known by the modules that own them.

mod alone;
mod anchor;
pub mod backup;
mod checkpoint;
mod epoch;
mod error;
mod fresh;
mod lock;
pub mod look;
pub mod owner;
pub(crate) mod private_file;
pub mod restore;
mod rounds;
mod schema;
mod space;
mod writer;

use std::{
    fs::File,
    net::SocketAddr,
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
use checkpoint::Checkpoints;
pub use error::StoreError;
pub use lock::{DirectoryLock, LockError};
pub(crate) use schema::Schema;
use schema::Standing;
pub use schema::{Newer, newer};
pub use space::{Room, Space};
use writer::Job;

/// Up to this size the whole file is read at every start; a longer one is checked with its daily backup.
const MAX_READ_AT_START_BYTES: u64 = 8 * 1024 * 1024;

/// Statements that a connection keeps prepared: more than there are different ones in the life of a message.
const MAX_PREPARED: usize = 64;

/// Pages that look-ups keep; fewer kibibytes than SQLite's default of 2,000, which is what a negative number means to it.
const LOOKED_UP: i64 = -512;

/// What is wrong with a database, if anything: reads every page.
fn damage(db: &Connection) -> rusqlite::Result<Option<String>> {
    let report: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((report != "ok").then_some(report))
}

/// Bytes that may still be written in the file system of `directory`.
///
/// # Errors
/// The file system does not say.
pub(crate) fn room_on_disk(directory: &Path) -> std::io::Result<u64> {
    space::free(directory)
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
    /// The database's own, for a backup. After the connections, whose locks on it go with it.
    file: Mutex<Option<Arc<File>>>,
    lock: DirectoryLock,
}

impl Store {
    /// Locks `directory`, opens the database in it and brings its schema up to date.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        Self::open_as(directory, Schema::OWN)
    }

    /// The same as a program with this schema would.
    pub(crate) fn open_as(directory: &Path, schema: Schema) -> Result<Self, StoreError> {
        let lock = DirectoryLock::take(directory)?;
        let space = Arc::new(Space::new(directory));
        let path = directory.join("gatepost.db");
        let unusable = |error| LockError::Directory(directory.into(), error);
        restore::finish(directory).map_err(unusable)?;
        private_file::tighten(directory);
        let size = || std::fs::metadata(&path).map_or(0, |file| file.len());
        if size() == 0 {
            if epoch::recorded(directory)?.is_some() {
                let what = "it is missing or empty, though this directory had one".into();
                return Err(StoreError::Damaged { path, what, newest: backup::newest(directory) });
            }
            fresh::create(directory, schema)?;
        }
        let opened = connect(&path, directory, size(), schema).map_err(|error| error.explained(directory));
        let (mut writer, [reader, quick], clock) = opened?;
        let checkpoints = Checkpoints::begin(directory, &mut writer)?;
        let watched = Arc::clone(&space);
        let commits = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&commits);
        let (jobs, queue) = mpsc::channel::<Job>();
        let handle = thread::Builder::new()
            .name("store".into())
            .spawn(move || writer::work(&mut writer, &queue, &watched, &counted, checkpoints))
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
            file: Mutex::default(),
            lock,
        })))
    }

    /// Says to whoever may read the directory where the hub that has it listens, if it still does.
    ///
    /// # Errors
    /// The disk says no.
    pub fn listens_at(&self, address: Option<SocketAddr>) -> std::io::Result<()> {
        self.0.lock.listens_at(address)
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
    schema: Schema,
) -> Result<(Connection, [Connection; 2], Clock), StoreError> {
    // First the one that may write: what a process left half done when it was killed is undone by whoever opens first,
    // and who only reads cannot.
    let mut writer = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Until it is known for whole, nothing of the log goes into it: what is damaged stays as it was found.
    writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if (1..=MAX_READ_AT_START_BYTES).contains(&size)
        && let Some(what) = damage(&writer)?
    {
        let newest = backup::newest(directory);
        return Err(StoreError::Damaged { path: path.into(), what, newest });
    }
    let standing = schema.judge(&writer, directory)?;
    // Only an empty database takes this.
    writer.pragma_update(None, "auto_vacuum", "incremental")?;
    writer.pragma_update(None, "journal_mode", "wal")?;
    writer.pragma_update(None, "synchronous", "full")?;
    writer.pragma_update(None, "foreign_keys", true)?;
    // A write-ahead log that once grew gives its room back.
    writer.pragma_update(None, "journal_size_limit", 8 * 1024 * 1024)?;
    // What undoes one piece of work alone need not outlive anything.
    writer.pragma_update(None, "temp_store", "memory")?;
    match standing {
        Standing::Older(found @ 1..) => {
            let kept = backup::before_migration(&writer, directory, found)
                .map_err(|error| StoreError::Uncopied(Box::new(error)))?;
            tracing::info!(path = %kept.display(), schema = found, "copied the database before its tables change");
        }
        Standing::Newer(newer) => tracing::warn!("{newer}"),
        Standing::Older(0) | Standing::Same => {}
    }
    schema.migrate(&mut writer)?;
    writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let quick = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    quick.pragma_update(None, "cache_size", LOOKED_UP)?;
    for connection in [&writer, &reader, &quick] {
        connection.set_prepared_statement_cache_capacity(MAX_PREPARED);
        // A plan that does not hang on bound values: SQLite would prepare a statement anew whenever one of them is 0 or 1,
        // as parts' numbers are (<https://www.sqlite.org/queryplanner-ng.html>, "query planner stability guarantee").
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    }
    epoch::begin(&writer, directory)?;
    let clock = anchor::resume(&writer)?;
    match anchor::save(&writer, &clock) {
        Err(error) if Room::of(&error).is_some() => tracing::warn!(%error, "cannot write the time down"),
        saved => saved?,
    }
    Ok((writer, [reader, quick], clock))
}

#[cfg(test)]
pub(crate) mod tests;

//! The write-ahead log goes back into the database, on a thread of its own.
//!
//! A checkpoint waits twice for the disk, and writes each page of the log to where it belongs: on a card that is a tenth of a second and
//! more, for which whoever wants to write would wait. SQLite lets one connection write while another one does this
//! (<https://www.sqlite.org/wal.html#ckpt>).
//!
//! Most commits touch the same few pages, and a checkpoint writes each of them once, however often it is in the log: so it waits for some
//! log, and for a moment in which nobody writes. Who writes next begins the log anew if all of it is in the database. Where there is never
//! such a moment, the writer takes the rest of a long log in by itself; it is short, for most is done here.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc::{self, SyncSender},
    },
    thread::{self, JoinHandle},
};

use rusqlite::{Connection, OpenFlags};

use super::{LockError, StoreError};

/// Bytes of log that are worth a checkpoint when nobody writes, and when somebody always does.
const WORTH: i64 = 1024 * 1024;
const WORTH_BUSY: i64 = 2 * WORTH;

/// With so many, it is the writer's: as many as SQLite's own default, 1,000 pages of its default size.
pub(super) const LONG: i64 = 4 * 1024 * 1024;

/// Kibibytes that the thread's connection keeps of the database, as a negative number: it reads hardly any.
const CACHE: i64 = -16;

/// The log's length, as its writer sees it, and the thread. That ends when this is dropped.
pub(super) struct Checkpoints {
    /// Of the whole log, after the last commit.
    bytes: Arc<AtomicI64>,
    /// Up to here it was given to the thread.
    given: i64,
    /// One that is wanted while another is under way comes after it, and does for all that are wanted until then.
    wanted: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Begins with the database of this directory, which `writer` has open.
    pub(super) fn begin(directory: &Path, writer: &mut Connection) -> Result<Self, StoreError> {
        let page: i64 = writer.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let bytes = Arc::<AtomicI64>::default();
        let counted = Arc::clone(&bytes);
        // In the place of SQLite's own, which checkpoints within the commit.
        writer.wal_hook(Some(move |_: &mut _, pages| {
            counted.store(i64::from(pages) * page, Ordering::Relaxed);
            Ok(())
        }))?;
        let database = directory.join("gatepost.db");
        let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "cache_size", CACHE)?;
        let (wanted, queue) = mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || {
                while queue.recv().is_ok() {
                    checkpoint(&connection);
                }
            })
            .map_err(|error| LockError::Directory(directory.into(), error))?;
        Ok(Self { bytes, given: 0, wanted: Some(wanted), thread: Some(thread) })
    }

    /// Looks at the log after a commit of `writer`, whose callers have their answers.
    pub(super) fn committed(&mut self, writer: &Connection) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        if bytes < self.given {
            // It was begun anew.
            self.given = 0;
        }
        // While somebody reads for long, as a backup does, it comes to nothing, and to look at a long log anew after each commit takes time.
        if bytes >= LONG && self.is_worth_one() {
            checkpoint(writer);
            self.given = bytes;
        } else if bytes - self.given >= WORTH_BUSY {
            self.begin_one();
        }
    }

    /// Whether to begin one as soon as nobody writes.
    pub(super) fn is_worth_one(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) - self.given >= WORTH
    }

    /// Has the log as it is taken into the database, by the thread.
    pub(super) fn begin_one(&mut self) {
        self.given = self.bytes.load(Ordering::Relaxed);
        if let Some(wanted) = &self.wanted {
            // Full: it is about to begin one.
            let _ = wanted.try_send(());
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed already.
            let _ = thread.join();
        }
    }
}

/// Takes what it can of the log into the database, and waits for no reader.
fn checkpoint(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        // The log stays as it is, and whatever is wrong with the disk is said by the next commit.
        tracing::debug!(%error, "the write-ahead log stays as it is");
    }
}

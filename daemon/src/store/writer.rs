//! The thread that writes: what came together is committed together.
//!
//! A commit costs one wait for the disk, whatever is in it. While one waits, others arrive; they share the next. Each piece
//! of work has a savepoint of its own, so that one that fails undoes itself alone, and nobody hears of success before the
//! commit that makes it true.
//!
//! The write-ahead log goes back into the database on a thread of its own ([`Checkpoints`]), while nobody waits ([`QUIET`]) if there is
//! such a moment: SQLite would do it within the commit that makes the log long, and whoever waits for that one waits several times as long.
//!
//! SQLite ends the whole transaction by itself when the disk fails in the midst of it. What comes after that in the same
//! batch is refused: on its own it would be committed, and its caller told that it was not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{Space, StoreError, checkpoint::Checkpoints};

/// Pieces of work that share a commit, at most: more than there are lanes at work in an account and callers at the interface at
/// once, so that none of them waits for two.
const MAX_JOBS_TOGETHER: usize = 256;

/// Nobody has wanted anything for this long.
const QUIET: Duration = Duration::from_millis(5);

/// Does its work in a transaction, or hears why there is none; returns what tells its caller, once the commit has
/// succeeded or failed.
pub(super) type Job = Box<dyn FnOnce(Result<&Transaction<'_>, StoreError>) -> Tell + Send>;
pub(super) type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Works until nobody can send more.
pub(super) fn work(
    connection: &mut Connection,
    queue: &mpsc::Receiver<Job>,
    space: &Space,
    commits: &AtomicU64,
    mut checkpoints: Checkpoints,
) {
    loop {
        let first = match checkpoints.is_worth_one() {
            true => queue.recv_timeout(QUIET),
            false => queue.recv().map_err(RecvTimeoutError::from),
        };
        let first = match first {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                checkpoints.begin_one();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let jobs = std::iter::once(first).chain(queue.try_iter().take(MAX_JOBS_TOGETHER - 1));
        let (replies, committed) = batch(connection, jobs);
        match &committed {
            Ok(()) => {
                commits.fetch_add(1, Ordering::Relaxed);
                space.succeeded();
            }
            Err(error) => space.failed(error),
        }
        for tell in replies {
            tell(committed.clone().map_err(StoreError::Commit));
        }
        checkpoints.committed(connection);
    }
    drop(checkpoints);
    // So that the file of a hub that has stopped is all of it, for whoever copies it.
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::warn!(%error, "the write-ahead log stays beside the database");
    }
}

type Committed = Result<(), Arc<rusqlite::Error>>;

fn batch(connection: &mut Connection, jobs: impl Iterator<Item = Job>) -> (Vec<Tell>, Committed) {
    match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => {
            let replies = jobs
                .map(|job| match transaction.is_autocommit() {
                    false => job(Ok(&transaction)),
                    true => job(Err(StoreError::Commit(Arc::new(ended())))),
                })
                .collect();
            let committed = match transaction.is_autocommit() {
                false => transaction.commit(),
                true => Err(ended()),
            };
            (replies, committed.map_err(Arc::new))
        }
        Err(error) => {
            let error = Arc::new(error);
            let replies = jobs.map(|job| job(Err(StoreError::Commit(Arc::clone(&error))))).collect();
            (replies, Err(error))
        }
    }
}

/// Only a failing disk, or one without room, ends a transaction from within.
fn ended() -> rusqlite::Error {
    let why = "the transaction was ended by a failing disk".to_owned();
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), Some(why))
}

/// Runs `work` so that an error undoes it, and it alone.
pub(super) fn within_savepoint<T, E: From<StoreError>>(
    tx: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let sql = |sql| {
        let done = tx.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|error| E::from(StoreError::Sqlite(error)))
    };
    sql("SAVEPOINT job")?;
    let outcome = work(tx);
    match outcome {
        Ok(_) => sql("RELEASE job")?,
        // With the whole transaction gone, so is this, and the error is the one to tell.
        Err(_) if tx.is_autocommit() => {}
        Err(_) => {
            sql("ROLLBACK TO job")?;
            sql("RELEASE job")?;
        }
    }
    outcome
}

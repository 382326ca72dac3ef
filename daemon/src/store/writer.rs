//! The thread that writes: what came together is committed together.
//!
//! A commit costs one wait for the disk, whatever is in it. While one waits, others arrive; they share the next. Each piece
//! of work has a savepoint of its own, so that one that fails undoes itself alone, and nobody hears of success before the
//! commit that makes it true. Where commits are slow, one waits a little for those who shared the last ([`Round`]).
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
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{Space, StoreError, checkpoint::Checkpoints, rounds::Round};

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
    let (mut last, mut waiting) = (None::<Round>, Vec::<Job>::new());
    loop {
        if waiting.is_empty() {
            let first = match checkpoints.is_worth_one() {
                true => queue.recv_timeout(QUIET),
                false => queue.recv().map_err(RecvTimeoutError::from),
            };
            match first {
                Ok(first) => waiting.push(first),
                Err(RecvTimeoutError::Timeout) => {
                    checkpoints.begin_one();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        gather(&mut waiting, queue, last);
        let more = MAX_JOBS_TOGETHER.saturating_sub(waiting.len());
        let (replies, committed, took) =
            batch(connection, waiting.drain(..).chain(queue.try_iter().take(more)));
        let shared = replies.len();
        match &committed {
            Ok(()) => {
                commits.fetch_add(1, Ordering::Relaxed);
                space.succeeded();
            }
            Err(error) => space.failed(error),
        }
        // Those who came meanwhile, before who is answered now comes again.
        waiting.extend(queue.try_iter().take(MAX_JOBS_TOGETHER));
        for tell in replies {
            tell(committed.clone().map_err(StoreError::Commit));
        }
        last = Some(Round::ended(took, shared + waiting.len()));
        checkpoints.committed(connection);
    }
    drop(checkpoints);
    // So that the file of a hub that has stopped is all of it, for whoever copies it.
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::warn!(%error, "the write-ahead log stays beside the database");
    }
}

/// Adds to what is waiting what has come, and while the disk is slow what comes of the last round's callers.
fn gather(waiting: &mut Vec<Job>, queue: &mpsc::Receiver<Job>, last: Option<Round>) {
    waiting.extend(queue.try_iter().take(MAX_JOBS_TOGETHER.saturating_sub(waiting.len())));
    while waiting.len() < MAX_JOBS_TOGETHER
        && let Some(left) = last.and_then(|round| round.waits(waiting.len(), Instant::now()))
        && let Ok(job) = queue.recv_timeout(left)
    {
        waiting.push(job);
    }
}

type Committed = Result<(), Arc<rusqlite::Error>>;

/// Does this work in one transaction: what tells each caller, what came of it, and how long its commit took.
fn batch(connection: &mut Connection, jobs: impl Iterator<Item = Job>) -> (Vec<Tell>, Committed, Duration) {
    match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => {
            let replies = jobs
                .map(|job| match transaction.is_autocommit() {
                    false => job(Ok(&transaction)),
                    true => job(Err(StoreError::Commit(Arc::new(ended())))),
                })
                .collect();
            let began = Instant::now();
            let committed = match transaction.is_autocommit() {
                false => transaction.commit(),
                true => Err(ended()),
            };
            (replies, committed.map_err(Arc::new), began.elapsed())
        }
        Err(error) => {
            let error = Arc::new(error);
            let replies = jobs.map(|job| job(Err(StoreError::Commit(Arc::clone(&error))))).collect();
            (replies, Err(error), Duration::ZERO)
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

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use super::*;

    #[test]
    fn callers_who_come_again_at_once_share_each_commit_of_a_slow_disk() {
        const CALLERS: usize = 8;
        const ROUNDS: u64 = 4;
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(folder.path().join("gatepost.db")).unwrap();
        connection.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (n)").unwrap();
        let checkpoints = Checkpoints::begin(folder.path(), &mut connection).unwrap();
        // Within the commit, as a sync is; long, so that also on a busy machine all are back within its share.
        let slow = |_: &mut _, _| {
            thread::sleep(Duration::from_millis(800));
            Ok(())
        };
        connection.wal_hook(Some(slow)).unwrap();
        let (space, commits, together) =
            (Space::new(folder.path()), AtomicU64::default(), Barrier::new(CALLERS));
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::scope(|scope| {
            let (connection, space, commits) = (&mut connection, &space, &commits);
            scope.spawn(move || work(connection, &queue, space, commits, checkpoints));
            for _ in 0..CALLERS {
                let (jobs, together) = (jobs.clone(), &together);
                scope.spawn(move || {
                    together.wait();
                    for _ in 0..ROUNDS {
                        let (answer, answered) = mpsc::channel();
                        let job: Job = Box::new(move |tx| {
                            tx.unwrap().execute("INSERT INTO t VALUES (1)", []).unwrap();
                            Box::new(move |committed| answer.send(committed).unwrap())
                        });
                        jobs.send(job).unwrap();
                        answered.recv().unwrap().unwrap();
                        // What a caller does in between.
                        thread::sleep(Duration::from_millis(2));
                    }
                });
            }
            drop(jobs);
        });
        let commits = commits.into_inner();
        // The first has one alone; if each round began with such a one, there would be twice as many.
        assert!((ROUNDS..=ROUNDS + 2).contains(&commits), "{commits} commits for {ROUNDS} rounds");
        let rows: u32 = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(u64::from(rows), CALLERS as u64 * ROUNDS);
    }
}

//! The thread that writes: what came together is committed together.
//!
//! A commit costs one wait for the disk, whatever is in it. While one waits, others arrive; they share the next. Each piece
//! of work has a savepoint of its own, so that one that fails undoes itself alone, and nobody hears of success before the
//! commit that makes it true.

use std::sync::mpsc;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::StoreError;

/// Pieces of work that share a commit, at most.
const TOGETHER: usize = 64;

/// Does its work in a transaction, or hears why there is none; returns what tells its caller, once the commit has
/// succeeded or failed.
pub(super) type Job = Box<dyn FnOnce(Result<&Transaction<'_>, StoreError>) -> Tell + Send>;
pub(super) type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Works until nobody can send more.
pub(super) fn work(connection: &mut Connection, queue: &mpsc::Receiver<Job>) {
    while let Ok(first) = queue.recv() {
        let jobs = std::iter::once(first).chain(queue.try_iter().take(TOGETHER - 1));
        let (told, committed) = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
            Ok(transaction) => {
                let told: Vec<Tell> = jobs.map(|job| job(Ok(&transaction))).collect();
                (told, transaction.commit().map_err(|error| error.to_string()))
            }
            Err(error) => {
                let why = error.to_string();
                (jobs.map(|job| job(Err(StoreError::Commit(why.clone())))).collect(), Err(why))
            }
        };
        for tell in told {
            tell(committed.clone().map_err(StoreError::Commit));
        }
    }
}

/// Runs `work` so that an error undoes it, and it alone.
pub(super) fn within_savepoint<T, E: From<StoreError>>(
    tx: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let sql = |sql| tx.execute_batch(sql).map_err(|error| E::from(StoreError::Sqlite(error)));
    sql("SAVEPOINT job")?;
    let outcome = work(tx);
    match outcome {
        Ok(_) => sql("RELEASE job")?,
        Err(_) => sql("ROLLBACK TO job; RELEASE job")?,
    }
    outcome
}

//! What is done by a delivery is done once, whatever crashes: its outcome is kept under the part's key.

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::Undone;
use crate::{
    channels::{Delivered, Failure, PartKey},
    outbox::{reconcile::message_of, row::MessageRow},
    store::{Store, now_ms},
};

/// Does `work` for the message that a part is of, unless that was done before.
///
/// # Errors
/// It was not done: for good, or until the database works again.
pub(super) async fn once(
    store: &Store,
    key: &PartKey,
    work: impl FnOnce(&Transaction<'_>, &MessageRow, i64) -> Result<String, Undone> + Send + 'static,
) -> Result<Delivered, Failure> {
    let key = key.0.clone();
    let done = store.write(move |tx| {
        let known = tx
            .prepare_cached("SELECT outcome FROM performed WHERE key = ?")?
            .query_row([&key], |row| row.get(0))
            .optional()?;
        if let Some(outcome) = known {
            return Ok(outcome);
        }
        let Some(seq) = message_of(tx, &key)? else {
            return Err(Undone::Never("the message is gone whose part this is".into()));
        };
        let (message, now) = (MessageRow::get(tx, seq)?, now_ms());
        let outcome = work(tx, &message, now)?;
        tx.prepare_cached("INSERT INTO performed (key, outcome, at) VALUES (?, ?, ?)")?
            .execute(params![key, outcome, now])?;
        Ok(outcome)
    });
    done.await.map(Delivered::from).map_err(|undone| match undone {
        Undone::Never(why) => Failure::Permanent(why),
        Undone::Later(why) => Failure::Retry(why),
        Undone::Store(error) => Failure::Retry(error.to_string()),
    })
}

//! How far each account has read its platform.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::arrival::Receiving;
use crate::{
    channels::received::{MAX_POSITION_BYTES, Position},
    store::StoreError,
};

/// Where an account goes on in a stream; nothing if it never read it.
///
/// # Errors
/// The database.
pub fn get(
    db: &Connection,
    channel: &str,
    account: &str,
    stream: &str,
) -> Result<Option<String>, StoreError> {
    let mut look =
        db.prepare_cached("SELECT value FROM positions WHERE channel = ? AND account = ? AND stream = ?")?;
    Ok(look.query_row([channel, account, stream], |row| row.get(0)).optional()?)
}

/// Writes down where an account goes on. One that is too long is left out, and the account comes again where it was.
///
/// # Errors
/// The database.
pub(super) fn set(
    tx: &Transaction<'_>,
    at: &Receiving,
    position: &Position,
    now: i64,
) -> Result<(), StoreError> {
    let Position { stream, value } = position;
    if value.len() > MAX_POSITION_BYTES {
        tracing::error!(at.channel, at.account, stream, "a position is too long to be kept");
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO positions (channel, account, stream, value, at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET value = excluded.value, at = excluded.at",
    )?
    .execute(params![at.channel, at.account, stream, value, now])?;
    Ok(())
}

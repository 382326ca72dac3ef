//! How far each account has read its platform.

use rusqlite::{Connection, OptionalExtension as _};

use crate::store::StoreError;

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

//! What went no further, as it is listed: a message that no agent gets leaves a count, with its reason.

use rusqlite::{Connection, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{clock::rfc3339, store::StoreError};

/// Most lines of one account that are listed: the latest.
const LISTED: u32 = 100;

/// Events of one kind that an account received, and that no agent was told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DroppedEvents {
    /// Why, in a word such as `unreadable`, `unknown_sender` or `too_many`.
    pub reason: String,
    /// Which kind of event, in the platform's own term or the hub's.
    pub what: String,
    /// How many there were, ever.
    pub count: i64,
    /// When the last one came. RFC 3339, UTC.
    pub last_at: String,
}

/// Those of one account, the latest first.
///
/// # Errors
/// The database.
pub fn of_account(db: &Connection, channel: &str, account: &str) -> Result<Vec<DroppedEvents>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT reason, what, count, last_at FROM drops WHERE channel = ? AND account = ?
         ORDER BY last_at DESC, reason, what LIMIT ?",
    )?;
    let rows = rows.query_map(params![channel, account, LISTED], |row| {
        let last_at = rfc3339(row.get(3)?);
        Ok(DroppedEvents { reason: row.get(0)?, what: row.get(1)?, count: row.get(2)?, last_at })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How many there were of each account for each reason: channel, account, reason, count.
///
/// # Errors
/// The database.
pub fn totals(db: &Connection) -> Result<Vec<(String, String, String, i64)>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT channel, account, reason, sum(count) FROM drops GROUP BY channel, account, reason
         ORDER BY channel, account, reason",
    )?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

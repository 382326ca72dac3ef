//! The audit: what happened, in a chain that shows when a row was changed or taken out.
//!
//! A row is appended inside the transaction of the change that it records, so there is no change without its row and
//! no row without its change. Each hash covers the previous one; the head stands in every approval document, so a
//! companion's signature also vouches for everything before it.
//!
//! - [`checkpoint`]: the chain's hash, signed by the hub's key, and what stands for purged rows;
//! - [`beginning`]: from where on the rows of messages have hashes of them;
//! - [`Event`]: what can happen;
//! - [`listing`]: some rows of it, for a person;
//! - [`mod@verify`]: reads all of it, and names what was removed, changed, reordered or cut off.

pub mod beginning;
pub mod checkpoint;
mod event;
mod fault;
mod line;
pub mod listing;
pub mod verify;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::Value;

pub use event::Event;

use crate::store::{StoreError, now_ms};
use line::{LINES, Line, link};

/// One thing that happened.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// Who did it: `agent:NAME`, `companion:NAME`, `hub`, `operator`, or `nobody` for a caller without a token.
    pub actor: &'a str,
    /// What happened.
    pub event: Event,
    /// The message it happened to.
    pub message: Option<&'a str>,
    /// The facts. Never a secret.
    pub detail: Value,
}

/// The number of the newest row; 0 before the first.
pub fn newest(db: &Connection) -> Result<i64, StoreError> {
    Ok(tip(db)?.0)
}

/// The hash of the newest row; zeros before the first.
pub fn head(db: &Connection) -> Result<[u8; 32], StoreError> {
    Ok(tip(db)?.1)
}

/// The number of the newest row and its hash; zeros before the first.
pub(crate) fn tip(db: &Connection) -> Result<(i64, [u8; 32]), StoreError> {
    let mut tip = db.prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?;
    Ok(tip.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?.unwrap_or_default())
}

/// Appends a row to the chain.
pub fn append(tx: &Transaction<'_>, entry: &Entry<'_>) -> Result<(), StoreError> {
    append_all(tx, std::slice::from_ref(entry))
}

/// Appends rows to the chain, one after the other.
pub fn append_all(tx: &Transaction<'_>, entries: &[Entry<'_>]) -> Result<(), StoreError> {
    let (mut seq, mut hash) = tip(tx)?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO audit (seq, at, actor, event, message, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for entry in entries {
        let (at, detail) = (now_ms(), entry.detail.to_string());
        seq += 1;
        hash = link(&hash, seq, at, entry.actor, entry.event.word(), entry.message, &detail);
        insert.execute(params![seq, at, entry.actor, entry.event, entry.message, detail, hash])?;
    }
    Ok(())
}

/// The number that the next row will have.
pub fn next_number(db: &Connection) -> Result<i64, StoreError> {
    Ok(newest(db)? + 1)
}

/// The number of the first row that does not fit its predecessor, if any. [`verify::verify`] also asks who signed.
pub fn first_broken(db: &Connection) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT hash, seq + 1 FROM checkpoints WHERE purged ORDER BY seq DESC LIMIT 1";
    let root = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (mut previous, mut expected): ([u8; 32], i64) = root.unwrap_or(([0; 32], 1));
    let mut lines = db.prepare(&format!("{LINES} ORDER BY seq"))?;
    for line in lines.query_map([], Line::read)? {
        let line = line?;
        if line.seq != expected || line.hash != line.at(&previous, line.seq) {
            return Ok(Some(expected));
        }
        (previous, expected) = (line.hash, expected + 1);
    }
    Ok(None)
}

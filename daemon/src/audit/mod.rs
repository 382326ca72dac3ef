//! The audit: what happened, in a chain that shows when a row was changed or taken out.
//!
//! A row is appended inside the transaction of the change that it records, so there is no change without its row and
//! no row without its change. Each hash covers the previous one; the head stands in every approval document, so a
//! companion's signature also vouches for everything before it.
//!
//! - [`checkpoint`]: the chain's hash, signed by the hub's key, and what stands for purged rows;
//! - [`mod@verify`]: reads all of it, and names what was removed, changed, reordered or cut off.

pub mod checkpoint;
pub mod verify;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::store::{StoreError, now_ms};

/// Separates the chain's hashes from all others.
const DOMAIN: &[u8] = b"gatepost/audit/1";

/// One thing that happened.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// Who did it: `agent:NAME`, `companion:NAME`, `hub`, `operator`, or `nobody` for a caller without a token.
    pub actor: &'a str,
    /// What happened, as `noun.verb`.
    pub event: &'a str,
    /// The message it happened to.
    pub message: Option<&'a str>,
    /// The facts. Never a secret.
    pub detail: Value,
}

/// The hash of the newest row; zeros before the first.
pub fn head(db: &Connection) -> Result<[u8; 32], StoreError> {
    Ok(newest(db)?.1)
}

/// The number of the newest row and its hash; zeros before the first.
fn newest(db: &Connection) -> Result<(i64, [u8; 32]), StoreError> {
    let mut newest = db.prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?;
    Ok(newest.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?.unwrap_or_default())
}

/// Appends a row to the chain.
pub fn append(tx: &Transaction<'_>, entry: &Entry<'_>) -> Result<(), StoreError> {
    append_all(tx, std::slice::from_ref(entry))
}

/// Appends rows to the chain, one after the other.
pub fn append_all(tx: &Transaction<'_>, entries: &[Entry<'_>]) -> Result<(), StoreError> {
    let (mut seq, mut hash) = newest(tx)?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO audit (seq, at, actor, event, message, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for entry in entries {
        let (at, detail) = (now_ms(), entry.detail.to_string());
        seq += 1;
        hash = link(&hash, seq, at, entry.actor, entry.event, entry.message, &detail);
        insert.execute(params![seq, at, entry.actor, entry.event, entry.message, detail, hash])?;
    }
    Ok(())
}

/// The number that the next row will have.
pub fn next_number(db: &Connection) -> Result<i64, StoreError> {
    Ok(newest(db)?.0 + 1)
}

/// The number of the first row that does not fit its predecessor, if any. [`verify::verify`] also asks who signed.
pub fn first_broken(db: &Connection) -> Result<Option<i64>, StoreError> {
    let mut rows =
        db.prepare("SELECT seq, at, actor, event, message, detail, hash FROM audit ORDER BY seq")?;
    let mut rows = rows.query([])?;
    let sql = "SELECT hash, seq + 1 FROM checkpoints WHERE purged ORDER BY seq DESC LIMIT 1";
    let root = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (mut previous, mut expected): ([u8; 32], i64) = root.unwrap_or(([0; 32], 1));
    while let Some(row) = rows.next()? {
        let (seq, actor, event): (i64, String, String) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let (message, detail): (Option<String>, String) = (row.get(4)?, row.get(5)?);
        let hash: [u8; 32] = row.get(6)?;
        let fits = link(&previous, seq, row.get(1)?, &actor, &event, message.as_deref(), &detail);
        if seq != expected || hash != fits {
            return Ok(Some(expected));
        }
        (previous, expected) = (hash, expected + 1);
    }
    Ok(None)
}

fn link(
    previous: &[u8; 32],
    seq: i64,
    at: i64,
    actor: &str,
    event: &str,
    message: Option<&str>,
    detail: &str,
) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(DOMAIN);
    hash.update(previous);
    hash.update(seq.to_be_bytes());
    hash.update(at.to_be_bytes());
    // Lengths go first, so that no two rows can share their bytes by moving a border.
    for field in [actor, event, message.unwrap_or(""), detail] {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().into()
}

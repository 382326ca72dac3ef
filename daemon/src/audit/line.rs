//! One row, and the hash that ties it to the one before.

use sha2::{Digest as _, Sha256};

/// Separates the chain's hashes from all others.
const DOMAIN: &[u8] = b"gatepost/audit/1";

/// A row of the audit.
pub(super) struct Line {
    pub(super) seq: i64,
    at: i64,
    actor: String,
    event: String,
    message: Option<String>,
    detail: String,
    pub(super) hash: [u8; 32],
}

/// Every row; a condition and an order may follow.
pub(super) const LINES: &str = "SELECT seq, at, actor, event, message, detail, hash FROM audit";

impl Line {
    pub(super) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            at: row.get(1)?,
            actor: row.get(2)?,
            event: row.get(3)?,
            message: row.get(4)?,
            detail: row.get(5)?,
            hash: row.get(6)?,
        })
    }

    /// The hash that it would have at this place.
    pub(super) fn at(&self, previous: &[u8; 32], seq: i64) -> [u8; 32] {
        link(previous, seq, self.at, &self.actor, &self.event, self.message.as_deref(), &self.detail)
    }
}

/// A row's hash.
pub(super) fn link(
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

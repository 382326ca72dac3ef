//! What a message says and what it becomes, as hashes for the audit.
//!
//! The row of its acceptance has the hash of what was accepted, and so has every row that changes that; the rows in which it
//! is released and in which it ends have the hash of its requests and of their texts. So what is stored can be held against
//! the audit ([`super::verify`]). They are taken from the columns as they lie there, and not from what a program reads in
//! them: a later one that reads more must come to the same hashes.

use rusqlite::{Connection, types::ValueRef};
use sha2::{Digest as _, Sha256};

use crate::{random::to_hex, store::StoreError};

/// Separates these hashes from all others, and from those of other columns.
const CONTENT_DOMAIN: &[u8] = b"gatepost/message/1";
const PARTS_DOMAIN: &[u8] = b"gatepost/parts/1";

/// All that its agent, its hooks and the door have said of it. Times move with the clock, and states have rows of their own.
const CONTENT: &str =
    "SELECT id, agent, action, deed, channel, account, address, known_as, thread, reply_to, silent, origin,
    text, written, attachments, best_effort, resend, touched FROM messages WHERE seq = ?";
const PARTS: &str = "SELECT idx, key, shown, wire FROM parts WHERE message = ? ORDER BY idx";

/// The hash of what is stored as accepted of the message numbered `seq`.
pub fn content(db: &Connection, seq: i64) -> Result<String, StoreError> {
    hash(db, CONTENT_DOMAIN, CONTENT, seq)
}

/// The hash of the requests that it becomes, and of the texts that a person is shown for them.
pub fn parts(db: &Connection, seq: i64) -> Result<String, StoreError> {
    hash(db, PARTS_DOMAIN, PARTS, seq)
}

fn hash(db: &Connection, domain: &[u8], sql: &str, seq: i64) -> Result<String, StoreError> {
    let mut hash = Sha256::new_with_prefix(domain);
    let mut statement = db.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([seq])?;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            // A kind and a length go first, so that no two rows can share their bytes by moving a border.
            let number;
            let (kind, bytes): (u8, &[u8]) = match row.get_ref(column)? {
                ValueRef::Null => (0, &[]),
                ValueRef::Integer(value) => {
                    number = value.to_be_bytes();
                    (1, &number)
                }
                ValueRef::Real(value) => {
                    number = value.to_be_bytes();
                    (2, &number)
                }
                ValueRef::Text(text) => (3, text),
                ValueRef::Blob(blob) => (4, blob),
            };
            hash.update([kind]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
    }
    Ok(to_hex(&hash.finalize()))
}

//! What a message says and what it becomes, as hashes for the audit.
//!
//! The row of its acceptance has the hash of what was accepted, and so has every row that changes that; the rows in which it
//! is released and in which it ends have the hash of its requests and of their texts; and from its end on a row has the hash of
//! how it ended. So what is stored can be held against the audit ([`super::verify`]). They are taken from the columns as they
//! lie there, and not from what a program reads in them: a later one that reads more must come to the same hashes.

use rusqlite::{Connection, types::ValueRef};
use sha2::{Digest as _, Sha256};

use crate::{random::to_hex, store::StoreError};

/// Separates these hashes from all others, and from those of other columns.
const CONTENT_DOMAIN: &[u8] = b"gatepost/message/2";
const OLDER_CONTENT_DOMAIN: &[u8] = b"gatepost/message/1";
const PARTS_DOMAIN: &[u8] = b"gatepost/parts/1";
const OUTCOME_DOMAIN: &[u8] = b"gatepost/outcome/1";

/// All that its agent, its hooks and the interface have said of it. Times move with the clock, and states have rows of their own.
const CONTENT: &str =
    "SELECT id, agent, action, deed, channel, account, account_is, address, written_as, unidentified, known_as, thread, reply_to,
    silent, origin, text, written, attachments, best_effort, resend, touched, idempotency_key, fingerprint
    FROM messages WHERE seq = ?";
/// The session that it is said in: a row of its own, so that what was accepted before there was one has the hash that it had.
const SESSION: &str = "SELECT session FROM messages WHERE seq = ? AND session IS NOT NULL";
/// The columns that an older program hashed.
const OLDER_CONTENT: &str =
    "SELECT id, agent, action, deed, channel, account, address, known_as, thread, reply_to, silent, origin,
    text, written, attachments, best_effort, resend, touched FROM messages WHERE seq = ?";
const PARTS: &str = "SELECT idx, key, shown, wire FROM parts WHERE message = ? ORDER BY idx";
/// How it ended, in one row for the message and one for each part: nothing of this changes after an end without a row.
const OUTCOME: [&str; 2] = [
    "SELECT state, code, reason, history, accepted_at, deadline, due_at, attempts, hooked_at, released, ended_at, ended_seq
     FROM messages WHERE seq = ?",
    "SELECT idx, state, first_sent_at, platform_id, error, position, questions, recipients
     FROM parts WHERE message = ? ORDER BY idx",
];

/// The hash of what is stored as accepted of the message numbered `seq`.
pub fn content(db: &Connection, seq: i64) -> Result<String, StoreError> {
    hash(db, CONTENT_DOMAIN, &[CONTENT, SESSION], seq)
}

/// The same as an older program took it, from fewer columns.
pub fn older_content(db: &Connection, seq: i64) -> Result<String, StoreError> {
    hash(db, OLDER_CONTENT_DOMAIN, &[OLDER_CONTENT], seq)
}

/// The hash of the requests that it becomes, and of the texts that a person is shown for them.
pub fn parts(db: &Connection, seq: i64) -> Result<String, StoreError> {
    hash(db, PARTS_DOMAIN, &[PARTS], seq)
}

/// The hash of how it ended, and of what became of its parts.
pub fn outcome(db: &Connection, seq: i64) -> Result<String, StoreError> {
    hash(db, OUTCOME_DOMAIN, &OUTCOME, seq)
}

fn hash(db: &Connection, domain: &[u8], queries: &[&str], seq: i64) -> Result<String, StoreError> {
    let mut hash = Sha256::new_with_prefix(domain);
    for sql in queries {
        add(&mut hash, db, sql, seq)?;
    }
    Ok(to_hex(&hash.finalize()))
}

/// Adds all rows of a query.
fn add(hash: &mut Sha256, db: &Connection, sql: &str, seq: i64) -> Result<(), StoreError> {
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
    Ok(())
}

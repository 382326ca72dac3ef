//! Whether an event was received before: by what its platform names it, or by all that it says.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};

use super::arrival::Receiving;
use crate::{channels::received::Received, store::StoreError};

/// The same words of the same author within this are a repetition on a platform that names no ids, in milliseconds.
pub const REPEATED_MS: i64 = 30_000;

/// By what an event is known when it comes again: what its platform names it, or its words.
pub(crate) fn key_of(at: &Receiving, received: &Received) -> [u8; 32] {
    let mut hash = Sha256::new();
    // The same message may be reacted to, and edited, again and again: what has no name of its own is known by all that it says.
    let what = match received.key.is_empty() {
        true => format!("{:?} {:?}", received.message_id, received.event),
        false => String::new(),
    };
    let kind = received.event.word();
    let rest: [&str; 3] = match received.key.is_empty() {
        false => [&received.key, "", ""],
        true => [&received.conversation.address, &received.author.id, &what],
    };
    for part in [at.channel.as_str(), &at.account, kind].iter().chain(&rest) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Whether the same event was received before.
pub(crate) fn was_received(
    db: &Connection,
    key: &[u8; 32],
    received: &Received,
    now: i64,
) -> Result<bool, StoreError> {
    let mut look = db.prepare_cached("SELECT at FROM inbound_keys WHERE key = ?")?;
    let before: Option<i64> = look.query_row([key], |row| row.get(0)).optional()?;
    let named = !received.key.is_empty();
    Ok(before.is_some_and(|before| named || now - before < REPEATED_MS))
}

/// What was received by this key was not taken after all.
pub(super) fn forget(tx: &Transaction<'_>, key: &[u8; 32]) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM inbound_keys WHERE key = ?")?.execute([key])?;
    Ok(())
}

/// The same; from now on it was.
pub(super) fn is_repeated(
    tx: &Transaction<'_>,
    at: &Receiving,
    received: &Received,
    now: i64,
) -> Result<bool, StoreError> {
    let key = key_of(at, received);
    let is_repeated = was_received(tx, &key, received, now)?;
    if !is_repeated {
        tx.prepare_cached("INSERT OR REPLACE INTO inbound_keys (key, at) VALUES (?, ?)")?
            .execute(params![key, now])?;
    }
    Ok(is_repeated)
}

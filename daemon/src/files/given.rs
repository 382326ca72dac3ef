//! Files that an agent was told of: they came with words that stand in a turn of its own, or of which it has a context.
//!
//! Such a file is its agent's to read, and to send on as far as it may send, for as long as the words are kept. That another agent knows
//! its hash gives that one nothing; and a turn that nobody has taken yet has told nothing.

use gatepost_link::Digest;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{message::attachment::Attachment, store::StoreError};

/// What somebody called a file that this agent was told of; nothing, if it was told of none that is this one.
///
/// # Errors
/// The database.
pub fn given(db: &Connection, agent: &str, digest: &Digest) -> Result<Option<String>, StoreError> {
    let sql = "SELECT inbound.facts ->> '$.files' FROM inbound_files AS file JOIN inbound ON inbound.seq = file.inbound
        WHERE file.digest = ?1 AND (
            EXISTS (SELECT 1 FROM turn_items AS item JOIN turns ON turns.seq = item.turn
                WHERE item.inbound = file.inbound AND item.agent = ?2 AND turns.attempts > 0)
            OR EXISTS (SELECT 1 FROM contexts WHERE contexts.inbound = file.inbound AND contexts.agent = ?2))
        ORDER BY inbound.seq DESC LIMIT 1";
    let told: Option<Option<String>> =
        db.prepare_cached(sql)?.query_row(params![digest.0, agent], |row| row.get(0)).optional()?;
    Ok(told.map(|files| {
        let files: Vec<Attachment> =
            files.and_then(|files| serde_json::from_str(&files).ok()).unwrap_or_default();
        let named = files.into_iter().find(|file| file.sha256 == *digest);
        named.map_or_else(|| digest.to_string(), |file| file.name)
    }))
}

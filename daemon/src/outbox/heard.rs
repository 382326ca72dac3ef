//! What an account's own messages were, for who hears from its platform of them.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::StoreError;

/// Looks through all messages: for once in the life of a hub.
const NEWEST: &str = "SELECT parts.wire FROM messages JOIN parts ON parts.message = messages.seq
    WHERE messages.action = ? AND messages.channel = ? AND messages.account = ? AND messages.state = 'sent'
    ORDER BY messages.ended_seq DESC, parts.idx LIMIT 1";

/// The request of the newest message with this action that an account has sent.
pub fn newest_sent(
    db: &Connection,
    (channel, account): (&str, &str),
    action: &str,
) -> Result<Option<String>, StoreError> {
    Ok(db.prepare(NEWEST)?.query_row(params![action, channel, account], |row| row.get(0)).optional()?)
}

//! Edits that are messages of their own: which message an edit's receipt means, and which revision is the newest.
//!
//! Where an edit is a message of its own, its receipt has an id of its own. Whoever names that means the message that was
//! edited, so it is taken for the first one's everywhere; only the request that leaves names the newest revision, which is
//! known when it leaves and not before.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Outbox, row::MessageRow};
use crate::{message::target::Target, store::StoreError};

/// The condition of the index `messages_edits`. SQLite uses that index only where it stands word for word.
macro_rules! is_edit {
    () => {
        "deed ->> '$.do' = 'edit'"
    };
}

pub(super) const FIRST: &str = concat!(
    "SELECT messages.deed ->> '$.message' FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.platform_id = ?1 AND messages.channel = ?2 AND messages.account = ?3 AND messages.address = ?4
        AND messages.",
    is_edit!(),
    " ORDER BY messages.seq DESC LIMIT 1"
);

pub(super) const NEWEST: &str = concat!(
    "SELECT parts.platform_id FROM messages JOIN parts ON parts.message = messages.seq
    WHERE deed ->> '$.message' = ?1 AND ",
    is_edit!(),
    " AND channel = ?2 AND account = ?3 AND address = ?4
        AND parts.state = 'confirmed' AND parts.platform_id IS NOT NULL
    ORDER BY ended_seq DESC LIMIT 1"
);

/// Of the first part alone, which is the one that quotes.
pub(super) const QUOTE: &str =
    "SELECT messages.reply_to FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.platform_id = ?1 AND messages.channel = ?2 AND messages.account = ?3 AND messages.address = ?4
        AND parts.idx = 0 AND messages.deed IS NULL AND messages.reply_to IS NOT NULL
    ORDER BY messages.seq DESC LIMIT 1";

/// A message of an account in a conversation, by any of these names.
pub struct Edited<'a> {
    /// The account.
    pub account: &'a str,
    /// The conversation.
    pub target: &'a Target,
    /// What it may be called.
    pub names: &'a [String],
}

impl Edited<'_> {
    /// The message that was edited, where this is an edit of one.
    pub fn first(&self, db: &Connection) -> Result<Option<String>, StoreError> {
        self.find(db, FIRST)
    }

    /// The message that it quotes.
    pub fn quote(&self, db: &Connection) -> Result<Option<String>, StoreError> {
        self.find(db, QUOTE)
    }

    fn find(&self, db: &Connection, sql: &str) -> Result<Option<String>, StoreError> {
        let mut find = db.prepare_cached(sql)?;
        for name in self.names {
            let one = params![name, self.target.channel, self.account, self.target.address];
            if let Some(found) = find.query_row(one, |row| row.get(0)).optional()? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl Outbox {
    /// The newest revision of the message that this one is done to, if it was edited.
    pub fn newest_revision(&self, of: &MessageRow) -> Result<Option<String>, StoreError> {
        let Some(message) = of.operation.message() else { return Ok(None) };
        self.store.look(|db| {
            let one = params![message, of.channel, of.account, of.address];
            Ok(db.prepare_cached(NEWEST)?.query_row(one, |row| row.get(0)).optional()?)
        })
    }
}

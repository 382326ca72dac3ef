//! The message that another one answers, by what the hub has sent and heard itself: its words and its author.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{message::target::Target, render::without_spoilers, store::StoreError};

/// The longest text that is handed on, in characters.
const MAX_TEXT: u32 = 4_000;

/// What is known of a message that is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Who wrote it; nothing of one that the hub sent.
    pub author: Option<String>,
    /// What it says.
    pub text: String,
}

const SENT: &str = "SELECT substr(parts.shown, 1, ?5)
    FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.platform_id = ?1 AND messages.channel = ?2 AND messages.account = ?3 AND messages.address = ?4
        AND coalesce(messages.deed ->> '$.do', 'send') IN ('send', 'poll')
    ORDER BY messages.seq DESC LIMIT 1";

const HEARD: &str = "SELECT sender, substr(text, 1, ?5) FROM inbound
    WHERE platform_id = ?1 AND channel = ?2 AND account = ?3 AND peer = ?4
    ORDER BY seq DESC LIMIT 1";

/// The message of a conversation that has one of these names, if the hub knows it.
pub fn known(
    db: &Connection,
    target: &Target,
    account: &str,
    names: &[String],
) -> Result<Option<Known>, StoreError> {
    let (mut sent, mut heard) = (db.prepare_cached(SENT)?, db.prepare_cached(HEARD)?);
    for name in names {
        let one = params![name, target.channel, account, target.address, MAX_TEXT];
        let heard = heard.query_row(one, |row| Ok(Known { author: row.get(0)?, text: row.get(1)? }));
        // A quote stands open under the answer.
        let own = |row: &rusqlite::Row<'_>| {
            Ok(Known { author: None, text: without_spoilers(&row.get::<_, String>(0)?) })
        };
        let found = match heard.optional()? {
            None => sent.query_row(one, own).optional()?,
            heard => heard,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

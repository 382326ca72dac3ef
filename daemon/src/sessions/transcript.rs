//! What was said in a session, both ways, in order: what people wrote to the agent there, and what arrived of what it said.

use rusqlite::{Connection, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{clock::Time, message::target::Target, store::StoreError};

/// A line of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SessionLine)]
pub struct Line {
    /// Whether the agent said it.
    pub mine: bool,
    /// The agent, or what the author calls themselves, or their id.
    pub who: String,
    /// Where, as a target.
    pub place: String,
    /// When it was said, or arrived (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// `message`, `edit` and so on.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// The number of its row: among what people wrote, a later one is greater.
    #[serde(skip)]
    pub seq: i64,
}

/// The newest lines of an agent's session, oldest first. A message of the agent's stands there as far as it arrived: also one that it
/// sent first, into the session of its destination.
///
/// # Errors
/// The database.
pub fn read(db: &Connection, agent: &str, session: &str, limit: u32) -> Result<Vec<Line>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT mine, who, channel, address, thread, at, kind, text, seq FROM (
             SELECT 0 AS mine, coalesce(facts ->> '$.name', sender, '') AS who, channel, peer AS address, thread,
                 coalesce(said_at, at) AS at, kind, text, seq
             FROM inbound WHERE seq IN (
                 SELECT inbound FROM turn_items WHERE agent = ?1 AND session = ?2
                 UNION SELECT inbound FROM contexts WHERE agent = ?1 AND session = ?2)
             UNION ALL
             SELECT 1, agent, channel, address, thread, coalesce(ended_at, accepted_at), action,
                 (SELECT group_concat(shown, char(10)) FROM (SELECT shown FROM parts
                     WHERE message = messages.seq AND state = 'confirmed' ORDER BY idx)), seq
             FROM messages WHERE agent = ?1 AND ended_at IS NOT NULL
                 AND EXISTS (SELECT 1 FROM parts WHERE message = messages.seq AND state = 'confirmed')
                 AND (origin ->> '$.session' = ?2 AND address = coalesce(origin ->> '$.place.address', address)
                     OR EXISTS (SELECT 1 FROM sessions WHERE sessions.agent = ?1 AND session = ?2
                         AND sessions.channel = messages.channel AND sessions.account = messages.account
                         AND sessions.address = messages.address
                         AND (sessions.thread = coalesce(messages.thread, '') OR sessions.thread = '')))
             ORDER BY at DESC, mine DESC, seq DESC LIMIT ?3)
         ORDER BY at, mine, seq",
    )?;
    let rows = rows.query_map(params![agent, session, limit], |row| {
        let place = Target { channel: row.get(2)?, address: row.get(3)?, thread: row.get(4)? };
        Ok(Line {
            mine: row.get(0)?,
            who: row.get(1)?,
            place: place.to_string(),
            at: Time(row.get(5)?),
            kind: row.get(6)?,
            text: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
            seq: row.get(8)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

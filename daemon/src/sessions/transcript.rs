//! What was said in a session, both ways, in order: what people wrote to the agent there, and what arrived of what it said. A task that was
//! due stands there as a line of its kind.

use rusqlite::{Connection, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{clock::Time, message::target::Target, policy::Scope, store::StoreError};

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
    /// When it came to the hub, or arrived (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// `message`, `edit` and so on.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// How far its author was trusted when it came; null for what the agent said, and for what a bridge reported to the agent itself.
    pub scope: Option<Scope>,
    /// The number of its row: among what people wrote, a later one is greater.
    #[serde(skip)]
    pub seq: i64,
}

/// What people wrote: what stands in turns of the session, and what bridges reported for it.
const HEARD: &str = "SELECT 0, CASE kind WHEN 'task' THEN ?1 ELSE coalesce(facts ->> '$.name', sender, '') END, channel, peer, thread, at,
         kind, text, seq, scope
     FROM inbound WHERE seq IN (
         SELECT inbound FROM (SELECT inbound FROM turn_items WHERE agent = ?1 AND session = ?2 ORDER BY inbound DESC LIMIT ?3)
         UNION SELECT inbound FROM (SELECT inbound FROM contexts WHERE agent = ?1 AND session = ?2 ORDER BY inbound DESC LIMIT ?3))";

/// What arrived of what the agent said.
const SAID: &str = "SELECT 1, agent, channel, address, thread, ended_at, action,
         (SELECT group_concat(shown, char(10)) FROM (SELECT shown FROM parts
             WHERE message = messages.seq AND state = 'confirmed' ORDER BY idx)), seq, NULL
     FROM messages WHERE agent = ?1 AND session = ?2 AND ended_at IS NOT NULL
         AND EXISTS (SELECT 1 FROM parts WHERE message = messages.seq AND state = 'confirmed')
     ORDER BY ended_at DESC LIMIT ?3";

/// The newest of both, in the order of the hub's clock: platforms tell the time to the second, and each by its own.
fn both() -> String {
    format!(
        "SELECT * FROM (SELECT * FROM ({HEARD}) UNION ALL SELECT * FROM ({SAID}) ORDER BY 6 DESC, 1 DESC, 9 DESC LIMIT ?3)
         ORDER BY 6, 1, 9"
    )
}

/// The newest lines of an agent's session, oldest first. A message of the agent's stands there as far as it arrived: also one that it
/// sent first, into the session of its destination.
///
/// # Errors
/// The database.
pub fn read(db: &Connection, agent: &str, session: &str, limit: u32) -> Result<Vec<Line>, StoreError> {
    let mut rows = db.prepare_cached(&both())?;
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
            scope: row.get(9)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;

//! Where an agent speaks with whom, and in which of its sessions: what it sends first and what is answered to it belong together.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{clock::Time, store::StoreError};

/// A conversation of one of the hub's accounts, or a thread in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The channel.
    pub channel: String,
    /// The hub's account there.
    pub account: String,
    /// The conversation.
    pub address: String,
    /// The thread in it.
    pub thread: Option<String>,
}

impl Place {
    /// The session of a conversation that no route names: one for all of its threads.
    pub fn session(&self) -> String {
        format!("{}/{}:{}", self.channel, self.account, self.address)
    }
}

/// Who opened a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedBy {
    /// Somebody wrote to the agent.
    Person,
    /// The agent wrote first.
    Agent,
}

impl OpenedBy {
    const fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
        }
    }
}

/// The session in which an agent speaks at a place, if it has one there, and when somebody last spoke in it, in milliseconds.
///
/// # Errors
/// The database.
pub fn find(db: &Connection, agent: &str, place: &Place) -> Result<Option<(String, i64)>, StoreError> {
    let mut look = db.prepare_cached(
        "SELECT session, last_at FROM sessions
         WHERE agent = ? AND channel = ? AND account = ? AND address = ? AND thread = ?",
    )?;
    let thread = place.thread.as_deref().unwrap_or_default();
    let found = look.query_row(params![agent, place.channel, place.account, place.address, thread], |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    Ok(found.optional()?)
}

/// Writes down that somebody spoke at a place. The session is `session` if the agent has none there; which it is.
///
/// # Errors
/// The database.
pub fn note(
    tx: &Transaction<'_>,
    agent: &str,
    place: &Place,
    session: &str,
    by: OpenedBy,
    now: i64,
) -> Result<String, StoreError> {
    let mut write = tx.prepare_cached(
        "INSERT INTO sessions (agent, channel, account, address, thread, session, opened_by, at, last_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
         ON CONFLICT DO UPDATE SET last_at = excluded.last_at RETURNING session",
    )?;
    let Place { channel, account, address, thread } = place;
    let thread = thread.as_deref().unwrap_or_default();
    Ok(write
        .query_row(params![agent, channel, account, address, thread, session, by.word(), now], |row| {
            row.get(0)
        })?)
}

/// A session of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Session {
    /// The agent.
    pub agent: String,
    /// Its name.
    pub session: String,
    /// The conversations and threads in it, as targets.
    pub places: Vec<String>,
    /// Who spoke first: `person` or `agent`.
    pub opened_by: String,
    /// When it was opened (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// When somebody last spoke in it (RFC 3339).
    #[schema(value_type = String)]
    pub last_at: Time,
}

/// The sessions of an agent, or of all; those first in which somebody spoke last.
///
/// # Errors
/// The database.
pub fn list(db: &Connection, agent: Option<&str>, limit: u32) -> Result<Vec<Session>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT agent, session, json_group_array(channel || ':' || address || iif(thread = '', '', '#' || thread)),
             min(opened_by), min(at), max(last_at) AS last
         FROM sessions WHERE ?1 IS NULL OR agent = ?1 GROUP BY agent, session ORDER BY last DESC LIMIT ?2",
    )?;
    let rows = rows.query_map(params![agent, limit], |row| {
        let places: String = row.get(2)?;
        Ok(Session {
            agent: row.get(0)?,
            session: row.get(1)?,
            places: serde_json::from_str(&places).unwrap_or_default(),
            opened_by: row.get(3)?,
            at: Time(row.get(4)?),
            last_at: Time(row.get(5)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

//! What a person is told of turns: which wait, which are at work, which have failed, and what stands in them.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    Cause, TurnState,
    items::{Item, items},
};
use crate::{clock::Time, message::target::Target, people::People, policy::Scope, store::StoreError};

/// A turn, as a person is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TurnRow {
    /// Its id.
    pub turn: String,
    /// The agent.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// What woke the agent.
    pub cause: Cause,
    /// How far its words are trusted.
    pub scope: Scope,
    /// The conversation, as a target.
    pub target: Option<String>,
    /// Where it is.
    pub state: TurnState,
    /// How often it was given out.
    pub attempts: u32,
    /// What became of it, or of its last attempt.
    pub outcome: Option<String>,
    /// When it began (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// When it can be taken (RFC 3339).
    #[schema(value_type = String)]
    pub due_at: Time,
    /// When it ended (RFC 3339).
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<Time>,
}

/// Which turns are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this agent's.
    pub agent: Option<String>,
    /// Only in this state.
    pub state: Option<TurnState>,
    /// At most so many, the newest.
    pub limit: u32,
}

const COLUMNS: &str =
    "id, agent, session, cause, scope, channel, address, thread, state, attempts, outcome, at, due_at,
    ended_at, seq";

fn read(row: &Row<'_>) -> rusqlite::Result<TurnRow> {
    let channel: Option<String> = row.get(5)?;
    let target = match channel {
        Some(channel) => Some(Target { channel, address: row.get(6)?, thread: row.get(7)? }.to_string()),
        None => None,
    };
    Ok(TurnRow {
        turn: row.get(0)?,
        agent: row.get(1)?,
        session: row.get(2)?,
        cause: row.get(3)?,
        scope: row.get(4)?,
        target,
        state: row.get(8)?,
        attempts: row.get(9)?,
        outcome: row.get(10)?,
        at: Time(row.get(11)?),
        due_at: Time(row.get(12)?),
        ended_at: row.get::<_, Option<i64>>(13)?.map(Time),
    })
}

/// The newest turns.
///
/// # Errors
/// The database.
pub fn list(db: &Connection, filter: &Filter) -> Result<Vec<TurnRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM turns WHERE (?1 IS NULL OR agent = ?1) AND (?2 IS NULL OR state = ?2)
         ORDER BY seq DESC LIMIT ?3"
    );
    let mut rows = db.prepare_cached(&sql)?;
    let rows = rows.query_map(params![filter.agent, filter.state, filter.limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// A turn and what stands in it; only one of `agent`, if one is named.
///
/// # Errors
/// The database.
pub fn show(
    db: &Connection,
    id: &str,
    agent: Option<&str>,
    people: &People,
) -> Result<Option<(TurnRow, Vec<Item>)>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM turns WHERE id = ?1 AND (?2 IS NULL OR agent = ?2)");
    let found = db
        .prepare_cached(&sql)?
        .query_row(params![id, agent], |row| Ok((read(row)?, row.get::<_, i64>(14)?)))
        .optional()?;
    let Some((turn, seq)) = found else { return Ok(None) };
    Ok(Some((turn, items(db, seq, None, people)?.items)))
}

/// How many turns are in each state but `done`: waiting, leased, failed.
///
/// # Errors
/// The database.
pub fn counts(db: &Connection) -> Result<[u32; 3], StoreError> {
    let sql = "SELECT count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE state = 'leased'),
         count(*) FILTER (WHERE state = 'failed') FROM turns WHERE state <> 'done'";
    Ok(db.prepare_cached(sql)?.query_row([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?)
}

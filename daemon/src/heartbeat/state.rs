//! What the database remembers of each agent's heartbeat, so that a restart makes none early, none twice, and forgives nothing.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::json;

use super::MAX_FAILURES;
use crate::{message::MessageId, outbox::notices, store::StoreError};

/// How long the same text is not said again to the same target, in milliseconds.
pub const SAID_MS: i64 = 24 * 3_600_000;
/// By which its notices are known among those about messages.
pub const NOTICES: &str = "heartbeat";
/// The most notices of an agent's heartbeat that are kept.
const MAX_NOTICES: u32 = 20;

/// An agent's heartbeat. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// When it is looked at next.
    pub next_at: i64,
    /// When it last opened a turn.
    pub last_at: Option<i64>,
    /// The turn that it last opened, while nobody has looked how that ended.
    pub turn: Option<String>,
    /// The message with its text, likewise.
    pub message: Option<String>,
    /// The day of its time zone on which it last opened one.
    pub day: Option<String>,
    /// How many it opened on that day.
    pub today: u32,
    /// How many failed in a row.
    pub failures: u32,
    /// Since when it is stopped.
    pub stopped_at: Option<i64>,
    /// The newest notice of the inbox that it knew of.
    pub seen_notice: i64,
    /// The newest kept message that it knew of.
    pub seen_kept: i64,
}

/// An agent's heartbeat, if there was one.
///
/// # Errors
/// The database.
pub fn get(db: &Connection, agent: &str) -> Result<Option<State>, StoreError> {
    let mut look = db.prepare_cached(
        "SELECT next_at, last_at, turn, message, day, today, failures, stopped_at, seen_notice, seen_kept
         FROM heartbeats WHERE agent = ?",
    )?;
    let found = look.query_row([agent], |row| {
        Ok(State {
            next_at: row.get(0)?,
            last_at: row.get(1)?,
            turn: row.get(2)?,
            message: row.get(3)?,
            day: row.get(4)?,
            today: row.get(5)?,
            failures: row.get(6)?,
            stopped_at: row.get(7)?,
            seen_notice: row.get(8)?,
            seen_kept: row.get(9)?,
        })
    });
    Ok(found.optional()?)
}

/// It is looked at next at `next_at`.
///
/// # Errors
/// The database.
pub fn put_off(tx: &Transaction<'_>, agent: &str, next_at: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO heartbeats (agent, next_at) VALUES (?, ?)
         ON CONFLICT DO UPDATE SET next_at = excluded.next_at",
    )?
    .execute(params![agent, next_at])?;
    Ok(())
}

/// It has opened a turn.
///
/// # Errors
/// The database.
pub fn opened(tx: &Transaction<'_>, agent: &str, state: &State) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE heartbeats SET next_at = ?2, last_at = ?3, turn = ?4, message = NULL, day = ?5, today = ?6,
             seen_notice = ?7, seen_kept = ?8 WHERE agent = ?1",
    )?
    .execute(params![
        agent,
        state.next_at,
        state.last_at,
        state.turn,
        state.day,
        state.today,
        state.seen_notice,
        state.seen_kept
    ])?;
    Ok(())
}

/// How the last heartbeat ended, if it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// As it should.
    Well,
    /// Not, and why.
    Failed(String),
    /// It has not, or nobody waits for that.
    NotYet,
}

/// How the last heartbeat ended: its turn, and the message with its text.
///
/// # Errors
/// The database.
pub fn ended(db: &Connection, state: &State) -> Result<Ended, StoreError> {
    let Some(turn) = &state.turn else { return Ok(Ended::NotYet) };
    let mut look = db.prepare_cached("SELECT state, coalesce(outcome, '') FROM turns WHERE id = ?")?;
    let found: Option<(String, String)> =
        look.query_row([turn], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    match found {
        Some((state, outcome)) if state == "failed" => {
            return Ok(Ended::Failed(format!("its turn failed: {outcome}")));
        }
        // Its retention is over.
        None => return Ok(Ended::Well),
        Some((state, _)) if state != "done" => return Ok(Ended::NotYet),
        Some(_) => {}
    }
    let Some(message) = &state.message else { return Ok(Ended::Well) };
    let mut look = db.prepare_cached("SELECT state, coalesce(reason, '') FROM messages WHERE id = ?")?;
    let found: Option<(String, String)> =
        look.query_row([message], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(match found {
        None => Ended::Well,
        Some((state, _)) if ["sent", "cancelled", "denied"].contains(&state.as_str()) => Ended::Well,
        Some((state, reason)) if ["failed", "expired", "unknown"].contains(&state.as_str()) => {
            Ended::Failed(format!("its message is {state}: {reason}"))
        }
        Some(_) => Ended::NotYet,
    })
}

/// Writes down how the last heartbeat ended; whether it is stopped by that. Whoever reads the inbox is told then, once.
///
/// # Errors
/// The database.
pub fn settle(tx: &Transaction<'_>, agent: &str, ended: &Ended, now: i64) -> Result<bool, StoreError> {
    let why = match ended {
        Ended::NotYet => return Ok(false),
        Ended::Well => {
            let sql = "UPDATE heartbeats SET turn = NULL, message = NULL, failures = 0 WHERE agent = ?";
            tx.prepare_cached(sql)?.execute([agent])?;
            return Ok(false);
        }
        Ended::Failed(why) => why,
    };
    let failures: u32 = tx
        .prepare_cached(
            "UPDATE heartbeats SET turn = NULL, message = NULL, failures = failures + 1 WHERE agent = ?
             RETURNING failures",
        )?
        .query_row([agent], |row| row.get(0))?;
    if failures < MAX_FAILURES {
        return Ok(false);
    }
    let stopped = "UPDATE heartbeats SET stopped_at = ? WHERE agent = ? AND stopped_at IS NULL";
    if tx.prepare_cached(stopped)?.execute(params![now, agent])? == 0 {
        return Ok(false);
    }
    let error =
        format!("the heartbeat is stopped: it failed {failures} times in a row, at last because {why}");
    tell(tx, agent, &error, "ask the operator to mend that and to run: gatepost reload", now)?;
    Ok(true)
}

/// Lets heartbeats go on that are stopped.
///
/// # Errors
/// The database.
pub fn resume(tx: &Transaction<'_>) -> Result<(), StoreError> {
    tx.execute("UPDATE heartbeats SET stopped_at = NULL, failures = 0 WHERE stopped_at IS NOT NULL", [])?;
    Ok(())
}

/// Tells whoever reads the agent's inbox what is wrong with its heartbeat, unless that was the last thing that it was told of.
///
/// # Errors
/// The database.
pub fn tell_once(
    tx: &Transaction<'_>,
    agent: &str,
    error: &str,
    hint: &str,
    now: i64,
) -> Result<bool, StoreError> {
    let told = "UPDATE heartbeats SET told = ?2 WHERE agent = ?1 AND told IS NOT ?2";
    if tx.prepare_cached(told)?.execute([agent, error])? == 0 {
        return Ok(false);
    }
    tell(tx, agent, error, hint, now)?;
    Ok(true)
}

/// A notice has the shape of a receipt, of a message that there is not.
fn tell(tx: &Transaction<'_>, agent: &str, error: &str, hint: &str, now: i64) -> Result<(), StoreError> {
    let notice = json!({
        "ok": false, "id": MessageId::new(), "state": "failed", "code": "execution_failed", "error": error, "hint": hint,
        "to": NOTICES, "parts": [],
    });
    notices::insert(tx, agent, NOTICES, &notice.to_string(), now, None)?;
    tx.prepare_cached(
        "DELETE FROM inbox WHERE agent = ?1 AND message = ?2 AND seq NOT IN (
             SELECT seq FROM inbox WHERE agent = ?1 AND message = ?2 ORDER BY seq DESC LIMIT ?3)",
    )?
    .execute(params![agent, NOTICES, MAX_NOTICES])?;
    Ok(())
}

/// Whether a text was said to a target within the last day. What did not arrive was not said.
///
/// # Errors
/// The database.
pub fn was_said(
    db: &Connection,
    agent: &str,
    target: &str,
    hash: &[u8; 32],
    now: i64,
) -> Result<bool, StoreError> {
    let mut look = db.prepare_cached(
        "SELECT 1 FROM heartbeat_texts AS text LEFT JOIN messages ON messages.id = text.message
         WHERE text.agent = ?1 AND text.target = ?2 AND text.hash = ?3 AND text.at > ?4
             AND coalesce(messages.state, 'sent') NOT IN ('failed', 'denied', 'expired', 'cancelled')",
    )?;
    Ok(look.exists(params![agent, target, hash, now - SAID_MS])?)
}

/// A text goes to a target, as this message.
///
/// # Errors
/// The database.
pub fn says(
    tx: &Transaction<'_>,
    agent: &str,
    target: &str,
    hash: &[u8; 32],
    message: &str,
    now: i64,
) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO heartbeat_texts (agent, target, hash, message, at) VALUES (?, ?, ?, ?, ?)",
    )?
    .execute(params![agent, target, hash, message, now])?;
    tx.prepare_cached("DELETE FROM heartbeat_texts WHERE at <= ?")?.execute([now - SAID_MS])?;
    tx.prepare_cached("UPDATE heartbeats SET message = ?2, told = NULL WHERE agent = ?1")?
        .execute([agent, message])?;
    Ok(())
}

//! Which tasks there are: one is written down, listed, taken back.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{DAY_MS, MAX_SCHEDULED_A_DAY, MAX_TASKS, schedule::Schedule};
use crate::{
    audit::{self, Entry, Event},
    clock::Time,
    message::{MessageId, target::Target},
    people::People,
    policy::{Origin, Scope},
    sessions::least_trusted_at_work,
    store::StoreError,
    turns::{Cause, trust},
};

/// The same call within this is the same task, in milliseconds: its first answer was lost.
const SAME_MS: i64 = 30_000;
/// What goes before the id in the session of a task that is bound to no conversation. It is the task's alone: what people wrote and what
/// waits to be read along stands in the sessions of their conversations.
const OWN_SESSION: &str = "task:";

/// A task that is to be written down.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// The agent.
    pub agent: String,
    /// When it is due.
    pub schedule: Schedule,
    /// What the agent is told then.
    pub prompt: String,
    /// The turn that it is bound to: its conversation and session. Nothing of a task in no conversation.
    pub bound: Option<Origin>,
    /// How far it is trusted: as far as whoever schedules it.
    pub scope: Scope,
    /// Whose words started the turn that schedules it, and which.
    pub because: Option<String>,
}

/// Why a task is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// Those that wait.
    #[error("{MAX_TASKS} tasks of this agent wait already")]
    Waiting,
    /// Those that were scheduled.
    #[error("this agent scheduled {MAX_SCHEDULED_A_DAY} tasks within 24 hours")]
    Scheduled,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Task {
    /// Its id.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// When it is due, as the agent wrote it.
    pub when: String,
    /// The time zone in which that counts; null for the hub's.
    pub time_zone: Option<String>,
    /// Whether it is due again and again.
    pub recurs: bool,
    /// What the agent is told.
    pub prompt: String,
    /// The session in which it is due.
    pub session: String,
    /// The conversation that it is bound to, as a target; null if none.
    pub target: Option<String>,
    /// How far it is trusted.
    pub scope: Scope,
    /// When it was scheduled (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// When it is due next (RFC 3339); null if it is over.
    #[schema(value_type = Option<String>)]
    pub next_at: Option<Time>,
    /// How often it was due.
    pub runs: u32,
    /// When it was due last (RFC 3339).
    #[schema(value_type = Option<String>)]
    pub last_at: Option<Time>,
    /// What became of it, or why it is put off.
    pub outcome: Option<String>,
}

const COLUMNS: &str = "id, agent, schedule, zone, recurs, prompt, session, channel, address, thread, scope, at, next_at, runs, last_at,
    outcome, ended_at";

fn read(row: &Row<'_>) -> rusqlite::Result<Task> {
    let channel: Option<String> = row.get(7)?;
    let target = match channel {
        Some(channel) => Some(Target { channel, address: row.get(8)?, thread: row.get(9)? }.to_string()),
        None => None,
    };
    let has_ended = row.get::<_, Option<i64>>(16)?.is_some();
    Ok(Task {
        task: row.get(0)?,
        agent: row.get(1)?,
        when: row.get(2)?,
        time_zone: row.get(3)?,
        recurs: row.get(4)?,
        prompt: row.get(5)?,
        session: row.get(6)?,
        target,
        scope: row.get(10)?,
        at: Time(row.get(11)?),
        next_at: if has_ended { None } else { Some(Time(row.get(12)?)) },
        runs: row.get(13)?,
        last_at: row.get::<_, Option<i64>>(14)?.map(Time),
        outcome: row.get(15)?,
    })
}

/// Writes a task down; or finds it, if the same was scheduled a moment ago.
///
/// # Errors
/// The agent has too many, or the database.
pub fn add(tx: &Transaction<'_>, new: &NewTask, now: i64) -> Result<Result<Task, TooMany>, StoreError> {
    if let Some(same) = same(tx, new, now)? {
        return Ok(Ok(same));
    }
    let (waiting, scheduled): (u32, u32) = tx
        .prepare_cached(
            "SELECT (SELECT count(*) FROM tasks WHERE agent = ?1 AND ended_at IS NULL),
                 (SELECT count(*) FROM tasks WHERE agent = ?1 AND at > ?2)",
        )?
        .query_row(params![new.agent, now - DAY_MS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if waiting >= MAX_TASKS {
        return Ok(Err(TooMany::Waiting));
    }
    if scheduled >= MAX_SCHEDULED_A_DAY {
        return Ok(Err(TooMany::Scheduled));
    }
    let id = format!("t{}", MessageId::new().0.trim_start_matches('m'));
    let NewTask { agent, schedule, prompt, bound, scope, because: _ } = new;
    let session =
        bound.as_ref().and_then(|of| of.session.clone()).unwrap_or_else(|| format!("{OWN_SESSION}{id}"));
    let place = bound.as_ref().map(|of| &of.place);
    let writers = trust::writers(tx, agent, bound.as_ref().and_then(|of| of.turn.as_deref()))?;
    tx.prepare_cached(
        "INSERT INTO tasks (id, agent, schedule, zone, recurs, prompt, session, scope, because, channel, account, address, thread,
             at, next_at, try_at, writers)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15, ?16)",
    )?
    .execute(params![
        id,
        agent,
        schedule.written,
        schedule.zone,
        schedule.recurs,
        prompt,
        session,
        scope,
        whose(tx, new)?,
        place.map(|place| &place.channel),
        bound.as_ref().map(|of| &of.account),
        place.map(|place| &place.address),
        place.and_then(|place| place.thread.as_ref()),
        now,
        schedule.first,
        serde_json::to_string(&writers).unwrap_or_default()
    ])?;
    let detail =
        json!({"task": id, "agent": agent, "when": schedule.written, "scope": scope, "session": session});
    let by = format!("agent:{agent}");
    audit::append(tx, &Entry { actor: &by, event: Event::TaskScheduled, message: None, detail })?;
    Ok(Ok(find(tx, &id, None)?.expect("it was written a moment ago")))
}

/// Whose words a task goes back to. A task that a task schedules goes back to where that one does: else each would quote the one before.
fn whose(tx: &Transaction<'_>, new: &NewTask) -> Result<Option<String>, StoreError> {
    let Some(turn) = new.bound.as_ref().and_then(|of| of.turn.as_ref()) else {
        return Ok(new.because.clone());
    };
    let before = tx
        .prepare_cached(
            "SELECT facts ->> '$.because' FROM turns JOIN turn_items ON turn_items.turn = turns.seq
             JOIN inbound ON inbound.seq = turn_items.inbound
             WHERE turns.id = ? AND turns.cause = ? AND inbound.kind = 'task'",
        )?
        .query_row(params![turn, Cause::Task], |row| row.get::<_, Option<String>>(0))
        .optional()?
        .flatten();
    Ok(before.or_else(|| new.because.clone()))
}

/// The same task, if it was scheduled a moment ago; one that is due again and again, if it is there at all.
fn same(tx: &Transaction<'_>, new: &NewTask, now: i64) -> Result<Option<Task>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks WHERE agent = ?1 AND ended_at IS NULL AND schedule = ?2 AND zone IS ?3 AND prompt = ?4
             AND channel IS ?5 AND account IS ?6 AND address IS ?7 AND thread IS ?8 AND scope = ?9 AND (recurs OR at > ?10)
         ORDER BY seq LIMIT 1"
    );
    let place = new.bound.as_ref().map(|of| &of.place);
    Ok(tx
        .prepare_cached(&sql)?
        .query_row(
            params![
                new.agent,
                new.schedule.written,
                new.schedule.zone,
                new.prompt,
                place.map(|place| &place.channel),
                new.bound.as_ref().map(|of| &of.account),
                place.map(|place| &place.address),
                place.and_then(|place| place.thread.as_ref()),
                new.scope,
                now - SAME_MS
            ],
            read,
        )
        .optional()?)
}

/// A task; only one of `agent`, if one is named.
///
/// # Errors
/// The database.
pub fn find(db: &Connection, id: &str, agent: Option<&str>) -> Result<Option<Task>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1 AND (?2 IS NULL OR agent = ?2)");
    Ok(db.prepare_cached(&sql)?.query_row(params![id, agent], read).optional()?)
}

/// The tasks of an agent, or of all: those that are due next first, then, with `ended`, those that are over.
///
/// # Errors
/// The database.
pub fn list(db: &Connection, agent: Option<&str>, ended: bool, limit: u32) -> Result<Vec<Task>, StoreError> {
    listed(db, agent, Scope::Owner, ended, limit)
}

/// The tasks that an agent is told of. While it is at words of somebody less trusted than who scheduled a task, it hears nothing of
/// that: whoever is answered meanwhile might hear it too.
///
/// # Errors
/// The database.
pub fn list_own(
    db: &Connection,
    people: &People,
    agent: &str,
    ended: bool,
    limit: u32,
) -> Result<Vec<Task>, StoreError> {
    listed(db, Some(agent), least_at_work(db, people, agent)?, ended, limit)
}

fn listed(
    db: &Connection,
    agent: Option<&str>,
    most: Scope,
    ended: bool,
    limit: u32,
) -> Result<Vec<Task>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks
         WHERE (?1 IS NULL OR agent = ?1) AND (?2 OR ended_at IS NULL) AND {} <= ?4
         ORDER BY ended_at IS NOT NULL, ended_at DESC, next_at, seq LIMIT ?3",
        Scope::RANK
    );
    let mut rows = db.prepare_cached(&sql)?;
    let rows = rows.query_map(params![agent, ended, limit, most as i64], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Takes a task back; whether it had not ended before. A turn that it has begun is not taken back with it.
///
/// # Errors
/// The database.
pub fn cancel(tx: &Transaction<'_>, id: &str, by: &str, now: i64) -> Result<bool, StoreError> {
    let sql = "UPDATE tasks SET ended_at = ?2, outcome = 'cancelled' WHERE id = ?1 AND ended_at IS NULL";
    if tx.prepare_cached(sql)?.execute(params![id, now])? == 0 {
        return Ok(false);
    }
    let detail = json!({"task": id});
    audit::append(tx, &Entry { actor: by, event: Event::TaskCancelled, message: None, detail })?;
    Ok(true)
}

/// How far the words are trusted that an agent works at now: the least of its turns that are leased. An owner's if there are none.
///
/// # Errors
/// The database.
pub fn least_at_work(db: &Connection, people: &People, agent: &str) -> Result<Scope, StoreError> {
    Ok(least_trusted_at_work(db, people, agent, None)?.map_or(Scope::Owner, |least| least.scope))
}

/// Lets go of tasks that ended before `before`, a few at a time; how many went.
///
/// # Errors
/// The database.
pub fn forget(tx: &Transaction<'_>, before: i64, few: i64) -> Result<usize, StoreError> {
    let sql = "DELETE FROM tasks WHERE seq IN (SELECT seq FROM tasks WHERE ended_at < ? LIMIT ?)";
    Ok(tx.prepare_cached(sql)?.execute([before, few])?)
}

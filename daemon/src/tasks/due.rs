//! A task that is due becomes a turn: the row that its agent reads, the turn, and when the task is due next, in one transaction. So a
//! crash before it leaves the task due, and one after it finds it done: each time is due once.
//!
//! One that cannot be dealt with now is put off and not skipped: it is due late.

use rusqlite::{Connection, Row, Transaction, params};
use serde_json::json;

use super::{DAY_MS, FULL_MS, LATE_MS, MAX_RUNS_A_DAY, NOBODY_MS, schedule};
use crate::{
    audit::{self, Entry, Event},
    policy::Scope,
    sessions::place::Place,
    store::StoreError,
    turns::{
        Cause,
        open::{Opened, Opening, open},
        stored::{Facts, Writer},
    },
};

/// Tasks of one transaction: messages never wait for long.
const STEP: u32 = 20;

/// What became of the tasks that were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Whether an agent has a turn that it did not have before.
    pub woken: bool,
    /// Whether there may be more that are due.
    pub more: bool,
}

struct Due {
    seq: i64,
    id: String,
    agent: String,
    schedule: String,
    zone: Option<String>,
    recurs: bool,
    prompt: String,
    session: String,
    scope: Scope,
    because: Option<String>,
    writers: Vec<Writer>,
    place: Option<Place>,
    /// When it is due.
    at: i64,
}

fn read(row: &Row<'_>) -> rusqlite::Result<Due> {
    let channel: Option<String> = row.get(10)?;
    let place = match channel {
        Some(channel) => {
            Some(Place { channel, account: row.get(11)?, address: row.get(12)?, thread: row.get(13)? })
        }
        None => None,
    };
    let writers: Option<String> = row.get(15)?;
    Ok(Due {
        seq: row.get(0)?,
        id: row.get(1)?,
        agent: row.get(2)?,
        schedule: row.get(3)?,
        zone: row.get(4)?,
        recurs: row.get(5)?,
        prompt: row.get(6)?,
        session: row.get(7)?,
        scope: row.get(8)?,
        because: row.get(9)?,
        writers: writers.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default(),
        place,
        at: row.get(14)?,
    })
}

/// When a task is to be looked at next, in milliseconds since 1970; nothing if there is none.
///
/// # Errors
/// The database.
pub fn next(db: &Connection) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT min(try_at) FROM tasks WHERE ended_at IS NULL";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Wakes the agents of some of the tasks that are due. `knows`: whether there is such an agent.
///
/// # Errors
/// The database: nothing has happened.
pub fn run(tx: &Transaction<'_>, knows: impl Fn(&str) -> bool, now: i64) -> Result<Outcome, StoreError> {
    let mut rows = tx.prepare_cached(
        "SELECT seq, id, agent, schedule, zone, recurs, prompt, session, scope, because, channel, account, address, thread, next_at, writers
         FROM tasks WHERE ended_at IS NULL AND try_at <= ? ORDER BY try_at, seq LIMIT ?",
    )?;
    let due: Vec<Due> = rows.query_map(params![now, STEP], read)?.collect::<Result<_, _>>()?;
    let mut outcome = Outcome { more: due.len() == STEP as usize, woken: false };
    for task in due {
        outcome.woken |= one(tx, &task, &knows, now)?;
    }
    Ok(outcome)
}

/// Whether the task's agent was woken.
fn one(
    tx: &Transaction<'_>,
    task: &Due,
    knows: &impl Fn(&str) -> bool,
    now: i64,
) -> Result<bool, StoreError> {
    if !knows(&task.agent) {
        put_off(tx, task, now + NOBODY_MS, "the configuration has no such agent")?;
        return Ok(false);
    }
    if runs_of_day(tx, &task.agent, now)? >= MAX_RUNS_A_DAY {
        let tomorrow = (now.div_euclid(DAY_MS) + 1) * DAY_MS;
        put_off(tx, task, tomorrow, "the tasks of its agent were due too often on this day")?;
        return Ok(false);
    }
    let late = now - task.at > LATE_MS;
    let inbound = write(tx, task, late, now)?;
    let opening = Opening {
        agent: &task.agent,
        session: &task.session,
        gather: None,
        cause: Cause::Task,
        words: true,
        scope: task.scope,
        place: task.place.as_ref(),
        inbound,
    };
    if open(tx, &opening, now)? == Opened::Full {
        tx.execute("DELETE FROM inbound WHERE seq = ?", [inbound])?;
        put_off(tx, task, now + FULL_MS, "its agent has too many turns")?;
        return Ok(false);
    }
    let detail = json!({"task": task.id, "agent": task.agent, "late": late});
    audit::append(tx, &Entry { actor: "hub", event: Event::TaskDue, message: None, detail })?;
    go_on(tx, task, now)?;
    Ok(true)
}

/// The row that its agent reads. One in no conversation names itself where others name theirs.
fn write(tx: &Transaction<'_>, task: &Due, late: bool, now: i64) -> Result<i64, StoreError> {
    let facts = Facts {
        late,
        task: Some(task.id.clone()),
        because: task.because.clone(),
        writers: task.writers.clone(),
        ..Facts::default()
    };
    let place = task.place.as_ref();
    let facts = serde_json::to_string(&facts).unwrap_or_default();
    tx.prepare_cached(
        "INSERT INTO inbound (channel, account, peer, thread, text, at, kind, facts, scope, said_at)
         VALUES (?, ?, ?, ?, ?, ?, 'task', ?, ?, ?)",
    )?
    .execute(params![
        place.map_or("task", |place| &place.channel),
        place.map_or("", |place| &place.account),
        place.map_or(task.id.as_str(), |place| &place.address),
        place.and_then(|place| place.thread.as_ref()),
        task.prompt,
        now,
        facts,
        task.scope,
        task.at
    ])?;
    Ok(tx.last_insert_rowid())
}

fn runs_of_day(tx: &Transaction<'_>, agent: &str, now: i64) -> Result<u32, StoreError> {
    // A task that is over was due on the day on which it ended, or before.
    let sql = "SELECT coalesce(sum(runs_of_day), 0) FROM tasks WHERE agent = ? AND day = ?";
    Ok(tx.prepare_cached(sql)?.query_row(params![agent, now.div_euclid(DAY_MS)], |row| row.get(0))?)
}

fn put_off(tx: &Transaction<'_>, task: &Due, until: i64, why: &str) -> Result<(), StoreError> {
    tracing::warn!(task = task.id, agent = task.agent, why, "a task is put off");
    tx.prepare_cached("UPDATE tasks SET try_at = ?, outcome = ? WHERE seq = ?")?
        .execute(params![until, why, task.seq])?;
    Ok(())
}

/// It was due. It is due again, or over.
fn go_on(tx: &Transaction<'_>, task: &Due, now: i64) -> Result<(), StoreError> {
    let again = match task.recurs {
        true => schedule::again(&task.schedule, task.zone.as_deref(), task.at, now)
            .map_err(|error| error.to_string()),
        false => Err("done".to_owned()),
    };
    let (next, ended, outcome) = match again {
        Ok(next) => (next, None, None),
        Err(why) => (task.at, Some(now), Some(why)),
    };
    if task.recurs && ended.is_some() {
        tracing::warn!(task = task.id, agent = task.agent, why = outcome, "a task is not due again");
    }
    tx.prepare_cached(
        "UPDATE tasks SET next_at = ?2, try_at = ?2, ended_at = ?3, outcome = ?4, last_at = ?5, runs = runs + 1,
             runs_of_day = iif(day = ?6, runs_of_day, 0) + 1, day = ?6 WHERE seq = ?1",
    )?
    .execute(params![task.seq, next, ended, outcome, now, now.div_euclid(DAY_MS)])?;
    Ok(())
}

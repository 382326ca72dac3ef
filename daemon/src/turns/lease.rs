//! A turn is taken by a lease, kept by whoever works at it, handed back when the lease runs out, and ended once.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde_json::json;

use super::{MAX_LOOSE, PAUSES_MS, TurnState, items::IS_A_SIGN, trust};
use crate::{
    agents,
    audit::{self, Entry, Event},
    clock::rfc3339,
    people::People,
    policy::Scope,
    random,
    store::StoreError,
};

/// A turn that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// Its number.
    pub seq: i64,
    /// Its id.
    pub id: String,
    /// By which its taker proves that it has it.
    pub lease: String,
    /// The proof of its conversation; nothing of a turn in none.
    pub context: Option<String>,
}

/// Why a turn is not the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotHeld {
    /// The agent has no such turn.
    #[error("there is no such turn of this agent")]
    Unknown,
    /// Somebody else has it, or it has ended.
    #[error("the lease of this turn has run out, or it has ended")]
    Lost,
}

/// A turn of an agent may be taken if nobody is at its session, and none before it waits for another try.
const TAKEABLE: &str = "FROM turns AS turn WHERE agent = ?1 AND state = 'waiting'
    AND NOT EXISTS (SELECT 1 FROM turns AS other WHERE other.agent = ?1 AND other.session = turn.session
        AND (other.state = 'leased' OR other.state = 'waiting' AND other.attempts > 0 AND other.seq < turn.seq))";

/// When the next turn of an agent can be taken, in milliseconds since 1970; nothing if none waits.
///
/// # Errors
/// The database.
pub fn next_due(db: &Connection, agent: &str) -> Result<Option<i64>, StoreError> {
    Ok(db.prepare_cached(&format!("SELECT min(due_at) {TAKEABLE}"))?.query_row([agent], |row| row.get(0))?)
}

/// Takes the turn of an agent that is due first, by a lease `until` then. Its context is valid until `context_until`. How far the words
/// in it are trusted is looked at again; one in which nothing is left to answer, because whoever wrote it was shut out, ends.
///
/// # Errors
/// The database.
pub fn take(
    tx: &Transaction<'_>,
    agent: &str,
    now: i64,
    until: i64,
    context_until: i64,
    people: &People,
) -> Result<Option<Leased>, StoreError> {
    while let Some(due) = due(tx, agent, now)? {
        take_loose(tx, agent, &due.session, due.seq, people)?;
        let is_left = "SELECT 1 FROM turn_items WHERE turn = ? AND engages";
        if !tx.prepare_cached(is_left)?.exists([due.seq])? {
            // What was to be read along waits for the next turn.
            tx.prepare_cached("UPDATE turn_items SET turn = NULL WHERE turn = ?")?.execute([due.seq])?;
            close(tx, due.seq, TurnState::Done, "whoever wrote it was shut out", "hub", now)?;
            continue;
        }
        return lend(tx, agent, due, until, context_until).map(Some);
    }
    Ok(None)
}

/// A turn that can be taken.
struct Due {
    seq: i64,
    id: String,
    session: String,
    has_place: bool,
}

/// The turn of an agent that is due first.
fn due(tx: &Transaction<'_>, agent: &str, now: i64) -> Result<Option<Due>, StoreError> {
    let sql = format!(
        "SELECT seq, id, session, channel IS NOT NULL {TAKEABLE} AND due_at <= ?2 ORDER BY due_at, seq LIMIT 1"
    );
    let due = |row: &Row<'_>| {
        Ok(Due { seq: row.get(0)?, id: row.get(1)?, session: row.get(2)?, has_place: row.get(3)? })
    };
    Ok(tx.prepare_cached(&sql)?.query_row(params![agent, now], due).optional()?)
}

fn lend(
    tx: &Transaction<'_>,
    agent: &str,
    Due { seq, id, session, has_place }: Due,
    until: i64,
    context_until: i64,
) -> Result<Leased, StoreError> {
    let lease = random::hex::<16>();
    tx.prepare_cached(
        "UPDATE turns SET state = 'leased', gather = NULL, lease = ?, lease_until = ?, attempts = attempts + 1
         WHERE seq = ?",
    )?
    .execute(params![lease, until, seq])?;
    let context = match has_place {
        true => issue_context(tx, agent, &session, seq, context_until)?,
        false => None,
    };
    Ok(Leased { seq, id, lease, context })
}

/// A reaction that another one of the same person to the same message takes the place of, and both, where it was taken back.
const CANCELLED: &str = "SELECT seq FROM (
    SELECT seq, coalesce(facts ->> '$.removed', 0) AS removed, row_number() OVER same AS n,
        first_value(coalesce(facts ->> '$.removed', 0)) OVER (PARTITION BY channel, account, peer, sender, facts ->> '$.about',
            facts ->> '$.emoji' ORDER BY seq) AS began
    FROM inbound WHERE kind = 'reaction' AND seq IN (
        SELECT inbound FROM turn_items WHERE agent = ?1 AND session = ?2 AND turn IS NULL)
    WINDOW same AS (PARTITION BY channel, account, peer, sender, facts ->> '$.about', facts ->> '$.emoji' ORDER BY seq DESC))
    WHERE n > 1 OR removed AND NOT began";

/// What was kept for the session's next turn is read with this one: the newest, words before signs, for an agent reads so much and no more.
fn take_loose(
    tx: &Transaction<'_>,
    agent: &str,
    session: &str,
    turn: i64,
    people: &People,
) -> Result<(), StoreError> {
    let cancelled =
        format!("DELETE FROM turn_items WHERE agent = ?1 AND turn IS NULL AND inbound IN ({CANCELLED})");
    tx.prepare_cached(&cancelled)?.execute([agent, session])?;
    tx.prepare_cached(&format!(
        "UPDATE turn_items SET turn = ?3 WHERE agent = ?1 AND inbound IN (
             SELECT inbound FROM turn_items JOIN inbound ON inbound.seq = inbound
             WHERE agent = ?1 AND session = ?2 AND turn IS NULL ORDER BY {IS_A_SIGN}, inbound DESC LIMIT ?4)"
    ))?
    .execute(params![agent, session, turn, MAX_LOOSE])?;
    let omitted = tx
        .prepare_cached("DELETE FROM turn_items WHERE agent = ? AND session = ? AND turn IS NULL")?
        .execute([agent, session])?;
    if omitted > 0 {
        tx.execute("UPDATE turns SET omitted = omitted + ? WHERE seq = ?", params![omitted as i64, turn])?;
    }
    trust::look_again(tx, people, turn)?;
    lower(tx, turn)
}

/// A turn is as trusted as the least trusted of all that is read in it.
fn lower(tx: &Transaction<'_>, turn: i64) -> Result<(), StoreError> {
    let scope: Scope =
        tx.prepare_cached("SELECT scope FROM turns WHERE seq = ?")?.query_row([turn], |row| row.get(0))?;
    let mut items = tx.prepare_cached(
        "SELECT scope FROM inbound WHERE scope IS NOT NULL AND seq IN (SELECT inbound FROM turn_items WHERE turn = ?)",
    )?;
    let items = items.query_map([turn], |row| row.get::<_, Scope>(0))?;
    let least = items.collect::<Result<Vec<_>, _>>()?.into_iter().min();
    if let Some(least) = least.filter(|least| *least < scope) {
        tx.execute("UPDATE turns SET scope = ? WHERE seq = ?", params![least, turn])?;
    }
    Ok(())
}

/// The proof of the turn's own conversation: of what woke the agent last there. What [`more`] took from another one does not count, or an
/// answer would go to whoever wrote that.
fn issue_context(
    tx: &Transaction<'_>,
    agent: &str,
    session: &str,
    turn: i64,
    until: i64,
) -> Result<Option<String>, StoreError> {
    let inbound: Option<i64> = tx
        .prepare_cached(
            "SELECT max(inbound) FROM turn_items JOIN inbound ON inbound.seq = inbound JOIN turns ON turns.seq = turn
             WHERE turn = ? AND engages AND inbound.channel = turns.channel AND inbound.account = turns.account
                 AND peer = address AND inbound.thread IS turns.thread",
        )?
        .query_row([turn], |row| row.get(0))?;
    let Some(inbound) = inbound else { return Ok(None) };
    let token = format!("gpc_{}", random::hex::<32>());
    tx.prepare_cached(
        "INSERT INTO contexts (hash, inbound, agent, session, expires_at, turn) VALUES (?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![agents::hash(&token), inbound, agent, session, until, turn])?;
    Ok(Some(token))
}

/// The number of a turn that an agent has by this lease.
///
/// # Errors
/// It has not, or the database.
pub fn held(db: &Connection, agent: &str, id: &str, lease: &str) -> Result<Result<i64, NotHeld>, StoreError> {
    let found = db
        .prepare_cached("SELECT seq, state, lease FROM turns WHERE agent = ? AND id = ?")?
        .query_row([agent, id], |row| {
            Ok((row.get(0)?, row.get::<_, TurnState>(1)?, row.get::<_, Option<String>>(2)?))
        })
        .optional()?;
    Ok(match found {
        None => Err(NotHeld::Unknown),
        Some((seq, TurnState::Leased, Some(holds))) if holds == lease => Ok(seq),
        Some(_) => Err(NotHeld::Lost),
    })
}

/// Takes what came meanwhile in the session into the turn, for an agent that can be steered while it works.
///
/// # Errors
/// The turn is not the caller's, or the database.
pub fn more(
    tx: &Transaction<'_>,
    agent: &str,
    id: &str,
    lease: &str,
    until: i64,
    people: &People,
) -> Result<Result<i64, NotHeld>, StoreError> {
    let seq = match held(tx, agent, id, lease)? {
        Ok(seq) => seq,
        Err(not_held) => return Ok(Err(not_held)),
    };
    let session: String = tx.query_row("SELECT session FROM turns WHERE seq = ?", [seq], |row| row.get(0))?;
    let waiting =
        "SELECT seq FROM turns WHERE agent = ?2 AND session = ?3 AND state = 'waiting' AND cause = 'message'";
    tx.execute(
        &format!("UPDATE contexts SET turn = ?1 WHERE turn IN ({waiting})"),
        params![seq, agent, session],
    )?;
    tx.execute(
        &format!("UPDATE turn_items SET turn = ?1 WHERE turn IN ({waiting})"),
        params![seq, agent, session],
    )?;
    tx.execute(
        "DELETE FROM turns WHERE agent = ? AND session = ? AND state = 'waiting' AND cause = 'message'",
        [agent, &session],
    )?;
    take_loose(tx, agent, &session, seq, people)?;
    tx.execute("UPDATE turns SET lease_until = ? WHERE seq = ?", params![until, seq])?;
    Ok(Ok(seq))
}

/// Until when somebody has a turn, in milliseconds since 1970; nothing if nobody has.
///
/// # Errors
/// The database.
pub fn until(db: &Connection, turn: &str) -> Result<Option<i64>, StoreError> {
    let mut look = db.prepare_cached("SELECT lease_until FROM turns WHERE id = ? AND state = 'leased'")?;
    Ok(look.query_row([turn], |row| row.get(0)).optional()?)
}

/// Keeps the turn that a context was issued for, if it is leased: whoever calls with it is at work.
///
/// # Errors
/// The database.
pub fn renew(tx: &Transaction<'_>, turn: &str, until: i64) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE turns SET lease_until = ? WHERE id = ? AND state = 'leased'")?
        .execute(params![until, turn])?;
    Ok(())
}

/// Ends a turn that its agent has.
///
/// # Errors
/// The turn is not the caller's, or the database.
pub fn end(
    tx: &Transaction<'_>,
    agent: &str,
    id: &str,
    lease: &str,
    outcome: &str,
    now: i64,
) -> Result<Result<(), NotHeld>, StoreError> {
    let seq = match held(tx, agent, id, lease)? {
        Ok(seq) => seq,
        Err(not_held) => return Ok(Err(not_held)),
    };
    close(tx, seq, TurnState::Done, outcome, &format!("agent:{agent}"), now)?;
    Ok(Ok(()))
}

/// Gives a turn back that its agent cannot work at now: the next taker has it after the pause of its attempt.
///
/// # Errors
/// The turn is not the caller's, or the database.
pub fn give_back(
    tx: &Transaction<'_>,
    agent: &str,
    id: &str,
    lease: &str,
    why: &str,
    now: i64,
) -> Result<Result<bool, NotHeld>, StoreError> {
    Ok(match held(tx, agent, id, lease)? {
        Ok(seq) => Ok(hand_back(tx, seq, why, now)?),
        Err(not_held) => Err(not_held),
    })
}

/// Puts a turn back that its agent's program was not reached for: nobody has begun it, so no attempt is spent, and it keeps its place.
///
/// # Errors
/// The turn is not the caller's, or the database.
pub fn put_back(
    tx: &Transaction<'_>,
    agent: &str,
    id: &str,
    lease: &str,
    why: &str,
) -> Result<Result<(), NotHeld>, StoreError> {
    let seq = match held(tx, agent, id, lease)? {
        Ok(seq) => seq,
        Err(not_held) => return Ok(Err(not_held)),
    };
    tx.prepare_cached(
        "UPDATE turns SET state = 'waiting', lease = NULL, lease_until = NULL, attempts = attempts - 1, outcome = ?2
         WHERE seq = ?1",
    )?
    .execute(params![seq, why])?;
    Ok(Ok(()))
}

pub(super) fn close(
    tx: &Transaction<'_>,
    seq: i64,
    state: TurnState,
    outcome: &str,
    by: &str,
    now: i64,
) -> Result<(), StoreError> {
    let (id, agent): (String, String) = tx
        .prepare_cached(
            "UPDATE turns SET state = ?2, outcome = ?3, ended_at = ?4, lease = NULL, lease_until = NULL, gather = NULL
             WHERE seq = ?1 RETURNING id, agent",
        )?
        .query_row(params![seq, state, outcome, now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let event = if state == TurnState::Failed { Event::TurnFailed } else { Event::TurnEnded };
    let detail = json!({"turn": id, "agent": agent, "outcome": outcome});
    audit::append(tx, &Entry { actor: by, event, message: None, detail })
}

/// Whether the turn has another try; if not, it has failed.
pub(super) fn hand_back(tx: &Transaction<'_>, seq: i64, why: &str, now: i64) -> Result<bool, StoreError> {
    let attempts: u32 = tx.query_row("SELECT attempts FROM turns WHERE seq = ?", [seq], |row| row.get(0))?;
    let Some(pause) = PAUSES_MS.get(attempts.saturating_sub(1) as usize) else {
        close(tx, seq, TurnState::Failed, why, "hub", now)?;
        return Ok(false);
    };
    let due_at = now + pause;
    let (id, agent, session): (String, String, String) = tx.query_row(
        "UPDATE turns SET state = 'waiting', lease = NULL, lease_until = NULL, due_at = ?, outcome = ? WHERE seq = ?
         RETURNING id, agent, session",
        params![due_at, why, seq],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    tell(tx, &Waits { id: &id, agent: &agent, session: &session, due_at })?;
    Ok(true)
}

/// A turn that waits.
pub(super) struct Waits<'a> {
    pub id: &'a str,
    pub agent: &'a str,
    pub session: &'a str,
    /// From when on it can be taken, in milliseconds since 1970.
    pub due_at: i64,
}

/// Tells its agent, and whoever watches over the hub, that a turn waits.
pub(super) fn tell(tx: &Transaction<'_>, waits: &Waits<'_>) -> Result<(), StoreError> {
    let Waits { id, agent, session, due_at } = waits;
    let detail = json!({"turn": id, "agent": agent, "session": session, "due_at": rfc3339(*due_at)});
    audit::append(tx, &Entry { actor: "hub", event: Event::TurnWaiting, message: None, detail })
}

/// Lets a turn that has failed wait again, with all its attempts; whether there was one.
///
/// # Errors
/// The database.
pub fn retry(tx: &Transaction<'_>, id: &str, by: &str, now: i64) -> Result<bool, StoreError> {
    let changed = tx
        .query_row(
            "UPDATE turns SET state = 'waiting', attempts = 0, due_at = ?2, at = ?2, ended_at = NULL, outcome = NULL
             WHERE id = ?1 AND state = 'failed' RETURNING agent, session",
            params![id, now],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
        )
        .optional()?;
    let Some((agent, session)) = changed else { return Ok(false) };
    let detail = json!({"turn": id});
    audit::append(tx, &Entry { actor: by, event: Event::TurnRetried, message: None, detail })?;
    tell(tx, &Waits { id, agent: &agent, session: &session, due_at: now })?;
    Ok(true)
}

/// Ends a turn that nobody is to take any more; whether it had not ended well before.
///
/// # Errors
/// The database.
pub fn drop_turn(tx: &Transaction<'_>, id: &str, by: &str, now: i64) -> Result<bool, StoreError> {
    let seq = tx
        .query_row("SELECT seq FROM turns WHERE id = ? AND state <> 'done'", [id], |row| row.get(0))
        .optional()?;
    let Some(seq) = seq else { return Ok(false) };
    close(tx, seq, TurnState::Done, "dropped by the operator", by, now)?;
    Ok(true)
}

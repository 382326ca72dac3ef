//! A turn begins, or grows by what its author writes next.

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::{
    Cause, GATHER_MOST_MS, GATHER_MS, MAX_ITEMS, MAX_WAITING_OF_AGENT, MAX_WAITING_OF_SESSION, TurnState,
    lease,
};
use crate::{message::MessageId, policy::Scope, sessions::place::Place, store::StoreError};

/// What wakes an agent.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The agent.
    pub agent: &'a str,
    /// Its session.
    pub session: &'a str,
    /// By what it is gathered: author and thread. Nothing for what is a turn by itself, at once.
    pub gather: Option<&'a str>,
    /// What woke it.
    pub cause: Cause,
    /// Whether it is words, or what the hub itself says; else somebody pressed, entered or chose something.
    pub words: bool,
    /// How far its author is trusted.
    pub scope: Scope,
    /// The conversation; nothing of a turn in none.
    pub place: Option<&'a Place>,
    /// The row of what was received.
    pub inbound: i64,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// It stands in a turn that waits.
    Waits,
    /// It stood in a turn of this agent before.
    Before,
    /// The agent has too much to do.
    Full,
}

/// Puts a received row into a turn of an agent: the one that gathers, or a new one.
///
/// # Errors
/// The database.
pub fn open(tx: &Transaction<'_>, opening: &Opening<'_>, now: i64) -> Result<Opened, StoreError> {
    let known = "SELECT 1 FROM turn_items WHERE agent = ? AND inbound = ? AND turn IS NOT NULL";
    if tx.prepare_cached(known)?.exists(params![opening.agent, opening.inbound])? {
        return Ok(Opened::Before);
    }
    let turn = match gathering(tx, opening)? {
        Some(turn) => {
            tx.prepare_cached(
                "UPDATE turns SET due_at = min(?2, at + ?3),
                     scope = CASE WHEN ?4 THEN ?5 ELSE scope END WHERE seq = ?1",
            )?
            .execute(params![
                turn.seq,
                now + GATHER_MS,
                GATHER_MOST_MS,
                opening.scope < turn.scope,
                opening.scope
            ])?;
            turn.seq
        }
        None if is_full(tx, opening)? => return Ok(Opened::Full),
        None => begin(tx, opening, now)?,
    };
    tx.prepare_cached(
        "INSERT INTO turn_items (agent, inbound, session, turn, engages) VALUES (?, ?, ?, ?, 1)
         ON CONFLICT DO UPDATE SET turn = excluded.turn, engages = 1",
    )?
    .execute(params![opening.agent, opening.inbound, opening.session, turn])?;
    Ok(Opened::Waits)
}

/// Keeps a received row for the agent's next turn of this session. It wakes nobody.
///
/// # Errors
/// The database.
pub fn keep(tx: &Transaction<'_>, agent: &str, session: &str, inbound: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO turn_items (agent, inbound, session, turn, engages) VALUES (?, ?, ?, NULL, 0)",
    )?
    .execute(params![agent, inbound, session])?;
    Ok(())
}

struct Gathering {
    seq: i64,
    scope: Scope,
}

/// The turn that still gathers what this author writes in this thread, if it has room.
fn gathering(tx: &Transaction<'_>, opening: &Opening<'_>) -> Result<Option<Gathering>, StoreError> {
    let Some(gather) = opening.gather else { return Ok(None) };
    let found = tx
        .prepare_cached(
            "SELECT seq, scope, (SELECT count(*) FROM turn_items WHERE turn = turns.seq) FROM turns
             WHERE agent = ? AND session = ? AND gather = ? AND state = 'waiting'",
        )?
        .query_row([opening.agent, opening.session, gather], |row| {
            Ok((Gathering { seq: row.get(0)?, scope: row.get(1)? }, row.get::<_, u32>(2)?))
        })
        .optional()?;
    let Some((turn, items)) = found else { return Ok(None) };
    if items < MAX_ITEMS {
        return Ok(Some(turn));
    }
    // It gathers no more, and the next one does.
    tx.execute("UPDATE turns SET gather = NULL WHERE seq = ?", [turn.seq])?;
    Ok(None)
}

fn is_full(tx: &Transaction<'_>, opening: &Opening<'_>) -> Result<bool, StoreError> {
    let mut count = tx.prepare_cached(
        "SELECT count(*), count(*) FILTER (WHERE session = ?2) FROM turns WHERE agent = ?1 AND state = 'waiting'",
    )?;
    let (all, here): (u32, u32) =
        count.query_row([opening.agent, opening.session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(all >= opening.share_of(MAX_WAITING_OF_AGENT) || here >= opening.share_of(MAX_WAITING_OF_SESSION))
}

impl Opening<'_> {
    /// How many turns may wait, of so many, for it to be one more.
    fn share_of(&self, most: u32) -> u32 {
        match (self.scope == Scope::Owner, self.words) {
            (true, true) => most,
            (true, false) | (false, true) => most - most / 4,
            (false, false) => most / 2,
        }
    }
}

fn begin(tx: &Transaction<'_>, opening: &Opening<'_>, now: i64) -> Result<i64, StoreError> {
    let id = MessageId::new().to_string();
    let due_at = if opening.gather.is_some() { now + GATHER_MS } else { now };
    let place = opening.place;
    tx.prepare_cached(
        "INSERT INTO turns (id, agent, session, gather, cause, scope, channel, account, address, thread, state, due_at, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        id,
        opening.agent,
        opening.session,
        opening.gather,
        opening.cause,
        opening.scope,
        place.map(|place| &place.channel),
        place.map(|place| &place.account),
        place.map(|place| &place.address),
        place.and_then(|place| place.thread.as_ref()),
        TurnState::Waiting,
        due_at,
        now
    ])?;
    let turn = tx.last_insert_rowid();
    lease::tell(tx, &lease::Waits { id: &id, agent: opening.agent, session: opening.session, due_at })?;
    Ok(turn)
}

//! What time does to turns: a lease runs out, nobody comes, a pause is over. Whoever looks is told when to look next, and looks again
//! when somebody has taken a turn: a look that is put off too far holds a session until somebody writes.

use rusqlite::{Connection, Transaction};

use super::{
    TurnState, WAIT_MS,
    lease::{Waits, close, hand_back, tell},
};
use crate::store::StoreError;

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expired {
    /// Turns that wait for another taker.
    pub again: usize,
    /// Turns that have failed.
    pub failed: usize,
}

/// Takes back the turns whose lease has run out, and ends those that nobody came for.
///
/// # Errors
/// The database.
pub fn expire(tx: &Transaction<'_>, now: i64) -> Result<Expired, StoreError> {
    let seqs = |sql: &str, at: i64| -> Result<Vec<i64>, StoreError> {
        Ok(tx.prepare_cached(sql)?.query_map([at], |row| row.get(0))?.collect::<Result<_, _>>()?)
    };
    let mut expired = Expired::default();
    for seq in seqs("SELECT seq FROM turns WHERE state = 'leased' AND lease_until <= ?", now)? {
        match hand_back(tx, seq, "its agent did not end it in time", now)? {
            true => expired.again += 1,
            false => expired.failed += 1,
        }
    }
    for seq in seqs("SELECT seq FROM turns WHERE state = 'waiting' AND at <= ?", now - WAIT_MS)? {
        close(tx, seq, TurnState::Failed, "nobody came for it", "hub", now)?;
        expired.failed += 1;
    }
    Ok(expired)
}

/// Hands back the turns of an agent whose taker is gone for certain, however long their leases last: how many there were.
///
/// # Errors
/// The database.
pub fn abandon(tx: &Transaction<'_>, agent: &str, why: &str, now: i64) -> Result<usize, StoreError> {
    let leased: Vec<i64> = tx
        .prepare_cached("SELECT seq FROM turns WHERE agent = ? AND state = 'leased'")?
        .query_map([agent], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in &leased {
        hand_back(tx, *seq, why, now)?;
    }
    Ok(leased.len())
}

/// Turns that were handed back and wait for a while, which is over after `?1`. After the first attempt there is no such while.
const PAUSED: &str = "FROM turns WHERE state = 'waiting' AND attempts > 1 AND due_at > ?1";

/// Tells once more that the turns wait that were handed back for a while which has ended since then: whoever was told when they were
/// handed back has looked in vain. How many there are.
///
/// # Errors
/// The database.
pub fn tell_due(tx: &Transaction<'_>, since: i64, now: i64) -> Result<usize, StoreError> {
    let sql = format!("SELECT id, agent, session, due_at {PAUSED} AND due_at <= ?2 ORDER BY seq");
    let mut due = tx.prepare_cached(&sql)?;
    let mut due = due.query([since, now])?;
    let mut told = 0;
    while let Some(row) = due.next()? {
        let (id, agent, session): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        tell(tx, &Waits { id: &id, agent: &agent, session: &session, due_at: row.get(3)? })?;
        told += 1;
    }
    Ok(told)
}

/// When something runs out next, or a turn that was handed back is due after `since`, in milliseconds since 1970.
///
/// # Errors
/// The database.
pub fn next_expiry(db: &Connection, since: i64) -> Result<Option<i64>, StoreError> {
    let sql = format!(
        "SELECT min(at) FROM (SELECT min(lease_until) AS at FROM turns WHERE state = 'leased'
         UNION ALL SELECT min(at) + ?2 FROM turns WHERE state = 'waiting'
         UNION ALL SELECT min(due_at) {PAUSED})"
    );
    Ok(db.prepare_cached(&sql)?.query_row([since, WAIT_MS], |row| row.get(0))?)
}

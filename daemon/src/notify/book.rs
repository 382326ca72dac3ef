//! What waits for people, and what was told of it: a row for each request that was, until it is over.

use rusqlite::{Connection, Row, Transaction, params};

use super::{GAP_MS, Waiting, plan::Told};
use crate::{message::target::HUB, store::StoreError};

/// Requests that are looked at; who has more has been told that there are many.
const MOST: usize = 500;

/// What people are asked now, but for notifications themselves, where such a target is held; a request about several messages is a row
/// for each of them. Texts are read where they are wanted: they may be long, and each look reads all that waits.
const WAITING: &str =
    "SELECT request, card_at, approvals.deadline, agent, channel, address, CASE WHEN ?2 THEN text ELSE '' END
    FROM approvals INDEXED BY approvals_open JOIN messages ON seq = message
    WHERE decided_at IS NULL AND card_at IS NOT NULL AND NOT (agent = ?1 AND channel <> ?1) ORDER BY message";
/// Whether one of the last notifications has arrived, or may.
const REACHES: &str = "SELECT 1 FROM messages WHERE agent = ?1 AND channel <> ?1 AND accepted_at >= ?2
    AND state NOT IN ('failed', 'expired', 'denied', 'cancelled')";
/// By what the hub has written, which is little, and not by what is under way.
const UNSENT: &str = "SELECT seq FROM messages INDEXED BY messages_agent
    WHERE agent = ?1 AND channel <> ?1 AND state IN ('accepted', 'held', 'ready')";
/// What is over, unless the next notification must still keep its distance from it.
const OVER: &str = "DELETE FROM notified WHERE at < ? AND NOT EXISTS (
    SELECT 1 FROM approvals WHERE approvals.request = notified.request AND decided_at IS NULL)";

/// What waits, oldest first.
pub(super) fn waiting(db: &Connection, with_texts: bool) -> Result<Vec<Waiting>, StoreError> {
    let read = |row: &Row<'_>| -> rusqlite::Result<Waiting> {
        Ok(Waiting {
            request: row.get(0)?,
            asked_at: row.get(1)?,
            deadline: row.get(2)?,
            agent: row.get(3)?,
            target: format!("{}:{}", row.get::<_, String>(4)?, row.get::<_, String>(5)?),
            text: row.get(6)?,
        })
    };
    let (mut statement, mut waiting) = (db.prepare_cached(WAITING)?, Vec::<Waiting>::new());
    let mut rows = statement.query(params![HUB, with_texts])?;
    while let Some(row) = rows.next()? {
        let request: [u8; 16] = row.get(0)?;
        // Its messages stand beside one another, for they were held together.
        if waiting.last().is_some_and(|last| last.request == request) {
            continue;
        }
        if waiting.len() == MOST {
            break;
        }
        waiting.push(read(row)?);
    }
    Ok(waiting)
}

/// What was told.
pub(super) fn told(db: &Connection) -> Result<Told, StoreError> {
    let mut statement = db.prepare_cached("SELECT request, again, at FROM notified")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let rows: Vec<([u8; 16], bool, i64)> = rows.collect::<Result<_, _>>()?;
    let last = rows.iter().map(|(.., at)| *at).max().unwrap_or(i64::MIN);
    let in_vain = !rows.is_empty() && !db.prepare_cached(REACHES)?.exists(params![HUB, last])?;
    let requests = rows.into_iter().filter(|(.., at)| !in_vain || *at < last);
    Ok(Told { last, in_vain, requests: requests.map(|(request, again, _)| (request, again)).collect() })
}

/// The notifications that have not left yet.
pub(super) fn unsent(db: &Connection) -> Result<Vec<i64>, StoreError> {
    let mut statement = db.prepare_cached(UNSENT)?;
    let rows = statement.query_map([HUB], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Writes down that these were told; who was told late is not told again.
pub(super) fn write(tx: &Transaction<'_>, these: &[Waiting], now: i64) -> Result<(), StoreError> {
    tx.execute(OVER, [now - GAP_MS])?;
    let sql = "INSERT INTO notified (request, again, at) VALUES (?1, ?2, ?3)
        ON CONFLICT (request) DO UPDATE SET again = ?2, at = ?3";
    for one in these {
        tx.prepare_cached(sql)?.execute(params![one.request, one.again_at() <= now, now])?;
    }
    Ok(())
}

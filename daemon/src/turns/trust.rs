//! How far the words of a turn are trusted now. A row says how far its words were trusted when they came; since then whoever wrote them may
//! have been shut out, or taken out of the configuration.
//!
//! It is looked up by all ids that they came with: a platform names one person by several, and a person has said of any one of them who
//! that is. Of whom nobody says anything any more, they are a stranger. It only ever lowers: who is trusted more by now says it again.
//!
//! Some rows stand as they are, unless somebody has said of their author that they are less: what an operator, a bridge or a signature
//! vouched for when it came.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row, ToSql, Transaction, params};

use super::stored::{Facts, Writer};
use crate::{
    agents,
    message::target::AGENT,
    people::{People, user_id, users},
    policy::Scope,
    store::StoreError,
};

/// The most writers that a task goes back to: more than a turn of a busy room has. One with more counts as a stranger's.
const MAX_WRITERS: usize = 100;

/// The rows of a turn, of a context with or without one, and those that wait with a request.
const OF_TURN: &str = "SELECT inbound FROM turn_items WHERE turn = ?1";
const OF_CONTEXT: &str = "SELECT inbound FROM contexts WHERE hash = ?1
    UNION SELECT turn_items.inbound FROM turn_items JOIN contexts ON contexts.turn = turn_items.turn WHERE hash = ?1";
const OF_REQUEST: &str = "SELECT seq FROM inbound WHERE request = ?1";

/// A row, and whose words it has.
struct Written {
    seq: i64,
    /// How far they were trusted.
    scope: Option<Scope>,
    /// Whether the words are the agent's own, which it wrote down for whoever it was at then.
    is_task: bool,
    unverified: bool,
    writers: Vec<Writer>,
}

impl Written {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (channel, sender): (String, Option<String>) = (row.get(1)?, row.get(2)?);
        let kind: String = row.get(3)?;
        let scope: Option<Scope> = row.get(4)?;
        let facts: Option<String> = row.get(5)?;
        let facts: Facts = facts.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        let is_task = facts.task.is_some();
        // Not every platform tells who took words back; and another agent is trusted as far as its own turn is.
        let is_nobodys = channel == AGENT || kind == "delete" && facts.unverified;
        let writers = match sender {
            _ if is_task => facts.writers,
            Some(sender) if !is_nobodys => {
                let known_as = [sender].into_iter().chain(facts.same_as).map(|id| user_id(&channel, &id));
                let ids = facts.user.into_iter().chain(known_as).collect();
                vec![Writer { ids, vouched: facts.vouched || scope.is_none() }]
            }
            _ => vec![],
        };
        Ok(Self { seq: row.get(0)?, scope, is_task, unverified: facts.unverified, writers })
    }

    /// How far its words are trusted now, if that is to be looked up.
    fn now(&self, db: &Connection, people: &People) -> Result<Option<Scope>, StoreError> {
        let mut least = None;
        for Writer { ids, vouched } in &self.writers {
            let said = users::trusted_by_any(db, people, ids)?;
            least = least.into_iter().chain(said.or((!vouched).then_some(Scope::Unknown))).min();
        }
        // An agent reads its own words, for whomever it wrote them down.
        Ok(least.map(|least| if self.is_task { least.max(Scope::Unknown) } else { least }))
    }
}

fn written(db: &Connection, rows: &str, of: impl ToSql) -> Result<Vec<Written>, StoreError> {
    let sql = format!(
        "SELECT seq, channel, sender, kind, scope, facts FROM inbound WHERE seq IN ({rows}) ORDER BY seq"
    );
    let mut rows = db.prepare_cached(&sql)?;
    Ok(rows.query_map([of], Written::read)?.collect::<Result<_, _>>()?)
}

fn least(db: &Connection, people: &People, rows: &[Written]) -> Result<Option<Scope>, StoreError> {
    let mut least = None;
    for row in rows {
        least = least.into_iter().chain(row.now(db, people)?).min();
    }
    Ok(least)
}

/// How far the least trusted author of a turn's words is trusted now; nothing if that stands as it was.
///
/// # Errors
/// The database.
pub fn of_turn(db: &Connection, people: &People, turn: i64) -> Result<Option<Scope>, StoreError> {
    least(db, people, &written(db, OF_TURN, turn)?)
}

/// The same of the turn that a context was issued for, or, if it has none, of what it was issued for.
///
/// # Errors
/// The database.
pub fn of_context(db: &Connection, people: &People, token: &str) -> Result<Option<Scope>, StoreError> {
    least(db, people, &written(db, OF_CONTEXT, agents::hash(token))?)
}

/// How far somebody is trusted by now whose words wait with a request, by all ids that they came with; nothing if nobody has said, or if
/// nobody vouches that they are who they seem.
///
/// # Errors
/// The database.
pub fn of_request(
    db: &Connection,
    people: &People,
    code: &str,
    subject: &str,
) -> Result<Option<Scope>, StoreError> {
    let rows = written(db, OF_REQUEST, code)?;
    if rows.iter().any(|row| row.unverified) {
        return Ok(None);
    }
    let writers = rows.iter().flat_map(|row| &row.writers);
    let ids = writers.flat_map(|writer| &writer.ids).map(String::as_str);
    users::trusted_by_any(db, people, ids.chain([subject]))
}

/// Whose words a turn of an agent goes back to; those of all turns that it is at, if none is named.
///
/// # Errors
/// The database.
pub fn writers(db: &Connection, agent: &str, turn: Option<&str>) -> Result<Vec<Writer>, StoreError> {
    let sql = "SELECT seq FROM turns WHERE agent = ?1 AND iif(?2 IS NULL, state = 'leased', id = ?2)";
    let turns: Vec<i64> = db
        .prepare_cached(sql)?
        .query_map(params![agent, turn], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut all = BTreeSet::new();
    for turn in turns {
        all.extend(written(db, OF_TURN, turn)?.into_iter().flat_map(|row| row.writers));
    }
    let too_many = (all.len() > MAX_WRITERS).then(|| vec![Writer::default()]);
    Ok(too_many.unwrap_or_else(|| all.into_iter().collect()))
}

/// Looks again how far what stands in a turn is trusted. What is trusted less by now is kept as that, and the words of whoever was shut out
/// leave the turn.
///
/// # Errors
/// The database.
pub(super) fn look_again(tx: &Transaction<'_>, people: &People, turn: i64) -> Result<(), StoreError> {
    for row in written(tx, OF_TURN, turn)? {
        match row.now(tx, people)? {
            Some(Scope::Blocked) => {
                tx.prepare_cached("DELETE FROM turn_items WHERE turn = ? AND inbound = ?")?
                    .execute(params![turn, row.seq])?;
            }
            Some(now) if row.scope.is_some_and(|then| now < then) => {
                tx.prepare_cached("UPDATE inbound SET scope = ? WHERE seq = ?")?
                    .execute(params![now, row.seq])?;
            }
            _ => {}
        }
    }
    Ok(())
}

//! The audit as a person reads it: some rows at a time, those that fit.
//!
//! Rows are read in their order until there are enough, or for [`LONGEST`]: the audit has no index but its numbers, and a filter that
//! fits little would read a year. What a look did not come to is behind its cursor. What happened to one message is looked for from the
//! time of its acceptance on, which is found by halving.

use std::{collections::VecDeque, time::Duration};

use rusqlite::{Connection, OptionalExtension as _, Row as Stored};
use serde_json::Value;

use super::newest;
use crate::store::{StoreError, look::Look};

/// How long one look reads.
const LONGEST: Duration = Duration::from_millis(250);
/// Rows behind a message's end that are still looked at: a hook may not hear of it, or a platform take it back.
const AFTERMATH: i64 = 20_000;

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its number.
    pub seq: i64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Who did it.
    pub actor: String,
    /// What happened, as `noun.verb`.
    pub event: String,
    /// The message it happened to.
    pub message: Option<String>,
    /// The facts.
    pub detail: Value,
    /// The chain's hash up to here.
    pub hash: [u8; 32],
}

/// Which rows are wanted. All that is given must fit.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// After this one, oldest first.
    pub after: Option<i64>,
    /// Before this one, newest first; so it is as well where neither is given.
    pub before: Option<i64>,
    /// With this word, or with this noun before its verb.
    pub event: Option<String>,
    /// Of this actor.
    pub actor: Option<String>,
    /// About this message.
    pub message: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// Some rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// In the order in which they were wanted.
    pub rows: Vec<Row>,
    /// The newest row there is; 0 if none.
    pub newest: i64,
    /// The oldest row there is; 0 if none.
    pub oldest: i64,
    /// Before or after which row to look on, if there may be more.
    pub next: Option<i64>,
}

const UP: &str =
    "SELECT seq, at, actor, event, message, detail, hash FROM audit WHERE seq > ?1 AND seq < ?2 ORDER BY seq";
const DOWN: &str = "SELECT seq, at, actor, event, message, detail, hash FROM audit WHERE seq > ?1 AND seq < ?2 ORDER BY seq DESC";

impl Wanted {
    fn fits(&self, row: &Stored<'_>) -> rusqlite::Result<bool> {
        if let Some(message) = &self.message
            && row.get_ref(4)?.as_str_or_null()? != Some(message)
        {
            return Ok(false);
        }
        if let Some(actor) = &self.actor
            && row.get_ref(2)?.as_str()? != actor
        {
            return Ok(false);
        }
        let Some(event) = &self.event else { return Ok(true) };
        let word = row.get_ref(3)?.as_str()?;
        let rest = word.strip_prefix(event.as_str());
        Ok(rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && !event.contains('.'))))
    }

    /// Between which rows those can be that are about its message.
    fn range(&self, db: &Connection) -> Result<(i64, i64), StoreError> {
        let Some(message) = &self.message else { return Ok((0, i64::MAX)) };
        let sql = "SELECT accepted_at, ended_seq FROM messages WHERE id = ?";
        let read = |row: &Stored<'_>| Ok((row.get(0)?, row.get(1)?));
        let found: Option<(i64, Option<i64>)> =
            db.prepare_cached(sql)?.query_row([message], read).optional()?;
        Ok(match found {
            // Its rows outlive it.
            None => (0, i64::MAX),
            Some((accepted_at, ended)) => {
                let end = ended.map_or(i64::MAX, |ended| ended.saturating_add(AFTERMATH));
                (first_at(db, accepted_at)? - 1, end)
            }
        })
    }
}

/// The first row of this time or later. Times rise with the numbers; where the clock was set, by a little less than that.
fn first_at(db: &Connection, at: i64) -> Result<i64, StoreError> {
    let mut time = db.prepare_cached("SELECT at FROM audit WHERE seq = ?")?;
    let (mut low, mut high) = (oldest(db)?, newest(db)? + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let there: Option<i64> = time.query_row([middle], |row| row.get(0)).optional()?;
        match there {
            Some(there) if there < at => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

fn oldest(db: &Connection) -> Result<i64, StoreError> {
    let sql = "SELECT seq FROM audit ORDER BY seq LIMIT 1";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// Reads rows.
///
/// # Errors
/// The database.
pub fn read(db: &Connection, wanted: &Wanted) -> Result<Rows, StoreError> {
    within(db, wanted, LONGEST)
}

fn within(db: &Connection, wanted: &Wanted, longest: Duration) -> Result<Rows, StoreError> {
    let (newest, oldest) = (newest(db)?, oldest(db)?);
    let (first, last) = wanted.range(db)?;
    let after = first.max(wanted.after.unwrap_or(0));
    let before = last.min(wanted.before.unwrap_or(i64::MAX));
    // What happened to a message begins where it was accepted, and so does the look; the newest of it come first all the same.
    let is_up = wanted.after.is_some() || wanted.message.is_some();
    let turned = is_up && wanted.after.is_none();
    let mut rows = db.prepare_cached(if is_up { UP } else { DOWN })?;
    let mut rows = rows.query([after, before])?;
    let (mut fit, mut next, mut look) = (VecDeque::new(), None, Look::of(longest));
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        if wanted.fits(row)? {
            if fit.len() == wanted.limit {
                if !turned {
                    next = fit.back().map(|row: &Row| row.seq);
                    break;
                }
                fit.pop_front();
            }
            fit.push_back(stored(row)?);
        }
        if look.is_over() {
            next = Some(seq).filter(|_| !turned);
            break;
        }
    }
    let mut rows = Vec::from(fit);
    if turned {
        rows.reverse();
    }
    Ok(Rows { rows, newest, oldest, next })
}

fn stored(row: &Stored<'_>) -> rusqlite::Result<Row> {
    let detail: String = row.get(5)?;
    Ok(Row {
        seq: row.get(0)?,
        at: row.get(1)?,
        actor: row.get(2)?,
        event: row.get(3)?,
        message: row.get(4)?,
        // What somebody tampered with is shown as it stands.
        detail: serde_json::from_str(&detail).unwrap_or(Value::String(detail)),
        hash: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        audit::{Entry, Event, append},
        message::state::State,
        outbox::{Outbox, new_message::NewMessage},
        store::Store,
    };

    struct Fixture {
        _directory: tempfile::TempDir,
        store: Store,
    }

    impl Fixture {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path()).unwrap();
            Self { _directory: directory, store }
        }

        async fn add(&self, actor: &'static str, event: Event, message: Option<&'static str>) {
            let detail = json!({"reason": "because"});
            let entry = Entry { actor, event, message, detail };
            self.store.write(move |tx| append(tx, &entry)).await.unwrap();
        }

        async fn seqs(&self, wanted: Wanted) -> (Vec<i64>, Option<i64>) {
            let rows = self.store.read(move |db| read(db, &wanted)).await.unwrap();
            (rows.rows.into_iter().map(|row| row.seq).collect(), rows.next)
        }
    }

    fn all() -> Wanted {
        Wanted { limit: 50, ..Wanted::default() }
    }

    #[tokio::test]
    async fn rows_come_newest_first_or_after_one_and_by_what_they_say() {
        let fixture = Fixture::new();
        assert_eq!(fixture.seqs(all()).await, (vec![], None));
        for n in 0..6 {
            match n % 3 {
                0 => fixture.add("agent:a", Event::Message(State::Accepted), Some("m1")).await,
                1 => fixture.add("hub", Event::Message(State::Sent), Some("m2")).await,
                _ => fixture.add("operator:ann", Event::TokenAdded, None).await,
            }
        }
        assert_eq!(fixture.seqs(Wanted { limit: 2, ..all() }).await, (vec![6, 5], Some(5)));
        assert_eq!(fixture.seqs(Wanted { before: Some(5), limit: 2, ..all() }).await, (vec![4, 3], Some(3)));
        assert_eq!(fixture.seqs(Wanted { after: Some(4), ..all() }).await, (vec![5, 6], None));
        let of = |event: &str| Wanted { event: Some(event.into()), ..all() };
        assert_eq!(fixture.seqs(of("message")).await.0, [5, 4, 2, 1]);
        assert_eq!(fixture.seqs(of("message.sent")).await.0, [5, 2]);
        assert_eq!(fixture.seqs(of("mess")).await.0, [0; 0], "a word is a whole word");
        assert_eq!(fixture.seqs(of("message.sen")).await.0, [0; 0]);
        let by = Wanted { actor: Some("operator:ann".into()), ..all() };
        assert_eq!(fixture.seqs(by).await.0, [6, 3]);
        let about = |limit| Wanted { message: Some("m1".into()), limit, ..all() };
        assert_eq!(fixture.seqs(about(50)).await.0, [4, 1]);
        assert_eq!(fixture.seqs(about(1)).await.0, [4], "the newest");
    }

    #[tokio::test]
    async fn what_happened_to_a_message_is_looked_for_from_its_acceptance_on() {
        let fixture = Fixture::new();
        for _ in 0..40 {
            fixture.add("hub", Event::TokenAdded, None).await;
        }
        let outbox = Outbox::new(fixture.store.clone());
        tokio::time::sleep(Duration::from_millis(5)).await;
        outbox.accept(NewMessage::example("text")).await.unwrap();
        let id = outbox.get(1).await.unwrap().id;
        let wanted = Wanted { message: Some(id.clone()), ..all() };
        let range = fixture.store.read(move |db| wanted.range(db)).await.unwrap();
        assert_eq!(range, (40, i64::MAX));
        assert_eq!(fixture.seqs(Wanted { message: Some(id), ..all() }).await.0, [41]);
    }

    #[tokio::test]
    async fn a_look_that_takes_too_long_ends_and_says_where_to_go_on() {
        let fixture = Fixture::new();
        fixture.add("operator:ann", Event::TokenAdded, None).await;
        let many = |tx: &rusqlite::Transaction<'_>| {
            for _ in 0..1_200 {
                let event = Event::CallRefused;
                append(tx, &Entry { actor: "nobody", event, message: None, detail: json!({}) })?;
            }
            Ok::<_, StoreError>(())
        };
        fixture.store.write(many).await.unwrap();
        let wanted = |before| Wanted { actor: Some("operator:ann".into()), before, ..all() };
        let (mut before, mut rounds) = (None, 0);
        let found = loop {
            let wanted = wanted(before);
            let rows = fixture.store.read(move |db| within(db, &wanted, Duration::ZERO)).await.unwrap();
            (before, rounds) = (rows.next, rounds + 1);
            if rows.next.is_none() {
                break rows;
            }
            assert!(rows.rows.is_empty());
        };
        assert_eq!((found.rows.len(), rounds, found.newest, found.oldest), (1, 3, 1_201, 1));
    }
}

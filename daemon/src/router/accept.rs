//! What a platform told is written down, and wakes whom it is to wake, in one transaction with the position behind it.

use rusqlite::{Transaction, params};

use super::{
    Routing,
    arrival::{Arrival, Receiving, wirings},
    gates::Said,
    positions,
    repeats::{forget, is_repeated, key_of},
    situation::Why,
};
use crate::{
    channels::received::{AuthorKind, Batch, Event, Received},
    policy::Scope,
    store::StoreError,
};

/// The most rows of a stranger in an hour.
const MAX_OF_STRANGER: u32 = 5;
/// The most rows of anybody else in a minute.
const MAX_OF_PERSON: u32 = 30;

/// What became of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether a turn waits that did not before, or one has grown.
    pub woken: bool,
    /// Rows that were written.
    pub rows: Vec<i64>,
    /// Events that were received before.
    pub repeated: usize,
    /// What a person is to be asked, by its code.
    pub asked: Vec<String>,
    /// What went no further, by why and kind.
    pub dropped: Vec<(Why, String)>,
}

/// Why nothing of a batch is written.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// Since the hooks were asked, an agent has come that they were not asked about.
    #[error("the hooks are to be asked about another agent")]
    NotAsked,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for NotWritten {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Writes a batch down; `said` is what hooks said of each event in it, in their order.
///
/// # Errors
/// Nothing of the batch is written.
pub fn accept(
    tx: &Transaction<'_>,
    at: &Receiving,
    batch: Batch,
    said: &[Said],
    routing: &Routing,
    now: i64,
) -> Result<Outcome, NotWritten> {
    let mut accepting = Accepting::new(tx, routing, now);
    for dropped in batch.dropped {
        accepting.outcome.dropped.push((dropped.reason.into(), clipped(&dropped.what)));
    }
    for (index, received) in batch.received.into_iter().enumerate() {
        let said = said.get(index).unwrap_or(Said::NOTHING);
        match received.bounded() {
            Ok(received) => accepting.one(at, received, said)?,
            Err(dropped) => accepting.outcome.dropped.push((dropped.reason.into(), dropped.what)),
        }
    }
    accepting.count_dropped(at)?;
    for position in batch.positions {
        positions::set(tx, at, &position, now)?;
    }
    Ok(accepting.outcome)
}

/// A platform's own term for a kind of event, short.
fn clipped(what: &str) -> String {
    what.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// One transaction on the way in.
pub(super) struct Accepting<'a> {
    pub(super) tx: &'a Transaction<'a>,
    pub(super) routing: &'a Routing,
    pub(super) now: i64,
    pub(super) outcome: Outcome,
    /// The kinds of what was received before: counted, and no news to whoever hands it over.
    repeats: Vec<String>,
    /// The event before, if it was a message that is new.
    written: Option<Written>,
}

/// A message that was written just before.
struct Written {
    message_id: String,
    address: String,
    text: String,
}

impl Written {
    fn of(received: &Received) -> Option<Self> {
        let Event::Message(words) = &received.event else { return None };
        let (address, text) = (received.conversation.address.clone(), words.text.clone());
        Some(Self { message_id: received.message_id.clone()?, address, text })
    }

    /// Whether an edit has nothing to add: a platform that keeps a message's newest words alone tells one that was edited before it
    /// was read as a message and an edit, both with the same words.
    fn is_same(&self, edit: &Received) -> bool {
        matches!(&edit.event, Event::Edit(words) if words.text == self.text && !words.truncated && words.files.is_empty())
            && edit.message_id.as_deref() == Some(self.message_id.as_str())
            && edit.conversation.address == self.address
    }
}

impl<'a> Accepting<'a> {
    /// Nothing is done in it yet.
    pub(super) fn new(tx: &'a Transaction<'a>, routing: &'a Routing, now: i64) -> Self {
        Self { tx, routing, now, outcome: Outcome::default(), repeats: Vec::new(), written: None }
    }

    /// Takes one event through the stages.
    fn one(&mut self, at: &Receiving, received: Received, said: &Said) -> Result<(), NotWritten> {
        let kind = received.event.word().to_owned();
        let adds_nothing = self.written.take().is_some_and(|before| before.is_same(&received));
        // Its key is kept in either case: it may be told again, alone.
        if is_repeated(self.tx, at, &received, self.now)? || adds_nothing {
            self.outcome.repeated += 1;
            self.repeats.push(kind);
            return Ok(());
        }
        self.written = Written::of(&received);
        let comes_again = matches!(received.event, Event::Webhook(_)).then(|| key_of(at, &received));
        if let Some(why) = self.stage(at, received, said)? {
            // Its program is told to post it again, and then it is new.
            if let (Why::TooMany, Some(key)) = (why, comes_again) {
                forget(self.tx, &key)?;
            }
            self.outcome.dropped.push((why, kind));
        }
        Ok(())
    }

    /// The same for one that is new: why it went no further, if no agent has it.
    fn stage(&mut self, at: &Receiving, received: Received, said: &Said) -> Result<Option<Why>, NotWritten> {
        match received.author.kind {
            AuthorKind::Person => {}
            // What a program was set up to tell answers nobody, and so ends.
            AuthorKind::Program if matches!(received.event, Event::Webhook(_)) => {}
            AuthorKind::Program => return Ok(Some(Why::Program)),
            AuthorKind::Myself => return Ok(Some(Why::OwnWords)),
        }
        if said.given_up {
            return Ok(Some(Why::GateFailed));
        }
        let mut arrival = Arrival::know(self.tx, at, received, said, self.routing, self.now)?;
        let wirings = wirings(self.tx, self.routing, &arrival.place)?;
        if wirings.iter().any(|route| !said.covers(&route.agent)) {
            return Err(NotWritten::NotAsked);
        }
        if wirings.is_empty() {
            return Ok(self.unwired(&mut arrival)?);
        }
        if arrival.scope != Scope::Blocked && self.writes_too_much(&arrival)? {
            return Ok(Some(Why::TooMany));
        }
        let (mut kept, mut why) = (false, None);
        for route in &wirings {
            match self.for_agent(route, &mut arrival)? {
                None => kept = true,
                dropped => why = dropped,
            }
        }
        // It is counted once, and only if no agent has it.
        Ok(why.filter(|_| !kept))
    }

    /// Whether somebody writes more than an agent is to read.
    fn writes_too_much(&self, arrival: &Arrival<'_>) -> Result<bool, StoreError> {
        let (most, within) = match arrival.scope {
            Scope::Owner => return Ok(false),
            Scope::Known => (MAX_OF_PERSON, 60_000),
            // Whoever set it up lets it in, however little its words are trusted.
            _ if arrival.is_programs() => (MAX_OF_PERSON, 60_000),
            _ => (MAX_OF_STRANGER, 3_600_000),
        };
        let mut count = self.tx.prepare_cached(
            "SELECT count(*) FROM inbound WHERE channel = ? AND account = ? AND sender = ? AND at > ?",
        )?;
        let Arrival { at, received, .. } = arrival;
        let since = self.now - within;
        let count: u32 =
            count.query_row(params![at.channel, at.account, received.author.id, since], |row| row.get(0))?;
        Ok(count >= most)
    }

    fn count_dropped(&self, at: &Receiving) -> Result<(), StoreError> {
        let mut count = self.tx.prepare_cached(
            "INSERT INTO drops (channel, account, reason, what, count, last_at) VALUES (?, ?, ?, ?, 1, ?)
             ON CONFLICT DO UPDATE SET count = count + 1, last_at = excluded.last_at",
        )?;
        let repeats = self.repeats.iter().map(|kind| (&Why::Repeated, kind));
        for (why, what) in self.outcome.dropped.iter().map(|(why, what)| (why, what)).chain(repeats) {
            count.execute(params![at.channel, at.account, why.word(), what, self.now])?;
        }
        Ok(())
    }
}

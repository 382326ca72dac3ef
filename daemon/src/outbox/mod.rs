//! The outbox: every message is a row on disk before anything is done with it.
//!
//! A caller gets an id only after its row is committed, so a kill at any instruction loses nothing accepted. States
//! change in one place ([`transition`]), by the table in [`crate::message::state`], in one transaction with the audit
//! row and, for an end that the agent must hear of, the notice to it. Failed, denied and
//! expired messages keep their payload and their reason like all others, until their retention is over.
//!
//! - [`row`]: messages and parts as they lie in the database, and `queries`: what it is asked all the time;
//! - [`accept`]: the write that precedes the answer, within [`bounds`], and not of what was taken a moment ago ([`recent`]);
//! - [`transition`]: every later change;
//! - [`located`]: where messages are, by what was sent and heard;
//! - [`notices`]: what agents are told;
//! - [`edits`]: messages that were edited, where an edit is a message of its own;
//! - [`figures`]: the last day in numbers;
//! - [`form_submissions`]: what an account is told of its own messages that hears from its platform;
//! - [`own`]: whether what a platform tells of is the account's own;
//! - [`outcome`]: what an operator says became of a part that is uncertain;
//! - [`pauses`]: when platforms take something again;
//! - [`restored`]: what a restored backup holds is not sent;
//! - [`seen`]: when people got and read what was sent to them;
//! - [`search`]: those that fit what somebody looks for;
//! - [`transcript`]: what arrived of what an agent has said;
//! - [`retention`]: how long ended messages are kept;
//! - [`settled`]: what a clock that is set late makes of deadlines.

pub mod accept;
pub mod bounds;
pub mod digest;
pub mod edits;
pub mod figures;
pub mod form_submissions;
pub mod located;
pub mod new_message;
pub mod notices;
pub mod outcome;
pub mod own;
pub mod pauses;
pub(crate) mod queries;
pub mod quoted;
mod recent;
pub mod reconcile;
pub mod restored;
pub mod retention;
pub mod row;
pub mod search;
mod seen;
mod settled;
pub mod transcript;
pub mod transition;
pub mod verify;
mod words;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension as _, params};
use tokio::sync::broadcast;

use crate::{
    clock,
    message::{
        MessageId,
        receipt::{PartReceipt, Receipt},
        state::{PartState, State},
    },
    store::{Store, StoreError, now_ms},
};
use bounds::Bounds;
use pauses::Pauses;
use recent::Recent;
use row::{Head, Lane, MessageRow, PartRow};
use transition::TransitionError;

/// How many changes a slow watcher may fall behind before it has to look again.
const WATCH: usize = 1024;

/// Between two tries to write down what happened.
const AGAIN: Duration = Duration::from_secs(1);

/// A handle on the outbox. Clones share it.
#[derive(Clone)]
pub struct Outbox {
    store: Store,
    changes: broadcast::Sender<i64>,
    arrivals: Arc<Mutex<Arrivals>>,
    bounds: Bounds,
    recent: Arc<Recent>,
    sights: Arc<seen::Sights>,
}

/// Figures for a person's eyes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Messages on their way.
    pub queued: u16,
    /// Accounts whose platform has asked for a pause.
    pub paused: u16,
    /// Messages that have arrived since the hub started.
    pub arrivals: Arrivals,
}

/// Messages that have arrived since the hub started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrivals {
    /// How many.
    pub count: u32,
    /// When the last did.
    pub last: Option<Instant>,
    /// The channel on which it did.
    pub channel: Option<String>,
}

/// Which messages to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this agent's.
    pub agent: Option<String>,
    /// Only those in this state.
    pub state: Option<State>,
    /// At most this many, newest first.
    pub limit: u32,
}

impl Outbox {
    /// The outbox in `store`.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            changes: broadcast::channel(WATCH).0,
            arrivals: Arc::default(),
            bounds: Bounds::default(),
            recent: Arc::new(Recent::within(Duration::ZERO)),
            sights: Arc::default(),
        }
    }

    /// The same with other bounds.
    pub fn bounded(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The same, where a message that comes again within this time is the first one.
    pub fn deduplicating(self, window: Duration) -> Self {
        // What was taken before is remembered as long as the window stays the same.
        if self.recent.is_within(window) {
            return self;
        }
        Self { recent: Arc::new(Recent::within(window)), ..self }
    }

    /// The database, for modules whose rows change together with a message's.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Sequence numbers of messages whose rows have changed, as they change.
    pub fn changes(&self) -> broadcast::Receiver<i64> {
        self.changes.subscribe()
    }

    /// Tells watchers that a message has changed; call it after the commit.
    pub fn changed(&self, seq: i64) {
        // No watcher is no error.
        let _ = self.changes.send(seq);
    }

    /// Runs `work` on the message's row and tells watchers, whoever still waits for it.
    pub async fn change<T: Send + 'static>(
        &self,
        seq: i64,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, TransitionError> + Send + 'static,
    ) -> Result<T, TransitionError> {
        let changes = self.changes.clone();
        self.store
            .write_then(work, move |_| {
                // No watcher is no error.
                let _ = changes.send(seq);
            })
            .await
    }

    /// The same for what has happened already, such as that a platform has a part: it is written down however long the
    /// disk takes to have room for it.
    pub async fn record<T: Send + 'static>(
        &self,
        seq: i64,
        work: impl Fn(&rusqlite::Transaction<'_>) -> Result<T, TransitionError> + Send + Sync + 'static,
    ) -> Result<T, TransitionError> {
        let work = Arc::new(work);
        loop {
            let again = Arc::clone(&work);
            match self.change(seq, move |tx| again(tx)).await {
                Err(TransitionError::Store(error)) if error.passes() => {
                    tracing::error!(%error, "cannot write down what happened; trying again");
                    tokio::time::sleep(AGAIN).await;
                }
                done => return done,
            }
        }
    }

    /// The message with this id.
    pub async fn find(&self, id: &str) -> Result<Option<MessageRow>, StoreError> {
        self.store
            .look(|db| Ok(db.prepare_cached(queries::BY_ID)?.query_row([id], MessageRow::read).optional()?))
    }

    /// The message in this row.
    pub async fn get(&self, seq: i64) -> Result<MessageRow, StoreError> {
        self.store.look(|db| MessageRow::get(db, seq))
    }

    /// Messages, newest first.
    pub async fn list(&self, filter: Filter) -> Result<Vec<MessageRow>, StoreError> {
        self.store
            .read(move |db| {
                let sql = if filter.agent.is_some() { queries::OF_AGENT } else { queries::ALL };
                let mut rows = db.prepare(sql)?;
                let rows = rows.query_map(
                    params![filter.agent, filter.state.map(State::word), filter.limit],
                    MessageRow::read,
                )?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Messages in one state that is not final, oldest first.
    pub async fn live_in_state(&self, state: State) -> Result<Vec<MessageRow>, StoreError> {
        self.store
            .read(move |db| {
                let mut rows = db.prepare(queries::LIVE_IN_STATE)?;
                let rows = rows.query_map([state], MessageRow::read)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Shows `visitor` the first message of every lane that has one, with all pauses, and gives it back. One by one: with
    /// a lane each for a hundred thousand people, a list of them would be the largest thing in the hub.
    pub async fn heads<V: Send + 'static>(
        &self,
        mut visitor: V,
        mut see: impl FnMut(&mut V, &Pauses, Head) + Send + 'static,
    ) -> Result<V, StoreError> {
        self.store
            .read(move |db| {
                let pauses = Pauses::read(db)?;
                let mut rows = db.prepare_cached(queries::HEADS)?;
                let mut rows = rows.query([])?;
                while let Some(row) = rows.next()? {
                    see(&mut visitor, &pauses, Head::read(row)?);
                }
                Ok(visitor)
            })
            .await
    }

    /// Shows `visitor` the first messages of these lanes and of those that these messages are in, but for lanes that it
    /// does not care about. Says whether one of the messages is held.
    pub fn heads_of<V>(
        &self,
        visitor: &mut V,
        messages: &[i64],
        lanes: Vec<Lane>,
        cares: impl Fn(&V, &Lane) -> bool,
        mut see: impl FnMut(&mut V, &Pauses, Head),
    ) -> Result<bool, StoreError> {
        self.store.look(|db| {
            let (mut lanes, mut held) = (HashSet::<Lane>::from_iter(lanes), false);
            let mut of = db.prepare_cached(queries::LANE_OF)?;
            for seq in messages {
                let found = of.query_row([seq], |row| Ok((Lane::read(row)?, row.get(3)?))).optional()?;
                let Some((lane, state)) = found else { continue };
                held |= state == State::Held;
                // Who is not released has no place in it.
                if !matches!(state, State::Accepted | State::Held) {
                    lanes.insert(lane);
                }
            }
            lanes.retain(|lane| cares(visitor, lane));
            let pauses = Pauses::read(db)?;
            for lane in lanes {
                if let Some(head) = Head::of(db, &lane)? {
                    see(visitor, &pauses, head);
                }
            }
            Ok(held)
        })
    }

    /// The first message of one lane, with all pauses.
    pub fn head(&self, lane: &Lane) -> Result<Option<(Head, Pauses)>, StoreError> {
        self.store.look(|db| Head::of(db, lane)?.map(|head| Ok((head, Pauses::read(db)?))).transpose())
    }

    /// All pauses that platforms asked for.
    pub async fn pauses(&self) -> Result<Pauses, StoreError> {
        self.store.look(Pauses::read)
    }

    /// What is under way, and what has arrived.
    pub async fn totals(&self) -> Result<Totals, StoreError> {
        let counts = self.store.read(|db| {
            let queued: i64 = db.query_row(queries::QUEUED, [], |row| row.get(0))?;
            let paused: i64 = db.query_row(queries::PAUSED, [now_ms()], |row| row.get(0))?;
            Ok::<_, StoreError>([queued, paused].map(|count| u16::try_from(count).unwrap_or(u16::MAX)))
        });
        let [queued, paused] = counts.await?;
        let arrivals = self.arrivals.lock().expect("counting does not panic").clone();
        Ok(Totals { queued, paused, arrivals })
    }

    /// Counts a message that arrived on this channel.
    pub fn arrived(&self, channel: &str) {
        let mut arrivals = self.arrivals.lock().expect("counting does not panic");
        arrivals.count = arrivals.count.saturating_add(1);
        arrivals.last = Some(Instant::now());
        channel.clone_into(arrivals.channel.get_or_insert_default());
    }

    /// A message's parts, in order.
    pub async fn parts(&self, seq: i64) -> Result<Vec<PartRow>, StoreError> {
        self.store.look(|db| PartRow::all(db, seq))
    }

    /// What a caller is told of a message.
    pub async fn receipt(&self, seq: i64) -> Result<Receipt, StoreError> {
        self.store.look(|db| receipt(db, MessageRow::get(db, seq)?))
    }
}

/// Until when a held message waits for a person, and whether software has decided on it.
const APPROVAL: &str = "SELECT deadline,
    EXISTS (SELECT 1 FROM devices WHERE key = approvals.device AND software)
    OR EXISTS (SELECT 1 FROM votes JOIN devices ON key = votes.device WHERE votes.request = approvals.request AND software)
    FROM approvals WHERE message = ?";

/// What a caller is told of a message.
pub(crate) fn receipt(db: &Connection, message: MessageRow) -> Result<Receipt, StoreError> {
    let parts = PartRow::all(db, message.seq)?;
    let (seq, state) = (message.seq, message.state);
    let wait = pauses::wait_of(db, &message)?;
    // Nobody has seen what no platform has.
    let mut seen = match parts.iter().any(|part| part.platform_id.is_some()) {
        true => seen::of(db, message.seq)?,
        false => HashMap::new(),
    };
    let told = |PartRow { index, state: of_part, platform_id, error, recipients, .. }| {
        let (delivered_at, read_at) = seen.remove(&index).unwrap_or_default();
        let (delivered_at, read_at) = (delivered_at.map(clock::rfc3339), read_at.map(clock::rfc3339));
        PartReceipt {
            platform_id,
            recipients,
            delivered_at,
            read_at,
            ..PartReceipt::new(state, of_part, error)
        }
    };
    let receipt = receipt_of(message, parts.into_iter().map(told).collect());
    let receipt = match &wait {
        Some(wait) => wait.told(receipt),
        None => receipt,
    };
    let waits: Option<(i64, bool)> =
        db.prepare_cached(APPROVAL)?.query_row([seq], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((deadline, decided_by_software)) = waits else { return Ok(receipt) };
    let deadline = (state == State::Held).then(|| clock::rfc3339(deadline));
    Ok(Receipt { deadline, decided_by_software, ..receipt })
}

/// The same of a message with these parts.
pub(crate) fn receipt_of(message: MessageRow, parts: Vec<PartReceipt>) -> Receipt {
    let (reason, error) = message.why();
    let confirmed = parts.iter().filter(|part| part.state == PartState::Confirmed).count();
    Receipt {
        ok: message.state.is_ok(),
        to: message.target().to_string(),
        written_as: message.written_as,
        id: MessageId(message.id),
        state: message.state,
        hint: Receipt::hint(message.state, message.code.as_deref()).map(Cow::Borrowed),
        deadline: None,
        paused_until: None,
        asked: None,
        decided_by_software: false,
        code: message.code,
        deduplicated: false,
        stand_in: None,
        reason,
        error,
        history: message.history,
        detail: parts
            .iter()
            .filter_map(|part| part.recipients.as_ref())
            .find(|of| of.is_partial())
            .map(ToString::to_string),
        attachments: message.attachments,
        sent: (!parts.is_empty()).then(|| format!("{confirmed} of {}", parts.len())),
        parts,
    }
}

//! What was taken a moment ago: the same message again is answered with the first one's receipt.
//!
//! Agents repeat themselves when an answer is slow. The same means the same agent, account, target, thread, action and
//! payload, however it was handed in: what one call sends to one target, as an answer or with a file, and what another sends to several is the
//! same message where that is the same. What nobody has to be asked about is never the same as what somebody has to: a reply in its own
//! conversation is said, whatever of the same words waits for approval elsewhere, and what has to be approved is told no receipt of what
//! had not to be. Only a message that is on its way or was sent counts, for one that failed may well be meant to go again; of questions to
//! a person, only one that waits for its answer. What
//! changes something that is there (a reaction, an edit, a pin) is the same only while nothing else has changed something
//! in that conversation: a reaction, its removal and the reaction again are three. It is asked within the transaction that
//! would write the second one, so two at once cannot both be the first.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension as _};
use sha2::{Digest as _, Sha256};

use super::{new_message::NewMessage, queries, row::MessageRow};
use crate::{
    message::{attachment::Attachment, operation::Operation, state::State, target::PERSON},
    store::StoreError,
};

/// The most that are remembered, however many come: about 4 MB.
const MOST: usize = 65_536;

/// The messages of the last moments.
pub(super) struct Recent {
    /// Milliseconds.
    window: i64,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The message that had this payload last, and when it came; beside these, the last one that changed something, for
    /// each conversation.
    by: HashMap<u128, (i64, i64)>,
    /// When each came, oldest first.
    order: VecDeque<(i64, u128)>,
    /// Whether what was taken before a restart is among them.
    complete: bool,
}

impl Recent {
    pub(super) fn within(window: Duration) -> Self {
        Self { window: milliseconds(window), seen: Mutex::default() }
    }

    /// Whether its window is this one.
    pub(super) fn is_within(&self, window: Duration) -> bool {
        self.window == milliseconds(window)
    }

    /// Remembers what was taken before a restart, from the newest back, unless it has: with the first message that comes, so
    /// that a hub which was stopped in a flood is ready as soon as any other.
    fn recall(&self, db: &Connection, now: i64) -> Result<(), StoreError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.complete {
            return Ok(());
        }
        let mut asked = db.prepare("SELECT EXISTS (SELECT 1 FROM approvals WHERE message = ?)")?;
        let mut rows = db.prepare(queries::NEWEST)?;
        let rows = rows.query_map([MOST as i64], MessageRow::read)?;
        let mut found = Vec::new();
        for message in rows {
            let message = message?;
            if message.accepted_at < now.saturating_sub(self.window) {
                break;
            }
            let place = place([&message.account, &message.channel, &message.address], &message.operation);
            let was_asked: bool = asked.query_row([message.seq], |row| row.get(0))?;
            found.push((message.accepted_at, apart(of_row(&message), was_asked), place, message.seq));
        }
        for (at, key, place, seq) in found.into_iter().rev() {
            seen.remember(at, key, seq);
            if let Some(place) = place {
                seen.remember(at, place, seq);
            }
        }
        seen.complete = true;
        Ok(())
    }

    /// What is needed to know this message again. On the caller's thread: the writer's is the one that all wait for.
    pub(super) fn mark(self: &Arc<Self>, new: &NewMessage) -> Mark {
        let payload = (self.window > 0).then(|| of_new(new));
        let place = place([&new.account, &new.target.channel, &new.target.address], &new.operation);
        Mark { recent: Arc::clone(self), payload, asks: new.asks, place }
    }
}

/// A message that is about to be written, and may repeat one.
pub(super) struct Mark {
    recent: Arc<Recent>,
    /// None where nothing is compared.
    payload: Option<u128>,
    /// Whether a person has to be asked.
    asks: bool,
    /// Where it changes something.
    place: Option<u128>,
}

impl Mark {
    /// Call it within the transaction, before the message is in it.
    pub(super) fn recall(&self, db: &Connection, now: i64) -> Result<(), StoreError> {
        if self.payload.is_some() { self.recent.recall(db, now) } else { Ok(()) }
    }

    /// The message that this one repeats, if it does.
    pub(super) fn same(&self, db: &Connection, now: i64) -> Result<Option<i64>, StoreError> {
        let Some(payload) = self.payload else { return Ok(None) };
        let seq = {
            let mut seen = self.recent.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.forget(now.saturating_sub(self.recent.window));
            let last = |mark: u128| seen.by.get(&mark).map(|&(seq, _)| seq);
            last(apart(payload, self.asks))
                .filter(|first| self.place.is_none_or(|place| last(place) == Some(*first)))
        };
        let Some(seq) = seq else { return Ok(None) };
        // A transaction that came to nothing leaves a number here that another message may have now.
        let first = db.prepare_cached(queries::BY_SEQ)?.query_row([seq], MessageRow::read).optional()?;
        Ok(first.filter(|first| counts(first) && of_row(first) == payload).map(|first| first.seq))
    }

    /// Notes it under its number, as it is being written.
    pub(super) fn note(&self, seq: i64, at: i64) {
        if let Some(payload) = self.payload {
            let mut seen = self.recent.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.remember(at, apart(payload, self.asks), seq);
            if let Some(place) = self.place {
                seen.remember(at, place, seq);
            }
        }
    }
}

impl Seen {
    fn remember(&mut self, at: i64, payload: u128, seq: i64) {
        if self.order.len() == MOST {
            self.forget_oldest();
        }
        self.order.push_back((at, payload));
        self.by.insert(payload, (seq, at));
    }

    fn forget(&mut self, before: i64) {
        while self.order.front().is_some_and(|(at, _)| *at < before) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        // One that came again later is remembered by that.
        if let Some((at, payload)) = self.order.pop_front()
            && self.by.get(&payload).is_some_and(|&(_, last)| last <= at)
        {
            self.by.remove(&payload);
        }
    }
}

fn milliseconds(window: Duration) -> i64 {
    i64::try_from(window.as_millis()).unwrap_or(i64::MAX)
}

fn counts(message: &MessageRow) -> bool {
    match message.state {
        State::Accepted | State::Held => true,
        // Yes to a question is no yes to the next one.
        State::Ready | State::Sending | State::Sent => message.channel != PERSON,
        _ => false,
    }
}

/// A payload about which somebody has to be asked, or nobody.
fn apart(payload: u128, asks: bool) -> u128 {
    payload & !1 | u128::from(asks)
}

fn of_new(new: &NewMessage) -> u128 {
    payload(
        [
            Some(&*new.agent),
            Some(&*new.account),
            Some(&*new.target.channel),
            Some(&*new.target.address),
            new.target.thread.as_deref(),
            new.reply_to.as_deref(),
            Some(done(new.action, &new.operation)),
            Some(&*new.text),
        ],
        &new.operation,
        &new.attachments,
        new.silent,
    )
}

fn of_row(message: &MessageRow) -> u128 {
    payload(
        [
            Some(&*message.agent),
            Some(&*message.account),
            Some(&*message.channel),
            Some(&*message.address),
            message.thread.as_deref(),
            message.reply_to.as_deref(),
            Some(done(&message.action, &message.operation)),
            // What the agent wrote, whatever the hooks made of it.
            Some(message.written.as_deref().unwrap_or(&message.text)),
        ],
        &message.operation,
        &message.attachments,
        message.silent,
    )
}

/// What is done: all that sends is one, for what it answers, its files and the rest are compared by themselves.
fn done<'a>(action: &'a str, operation: &Operation) -> &'a str {
    if matches!(operation, Operation::Send(_)) { "send" } else { action }
}

/// The account and the conversation in which an operation changes something; none where it only adds.
fn place(names: [&str; 3], operation: &Operation) -> Option<u128> {
    let adds = matches!(operation, Operation::Send(_) | Operation::Poll(_) | Operation::Thread { .. });
    (!adds).then(|| {
        let mut hash = Sha256::new();
        for name in names {
            field(&mut hash, Some(name));
        }
        half(hash)
    })
}

fn field(hash: &mut Sha256, field: Option<&str>) {
    // Its length before it, so that no two lists of fields read the same.
    hash.update((field.map_or(u64::MAX, |field| field.len() as u64)).to_le_bytes());
    hash.update(field.unwrap_or_default());
}

fn half(hash: Sha256) -> u128 {
    let digest: [u8; 32] = hash.finalize().into();
    let (half, _) = digest.split_first_chunk::<16>().expect("32 bytes have a first half");
    u128::from_le_bytes(*half)
}

fn payload(fields: [Option<&str>; 8], operation: &Operation, files: &[Attachment], silent: bool) -> u128 {
    let mut hash = Sha256::new();
    for one in fields {
        field(&mut hash, one);
    }
    hash.update([u8::from(silent)]);
    if !operation.is_plain() {
        hash.update(serde_json::to_vec(operation).expect("a deed is plain data with text for keys"));
    }
    for file in files {
        hash.update(file.sha256.0);
        hash.update(file.caption.as_deref().unwrap_or_default());
    }
    half(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_the_window_is_forgotten_unless_it_came_again() {
        let mut seen = Seen::default();
        seen.remember(1, 7, 1);
        seen.remember(2, 8, 2);
        seen.remember(3, 7, 3);
        seen.forget(3);
        assert_eq!(seen.by.get(&7), Some(&(3, 3)));
        assert_eq!(seen.by.get(&8), None);
        seen.forget(4);
        assert!(seen.by.is_empty() && seen.order.is_empty());
    }

    #[test]
    fn another_word_agent_or_place_is_another_message() {
        let one = NewMessage::example("Hello");
        let same = of_new(&one);
        assert_eq!(of_new(&NewMessage::example("Hello")), same);
        assert_ne!(of_new(&NewMessage::example("Hello!")), same);
        assert_ne!(of_new(&NewMessage { agent: "b".into(), ..one.clone() }), same);
        assert_ne!(of_new(&NewMessage { silent: true, ..one.clone() }), same);
        assert_eq!(of_new(&NewMessage { action: "broadcast", ..one.clone() }), same);
        let operation = Operation::Delete { message: "5".into() };
        assert_ne!(of_new(&NewMessage { operation, ..one.clone() }), same);
        let mut thread = one.clone();
        thread.target.thread = Some("1".into());
        assert_ne!(of_new(&thread), same);
    }
}

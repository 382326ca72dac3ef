//! What a platform tells of a part later: of one whose answer was lost, and of one that it did not deliver after all.
//!
//! Only by its own account is a part settled. One that is unknown is what it is told to be; one that is confirmed has failed
//! after all where its platform says so of what it had confirmed. What is on its way has an answer of its own to come. A
//! message that ended because of it ends anew; nothing more of it is sent by itself, for what came after it in its
//! conversation may be there already, but for what stands in its request for this very case.

use rusqlite::{Connection, OptionalExtension as _, Transaction};
use serde_json::json;

use super::{
    digest,
    row::{MessageRow, PartRow},
    transition::{self, Change, TransitionError},
};
use crate::{
    audit::{self, Entry},
    message::{
        refusal::{Code, NOT_SENT},
        state::{Actor, Event, PartState, State},
    },
    store::{StoreError, now_ms},
};

/// Which message a part belongs to.
pub fn message_of(db: &Connection, key: &str) -> Result<Option<i64>, StoreError> {
    let mut found = db.prepare_cached("SELECT message FROM parts WHERE key = ?")?;
    Ok(found.query_row([key], |row| row.get(0)).optional()?)
}

/// What a platform had taken, and did not deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// The platform's id of it: what is told of an earlier attempt says nothing of a later one.
    pub id: String,
    /// Why, in the platform's words.
    pub why: String,
    /// The part goes once more: what was approved has something else in it for this very case.
    pub again: bool,
}

/// What came of what a platform told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// There was nothing to settle.
    Nothing,
    /// It is settled.
    Now,
    /// It is about a message that is leaving just now: to be told again.
    Later,
}

/// Settles the part of this key, an account's own, by what its platform told: its id, or why it never arrives.
pub fn settle(
    tx: &Transaction<'_>,
    of: (&str, &str),
    key: &str,
    outcome: &Result<String, Undelivered>,
) -> Result<Settled, TransitionError> {
    let Some(seq) = message_of(tx, key)? else { return Ok(Settled::Nothing) };
    let message = MessageRow::get(tx, seq)?;
    let parts = transition::parts(tx, seq)?;
    let Some(part) = parts.iter().find(|part| part.key == key) else { return Ok(Settled::Nothing) };
    if (message.channel.as_str(), message.account.as_str()) != of {
        return Ok(Settled::Nothing);
    }
    let by = format!("platform:{}:{}", of.0, of.1);
    match (part.state, outcome) {
        (PartState::Unknown, Ok(id)) => arrived(tx, message, &parts, part.index, id, &by),
        (PartState::Unknown, Err(lost)) => match message.state {
            State::Unknown => undelivered(tx, message, part.index, lost, &by),
            // It waits to be sent again, and goes.
            _ => Ok(Settled::Nothing),
        },
        (PartState::Confirmed, Err(lost)) if part.platform_id.as_ref() == Some(&lost.id) => {
            match message.state {
                State::Sent => undelivered(tx, message, part.index, lost, &by),
                State::Ready if lost.again => {
                    transition::settle_part(tx, seq, part.index, PartState::Planned, None, None)?;
                    Ok(Settled::Now)
                }
                State::Ready | State::Sending => Ok(Settled::Later),
                // It has come to an end that says that not all of it arrived.
                _ => {
                    transition::settle_part(tx, seq, part.index, PartState::Failed, None, Some(&lost.why))?;
                    let detail = json!({"part": part.index + 1, "why": lost.why, "outcome": digest::outcome(tx, seq)?});
                    let message = Some(message.id.as_str());
                    audit::append(
                        tx,
                        &Entry { actor: &by, event: audit::Event::PartUndelivered, message, detail },
                    )?;
                    Ok(Settled::Now)
                }
            }
        }
        _ => Ok(Settled::Nothing),
    }
}

/// What nobody knew of has arrived.
fn arrived(
    tx: &Transaction<'_>,
    message: MessageRow,
    parts: &[PartRow],
    index: u32,
    id: &str,
    by: &str,
) -> Result<Settled, TransitionError> {
    // One that waits to be sent again is not to be; of one that failed, its next attempt will hear by itself.
    if !matches!(message.state, State::Unknown | State::Ready) {
        return Ok(Settled::Nothing);
    }
    transition::settle_part(tx, message.seq, index, PartState::Confirmed, Some(id), None)?;
    if message.state == State::Ready {
        return Ok(Settled::Now);
    }
    if parts.iter().all(|other| other.index == index || other.state == PartState::Confirmed) {
        let ids = transition::platform_ids(tx, message.seq)?;
        let sent = change(Event::Confirm, by).facts(json!({"platform_ids": ids}));
        transition::apply_to(tx, message, &sent)?;
    } else {
        let reason = "what nobody knew of has arrived; the rest was not sent, and may be tried again";
        let failed = Change { reason: Some(reason), ..change(Event::Fail, by) }.code(Code::ExecutionFailed);
        transition::apply_to(tx, message, &failed)?;
    }
    Ok(Settled::Now)
}

/// A part of a message that has ended did not arrive: it goes once more, or the message has failed.
fn undelivered(
    tx: &Transaction<'_>,
    message: MessageRow,
    index: u32,
    lost: &Undelivered,
    by: &str,
) -> Result<Settled, TransitionError> {
    let seq = message.seq;
    if lost.again && message.deadline > now_ms() {
        transition::settle_part(tx, seq, index, PartState::Planned, None, None)?;
        let again = Change { reason: Some(&lost.why), ..change(Event::Retry, by) };
        transition::apply_to(tx, message, &again)?;
        transition::postpone(tx, seq, now_ms(), false)?;
        return Ok(Settled::Now);
    }
    transition::settle_part(tx, seq, index, PartState::Failed, None, Some(&lost.why))?;
    let reason = format!("{NOT_SENT}{}", lost.why);
    let failed = Change { reason: Some(&reason), ..change(Event::Fail, by) }.code(Code::ExecutionFailed);
    transition::apply_to(tx, message, &failed)?;
    Ok(Settled::Now)
}

fn change(event: Event, by: &str) -> Change<'_> {
    Change { event, actor: Actor::Platform, by, code: None, reason: None, facts: None }
}

//! What an operator says became of a part of which nobody knows whether it arrived.
//!
//! A crash in the midst of a message leaves one part uncertain, and the parts behind it unsent. Somebody who can look says
//! which it is; then the rest goes on, from that part or from the one behind it. What was said, or that the part went again
//! whatever had become of it, stays in the receipt: a message that was sent like this is never a clean `sent`.

use rusqlite::{Transaction, params};
use serde_json::json;

use super::{
    digest,
    row::MessageRow,
    transition::{self, Change, TransitionError},
};
use crate::{
    audit::{self, Entry},
    message::{
        refusal::Code,
        state::{Actor, Event, PartState, next},
    },
    store::now_ms,
};

/// Why a message ends of which somebody has said what became of it.
const OVER: &str = "its time was over before the rest of it could be sent: nothing more of it is sent; send it anew if it is still wanted";

/// The longest reason, in characters.
pub const MAX_REASON_CHARS: usize = 500;

/// What an operator says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Which part, counted from one; the only uncertain one where it is left out.
    pub part: Option<u32>,
    /// Whether it arrived.
    pub arrived: bool,
    /// How they know. Not empty.
    pub reason: String,
    /// Who says so, for the audit.
    pub by: String,
}

/// Why nothing was settled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSettled {
    /// No hook, policy or person has let the message out.
    #[error("the message was never let out: nothing of it can have arrived from this hub")]
    NeverLetOut,
    /// The part is not uncertain, or there is none of this number.
    #[error("part {0} is none of which nobody knows whether it arrived")]
    Certain(u32),
    /// Several are uncertain, and none was named.
    #[error("several parts may have arrived: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Several(Vec<u32>),
}

/// Writes down what became of a part. If no other part is uncertain, the rest goes on; if there is no rest, the message is
/// sent, and if there is one and its time is over, the message ends here, so that whoever said so hears it at once.
pub fn settle(
    tx: &Transaction<'_>,
    seq: i64,
    outcome: &Outcome,
) -> Result<Result<(), NotSettled>, TransitionError> {
    let Outcome { arrived, reason, by, .. } = outcome;
    let message = MessageRow::get(tx, seq)?;
    next(message.state, Event::Settle, Actor::Operator)?;
    if !transition::is_released(tx, seq)? {
        return Ok(Err(NotSettled::NeverLetOut));
    }
    let parts = transition::parts(tx, seq)?;
    let uncertain = parts.iter().filter(|part| part.state == PartState::Unknown);
    let uncertain: Vec<u32> = uncertain.map(|part| part.index + 1).collect();
    let number = match (outcome.part, uncertain.as_slice()) {
        (Some(number), uncertain) if uncertain.contains(&number) => number,
        (Some(number), _) => return Ok(Err(NotSettled::Certain(number))),
        (None, [only]) => *only,
        (None, several) => return Ok(Err(NotSettled::Several(several.to_vec()))),
    };
    let state = if *arrived { PartState::Confirmed } else { PartState::Planned };
    transition::settle_part(tx, seq, number - 1, state, None, None)?;
    note(tx, seq, &settled_line(number.into(), *arrived, reason))?;
    let mut detail = json!({"part": number, "arrived": arrived, "reason": reason});
    // It may stay at its end, which is another one now.
    detail["outcome"] = digest::outcome(tx, seq)?.into();
    audit::append(
        tx,
        &Entry { actor: by, event: audit::Event::PartSettled, message: Some(&message.id), detail },
    )?;
    if uncertain.len() > 1 {
        return Ok(Ok(()));
    }
    let change =
        Change { event: Event::Settle, actor: Actor::Operator, by, code: None, reason: None, facts: None };
    transition::apply(tx, seq, &change)?;
    transition::postpone(tx, seq, now_ms(), false)?;
    if transition::parts(tx, seq)?.iter().all(|part| part.state == PartState::Confirmed) {
        // Nothing is left that would have to wait for its lane.
        transition::apply(tx, seq, &Change::hub(Event::Take, None))?;
        let ids = transition::platform_ids(tx, seq)?;
        let sent = Change::hub(Event::Confirm, None).facts(json!({"platform_ids": ids}));
        transition::apply(tx, seq, &sent)?;
    } else if message.deadline <= now_ms() {
        transition::apply(tx, seq, &Change::hub(Event::Fail, Some(OVER)).code(Code::Expired))?;
    }
    Ok(Ok(()))
}

/// The line of a message's history that says what an operator said of a part.
pub(super) fn settled_line(part: u64, arrived: bool, reason: &str) -> String {
    let word = if arrived { "arrived" } else { "not arrived" };
    format!("part {part}: settled by the operator as {word}: {reason}")
}

/// Writes down for the receipt that the uncertain parts of a message go again, whatever became of them: the lines, for the audit.
pub fn sent_again(tx: &Transaction<'_>, seq: i64) -> Result<Vec<String>, TransitionError> {
    let parts = transition::parts(tx, seq)?.into_iter().filter(|part| part.state == PartState::Unknown);
    let lines: Vec<String> = parts
        .map(|part| format!("part {}: sent again by the operator; it may have arrived twice", part.index + 1))
        .collect();
    for line in &lines {
        note(tx, seq, line)?;
    }
    Ok(lines)
}

/// Adds a line to a message's history. The audit's row of what is written down here has the line as well.
pub(super) fn note(tx: &Transaction<'_>, seq: i64, line: &str) -> Result<(), TransitionError> {
    tx.prepare_cached(
        "UPDATE messages SET history = json_insert(coalesce(history, '[]'), '$[#]', ?) WHERE seq = ?",
    )?
    .execute(params![line, seq])?;
    Ok(())
}

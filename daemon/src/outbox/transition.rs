//! Every change of a message after it was accepted.

use rusqlite::{Connection, Transaction, params};
use serde_json::{Value, json};

use super::{
    digest, notices,
    row::{MessageRow, PartRow},
};
use crate::{
    audit::{self, Entry},
    message::{
        recipients::Recipients,
        refusal::Code,
        state::{Actor, Event, IllegalTransition, PartState, State, next},
    },
    store::{StoreError, now_ms},
};

/// Why a message's row did not change.
#[derive(Debug, thiserror::Error)]
pub enum TransitionError {
    /// The table of states does not know this way.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for TransitionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A change, and what is written down with it.
#[derive(Debug, Clone)]
pub struct Change<'a> {
    /// What happens.
    pub event: Event,
    /// Who makes it happen.
    pub actor: Actor,
    /// Their name, for the audit: `agent:engineer`, `companion:kitchen`, `hub`.
    pub by: &'a str,
    /// For an end other than `sent`: the kind of error.
    pub code: Option<Code>,
    /// Why, as a sentence.
    pub reason: Option<&'a str>,
    /// What else the audit keeps of it.
    pub facts: Option<Value>,
}

impl<'a> Change<'a> {
    /// The hub's own doing.
    pub const fn hub(event: Event, reason: Option<&'a str>) -> Self {
        Self { event, actor: Actor::Hub, by: "hub", code: None, reason, facts: None }
    }

    /// The same with a kind of error.
    pub fn code(self, code: Code) -> Self {
        Self { code: Some(code), ..self }
    }

    /// What the audit keeps of it.
    pub(super) fn detail(&self) -> Value {
        let mut detail = json!({"event": self.event, "code": self.code, "reason": self.reason});
        if let Some(facts) = &self.facts {
            detail["facts"] = facts.clone();
        }
        detail
    }

    /// The same with facts for the audit.
    pub fn facts(self, facts: Value) -> Self {
        Self { facts: Some(facts), ..self }
    }
}

/// Makes a change happen: the row, its audit entry and, where the agent must hear of it, a notice. Returns the new row.
pub fn apply(tx: &Transaction<'_>, seq: i64, change: &Change<'_>) -> Result<MessageRow, TransitionError> {
    let before = MessageRow::get(tx, seq)?;
    apply_to(tx, before, change)
}

/// The same to a row that was read, or written, in this very transaction.
pub(crate) fn apply_to(
    tx: &Transaction<'_>,
    before: MessageRow,
    change: &Change<'_>,
) -> Result<MessageRow, TransitionError> {
    let (seq, state) = (before.seq, next(before.state, change.event, change.actor)?);
    let ended_at = state.is_final().then(now_ms);
    let released = state == State::Ready && before.state != State::Sending;
    set_state(tx, &before, state, change, ended_at, released)?;
    let was_unknown = before.state == State::Unknown;
    let after = MessageRow {
        state,
        code: change.code.map(|code| code.word().to_owned()),
        reason: change.reason.map(str::to_owned),
        ended_at,
        ..before
    };
    let mut detail = change.detail();
    if is_told(tx, &after, was_unknown)? {
        let receipt = super::receipt(tx, after.clone())?;
        // How far it came.
        detail["sent"] = json!(receipt.sent);
        if let Some(of) = &receipt.detail {
            detail["recipients"] = json!(of);
        }
        notices::tell(tx, &after, &receipt)?;
    }
    if released || after.state.is_final() {
        detail["parts"] = digest::parts(tx, seq)?.into();
    }
    if after.state.is_final() {
        detail["outcome"] = digest::outcome(tx, seq)?.into();
    }
    audit::append(
        tx,
        &Entry { actor: change.by, event: audit::Event::Message(state), message: Some(&after.id), detail },
    )?;
    Ok(after)
}

/// Writes the new state into the row, and into that of the approval that it ends.
fn set_state(
    tx: &Transaction<'_>,
    before: &MessageRow,
    state: State,
    change: &Change<'_>,
    ended_at: Option<i64>,
    released: bool,
) -> Result<(), StoreError> {
    let (seq, code) = (before.seq, change.code.map(Code::word));
    // The audit's numbers only grow, and this is one transaction with the row that takes the next one. What need not be
    // written is left out: an index is brought up to date for every column that is named.
    let sql = match (released, ended_at.is_some() || before.ended_at.is_some()) {
        (false, false) => "UPDATE messages SET state = ?1, code = ?2, reason = ?3 WHERE seq = ?4",
        (true, false) => {
            "UPDATE messages SET state = ?1, code = ?2, reason = ?3,
                released = (SELECT coalesce(max(seq), 0) + 1 FROM audit) WHERE seq = ?4"
        }
        (_, true) => {
            "UPDATE messages SET state = ?1, code = ?2, reason = ?3, ended_at = ?5,
                ended_seq = CASE WHEN ?5 IS NULL THEN NULL ELSE (SELECT coalesce(max(seq), 0) + 1 FROM audit) END,
                released = CASE WHEN ?6 THEN (SELECT coalesce(max(seq), 0) + 1 FROM audit) ELSE released END
             WHERE seq = ?4"
        }
    };
    let mut update = tx.prepare_cached(sql)?;
    match update.parameter_count() {
        4 => update.execute(params![state, code, change.reason, seq])?,
        _ => update.execute(params![state, code, change.reason, seq, ended_at, released])?,
    };
    if before.state == State::Held {
        tx.prepare_cached(
            "UPDATE approvals SET decided_at = ?, verdict = ? WHERE message = ? AND decided_at IS NULL",
        )?
        .execute(params![now_ms(), state, seq])?;
    }
    Ok(())
}

/// Whether a message's agent is told of this state. Of an end that it was told it is told again when it turns out to be another;
/// whoever had to hear "held" hears what came of it; and so does whoever wrote to several people of whom not all were reached.
fn is_told(tx: &Transaction<'_>, after: &MessageRow, was_unknown: bool) -> Result<bool, StoreError> {
    match after.state {
        State::Sent => Ok(was_unknown
            || !after.history.is_empty()
            || notices::has_waited_for_a_person(tx, after.seq)?
            || notices::missed_somebody(tx, after.seq)?),
        state => Ok(state.is_final()),
    }
}

/// Whether a message was ever let out to its lane.
pub(super) fn is_released(db: &Connection, seq: i64) -> Result<bool, StoreError> {
    let sql = "SELECT released IS NOT NULL FROM messages WHERE seq = ?";
    Ok(db.query_row(sql, [seq], |row| row.get(0))?)
}

/// Writes down what the hooks made of an accepted message: another text, or none if it stays. Once.
pub fn store_hooked(
    tx: &Transaction<'_>,
    seq: i64,
    text: Option<&str>,
    hooks: &[String],
) -> Result<MessageRow, TransitionError> {
    let before = MessageRow::get(tx, seq)?;
    // Whoever was taken back meanwhile stays as it was.
    next(before.state, Event::Allow, Actor::Hub)?;
    // What was spoken is what was written before: it does not go beside another text.
    let kept: Vec<_> =
        before.attachments.iter().filter(|file| text.is_none() || file.spoken.is_none()).collect();
    let silenced = before.attachments.len() - kept.len();
    let attachments =
        (silenced > 0).then(|| serde_json::to_string(&kept).expect("attachments are plain data"));
    tx.prepare_cached(
        "UPDATE messages SET hooked_at = ?1, text = coalesce(?2, text), attachments = coalesce(?4, attachments),
         written = CASE WHEN ?2 IS NULL THEN NULL ELSE text END
         WHERE seq = ?3 AND hooked_at IS NULL",
    )?
    .execute(params![now_ms(), text, seq, attachments])?;
    let content = digest::content(tx, seq)?;
    let mut detail = json!({"hooks": hooks, "rewritten": text.is_some(), "content": content});
    if silenced > 0 {
        detail["voice_left_out"] = true.into();
    }
    audit::append(
        tx,
        &Entry { actor: "hub", event: audit::Event::MessageHooked, message: Some(&before.id), detail },
    )?;
    Ok(MessageRow::get(tx, seq)?)
}

/// Sets back to `due_at`, and counts the attempt if it is to count.
pub fn postpone(tx: &Transaction<'_>, seq: i64, due_at: i64, counts: bool) -> Result<(), TransitionError> {
    tx.prepare_cached("UPDATE messages SET due_at = ?, attempts = attempts + ? WHERE seq = ?")?
        .execute(params![due_at, u32::from(counts), seq])?;
    Ok(())
}

/// A part that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPart {
    /// Its name for good.
    pub key: String,
    /// Its visible text.
    pub shown: String,
    /// The platform request, canonical JSON.
    pub request: String,
    /// By which way it goes, where the account has several; the request says so too.
    pub route: Option<&'static str>,
}

/// Stores a message's parts, all planned.
pub fn store_parts(tx: &Transaction<'_>, seq: i64, parts: &[NewPart]) -> Result<(), TransitionError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO parts (message, idx, key, state, shown, wire) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    for (index, part) in (0_u32..).zip(parts) {
        insert.execute(params![seq, index, part.key, PartState::Planned, part.shown, part.request])?;
    }
    Ok(())
}

/// Writes down that a part's request is about to leave. Before it does. Of one that is only planned no earlier request arrived: its
/// time begins anew.
pub fn part_in_flight(tx: &Transaction<'_>, seq: i64, index: u32) -> Result<(), TransitionError> {
    tx.prepare_cached(
        "UPDATE parts SET first_sent_at = iif(state = ?2, ?3, coalesce(first_sent_at, ?3)), state = ?1
         WHERE message = ?4 AND idx = ?5",
    )?
    .execute(params![PartState::InFlight, PartState::Planned, now_ms(), seq, index])?;
    Ok(())
}

/// Writes down what became of a part.
pub fn settle_part(
    tx: &Transaction<'_>,
    seq: i64,
    index: u32,
    state: PartState,
    platform_id: Option<&str>,
    error: Option<&str>,
) -> Result<(), TransitionError> {
    tx.prepare_cached(
        "UPDATE parts SET state = ?, platform_id = ?, error = ? WHERE message = ? AND idx = ?",
    )?
    .execute(params![state, platform_id, error, seq, index])?;
    Ok(())
}

/// Writes down where a conversation stood before a part's request leaves.
pub fn part_position(
    tx: &Transaction<'_>,
    seq: i64,
    index: u32,
    position: Option<&str>,
) -> Result<(), TransitionError> {
    tx.prepare_cached("UPDATE parts SET position = ? WHERE message = ? AND idx = ?")?
        .execute(params![position, seq, index])?;
    Ok(())
}

/// Counts a question about a part that the platform did not answer.
pub fn part_asked(tx: &Transaction<'_>, seq: i64, index: u32) -> Result<(), TransitionError> {
    tx.prepare_cached("UPDATE parts SET questions = questions + 1 WHERE message = ? AND idx = ?")?
        .execute(params![seq, index])?;
    Ok(())
}

/// Writes down whom a part reached.
pub fn part_reached(
    tx: &Transaction<'_>,
    seq: i64,
    index: u32,
    recipients: &Recipients,
) -> Result<(), TransitionError> {
    let recipients = serde_json::to_string(recipients).expect("recipients are plain data");
    tx.prepare_cached("UPDATE parts SET recipients = ? WHERE message = ? AND idx = ?")?
        .execute(params![recipients, seq, index])?;
    Ok(())
}

/// The platform's ids of a message's parts, in order.
pub fn platform_ids(tx: &Transaction<'_>, seq: i64) -> Result<Vec<Option<String>>, TransitionError> {
    let mut ids = tx.prepare_cached("SELECT platform_id FROM parts WHERE message = ? ORDER BY idx")?;
    let ids = ids.query_map([seq], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// A message's parts, within a transaction.
pub fn parts(tx: &Transaction<'_>, seq: i64) -> Result<Vec<PartRow>, TransitionError> {
    Ok(PartRow::all(tx, seq)?)
}

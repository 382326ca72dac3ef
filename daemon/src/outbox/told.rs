//! A part whose answer was lost, and what its platform told of it later.
//!
//! Only a part that is unknown is settled, and only by its own account: what is confirmed stays so, and what is on its way
//! has an answer of its own to come. A message that ended because of it ends anew; nothing more of it is sent by itself, for
//! what came after it in its conversation may be there already.

use rusqlite::{Connection, OptionalExtension as _, Transaction};
use serde_json::json;

use super::{
    row::MessageRow,
    transition::{self, Change, TransitionError},
};
use crate::{
    message::{
        refusal::Code,
        state::{Actor, Event, PartState, State},
    },
    store::StoreError,
};

/// Which message a part belongs to.
pub fn message_of(db: &Connection, key: &str) -> Result<Option<i64>, StoreError> {
    let mut found = db.prepare_cached("SELECT message FROM parts WHERE key = ?")?;
    Ok(found.query_row([key], |row| row.get(0)).optional()?)
}

/// Settles the part of this key, an account's own, by what its platform told: its id, or why it never arrives. Whether there
/// was something to settle.
pub fn settle(
    tx: &Transaction<'_>,
    (channel, account): (&str, &str),
    key: &str,
    outcome: &Result<String, String>,
) -> Result<bool, TransitionError> {
    let Some(seq) = message_of(tx, key)? else { return Ok(false) };
    let message = MessageRow::get(tx, seq)?;
    let parts = transition::parts(tx, seq)?;
    let Some(part) = parts.iter().find(|part| part.key == key && part.state == PartState::Unknown) else {
        return Ok(false);
    };
    let ended = message.state == State::Unknown;
    // One that waits to be sent again is not to be; of one that failed, its next attempt will hear by itself.
    let waits = message.state == State::Ready && outcome.is_ok();
    if (message.channel.as_str(), message.account.as_str()) != (channel, account) || !(ended || waits) {
        return Ok(false);
    }
    match outcome {
        Ok(id) => {
            transition::settle_part(tx, seq, part.index, PartState::Confirmed, Some(id), None)?;
        }
        Err(why) => transition::settle_part(tx, seq, part.index, PartState::Failed, None, Some(why))?,
    }
    if !ended {
        return Ok(true);
    }
    let by = format!("platform:{channel}:{account}");
    let change =
        |event| Change { event, actor: Actor::Platform, by: &by, code: None, reason: None, facts: None };
    let whole = parts.iter().all(|other| other.index == part.index || other.state == PartState::Confirmed);
    if outcome.is_ok() && whole {
        let ids = transition::platform_ids(tx, seq)?;
        let sent = change(Event::Confirm).facts(json!({"platform_ids": ids}));
        transition::apply_to(tx, message, &sent)?;
        return Ok(true);
    }
    let reason = match outcome {
        Ok(_) => "what nobody knew of has arrived; the rest was not sent, and may be tried again".to_owned(),
        Err(why) => format!("Adapter send failed: {why}"),
    };
    let failed = Change { reason: Some(&reason), ..change(Event::Fail) }.code(Code::ExecutionFailed);
    transition::apply_to(tx, message, &failed)?;
    Ok(true)
}

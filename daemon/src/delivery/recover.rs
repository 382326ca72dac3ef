//! Recovery: what happens at a start to messages that were in flight.
//!
//! Held ones are offered to the companions again, and ready ones go when they are due, without anything here; what was only
//! accepted is admission's ([`crate::admission::recover`]). A message that was on its way goes on at its first part that is not confirmed, unless that
//! part's request may have left: then its key decides, as after any lost answer.

use rusqlite::Transaction;

use super::{
    attempt::{prefers_two, resendable},
    voice_fallback::Planned,
};
use crate::{
    message::{
        refusal::Code,
        state::{Event, PartState, State},
    },
    outbox::{
        row::MessageRow,
        transition::{self, Change, TransitionError},
    },
    pipeline::Pipeline,
    store::now_ms,
};

const LOST: &str = "the hub stopped while it was being sent, and the platform cannot say whether it arrived";

impl Pipeline {
    /// Takes up what the last process was sending. Runs before anything is dispatched.
    pub async fn recover_sending(&self) -> Result<(), TransitionError> {
        for message in self.0.outbox.live_in_state(State::Sending).await? {
            self.take_up(&message).await?;
        }
        Ok(())
    }

    /// Sorts out a message that is marked as on its way while nobody is sending it.
    pub(super) async fn take_up(&self, message: &MessageRow) -> Result<(), TransitionError> {
        let (seq, now) = (message.seq, now_ms());
        let in_flight =
            self.0.outbox.parts(seq).await?.into_iter().find(|part| part.state == PartState::InFlight);
        let harmless = in_flight.as_ref().is_none_or(|part| {
            match self.0.accounts.pick(&message.channel, Some(&message.account)) {
                Ok((_, adapter)) => {
                    let planned = Planned::read(adapter.as_ref(), &part.request);
                    prefers_two(message, &planned) || resendable(&planned, part, now)
                }
                Err(_) => message.resend,
            }
        });
        let part = in_flight.map(|part| part.index);
        self.0
            .outbox
            .change(seq, move |tx| match harmless {
                true => go_on(tx, seq, part, now),
                false => give_up(tx, seq, part),
            })
            .await?;
        tracing::info!(message = message.id, resent = harmless, "took up a message that was on its way");
        Ok(())
    }
}

fn go_on(tx: &Transaction<'_>, seq: i64, part: Option<u32>, now: i64) -> Result<(), TransitionError> {
    if let Some(index) = part {
        // Its fate stays open; whether it may be sent again is asked once more when it would be.
        transition::settle_part(tx, seq, index, PartState::Unknown, None, Some(LOST))?;
    }
    transition::apply(tx, seq, &Change::hub(Event::Postpone, Some("the hub was restarted")))?;
    transition::postpone(tx, seq, now, false)
}

fn give_up(tx: &Transaction<'_>, seq: i64, part: Option<u32>) -> Result<(), TransitionError> {
    if let Some(index) = part {
        transition::settle_part(tx, seq, index, PartState::Unknown, None, Some(LOST))?;
    }
    transition::apply(tx, seq, &Change::hub(Event::Lose, Some(LOST)).code(Code::UnknownOutcome))?;
    Ok(())
}

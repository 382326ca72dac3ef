//! One message's parts, in order, each marked before its request leaves.
//!
//! What the platform confirmed is never sent again. A part whose answer was lost is sent again only under a key that
//! the platform deduplicates, while that key is valid; otherwise nobody knows, and the agent is told so.

use std::time::Duration;

use super::Pipeline;
use crate::{
    approval::Released,
    channels::{Adapter, Failure, PartKey, Redelivery},
    message::{
        refusal::Code,
        state::{Event, PartState},
    },
    outbox::{
        row::{MessageRow, PartRow},
        transition::{self, Change, TransitionError},
    },
    store::now_ms,
};

/// An adapter bounds its own steps; this bounds the adapter.
const LONGEST: Duration = Duration::from_secs(400);
/// Between attempts; after the last, every hour until the message's deadline.
const BACK_OFF: [Duration; 5] = [
    Duration::from_secs(5),
    Duration::from_secs(25),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
];

impl Pipeline {
    /// Sends a ready message as far as it goes now.
    pub(super) async fn send(&self, seq: i64) -> Result<(), TransitionError> {
        let outbox = &self.0.outbox;
        let message =
            outbox.change(seq, move |tx| transition::apply(tx, seq, &Change::hub(Event::Take, None))).await?;
        let adapter = match self.0.accounts.pick(&message.channel, Some(&message.account)) {
            Ok((_, adapter)) => adapter.as_ref(),
            Err(error) => return self.fail(seq, error.to_string()).await,
        };
        let parts = match self.0.approvals.release(seq).await? {
            Released::Parts(parts) => parts,
            Released::Changed => {
                let reason = "the stored message is not the one that was approved; it was not sent";
                return self.fail(seq, reason.to_owned()).await;
            }
        };
        for part in parts.iter().filter(|part| part.state != PartState::Confirmed) {
            if message.deadline <= now_ms() {
                return self.fail(seq, "its time was over before all of it was sent".to_owned()).await;
            }
            if !self.send_part(&message, part, adapter).await? {
                return Ok(());
            }
        }
        outbox.change(seq, move |tx| transition::apply(tx, seq, &Change::hub(Event::Confirm, None))).await?;
        outbox.arrived();
        tracing::info!(message = message.id, to = %message.target(), parts = parts.len(), "sent");
        Ok(())
    }

    /// Sends a part; whether the next one may follow.
    async fn send_part(
        &self,
        message: &MessageRow,
        part: &PartRow,
        adapter: &dyn Adapter,
    ) -> Result<bool, TransitionError> {
        let (seq, index) = (message.seq, part.index);
        self.0.outbox.change(seq, move |tx| transition::part_in_flight(tx, seq, index)).await?;
        let first_sent_at = part.first_sent_at.unwrap_or_else(now_ms);
        let failure = match deliver(adapter, part).await {
            Ok(platform_id) => {
                let confirmed = PartState::Confirmed;
                self.0
                    .outbox
                    .change(seq, move |tx| {
                        transition::settle_part(tx, seq, index, confirmed, Some(&platform_id), None)
                    })
                    .await?;
                return Ok(true);
            }
            Err(failure) => failure,
        };
        tracing::warn!(message = message.id, part = index, %failure, "a part did not go through");
        let end = Ending::of(failure, resendable(adapter, first_sent_at, now_ms()), message);
        self.0.outbox.change(seq, move |tx| end.write(tx, seq, index)).await?;
        Ok(false)
    }

    async fn fail(&self, seq: i64, reason: String) -> Result<(), TransitionError> {
        self.0
            .outbox
            .change(seq, move |tx| {
                let change = Change::hub(Event::Fail, Some(&reason)).code(Code::ExecutionFailed);
                transition::apply(tx, seq, &change)
            })
            .await?;
        Ok(())
    }
}

async fn deliver(adapter: &dyn Adapter, part: &PartRow) -> Result<String, Failure> {
    let wire = serde_json::from_str(&part.wire)
        .map_err(|_| Failure::Permanent("the stored request cannot be read".into()))?;
    let key = PartKey(part.key.clone());
    tokio::time::timeout(LONGEST, adapter.deliver(&wire, &key))
        .await
        .unwrap_or_else(|_| Err(Failure::Unknown("no answer in time".into())))
}

/// Whether a part whose answer was lost may be sent again.
pub(super) fn resendable(adapter: &dyn Adapter, first_sent_at: i64, now: i64) -> bool {
    match adapter.redelivery() {
        Redelivery::Never => false,
        Redelivery::Keyed(valid) => {
            now >= first_sent_at && u128::from((now - first_sent_at).unsigned_abs()) < valid.as_millis()
        }
    }
}

/// What a failed attempt means for the part and its message.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Later { due_at: i64, counts: bool, why: String },
    Never { why: String },
    Nobody { why: String },
}

impl Ending {
    fn of(failure: Failure, resendable: bool, message: &MessageRow) -> Self {
        let attempt = usize::try_from(message.attempts).unwrap_or(usize::MAX);
        let pause = BACK_OFF.get(attempt).copied().unwrap_or(Duration::from_hours(1));
        let later = |after: Duration, counts, why| Self::Later {
            due_at: now_ms().saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)),
            counts,
            why,
        };
        match failure {
            Failure::Retry(why) => later(pause, true, why),
            Failure::Wait { after, why } => later(after, false, why),
            Failure::Permanent(why) => Self::Never { why },
            Failure::Unknown(why) if resendable => later(pause, true, why),
            Failure::Unknown(why) => Self::Nobody { why },
        }
    }

    fn write(&self, tx: &rusqlite::Transaction<'_>, seq: i64, index: u32) -> Result<(), TransitionError> {
        let settle = |state, why: &str| transition::settle_part(tx, seq, index, state, None, Some(why));
        match self {
            Self::Later { due_at, counts, why } => {
                settle(PartState::Planned, why)?;
                transition::apply(tx, seq, &Change::hub(Event::Postpone, Some(why)))?;
                transition::postpone(tx, seq, *due_at, *counts)
            }
            Self::Never { why } => {
                settle(PartState::Failed, why)?;
                // The seed's words, which agents know.
                let reason = format!("Adapter send failed: {why}");
                let change = Change::hub(Event::Fail, Some(&reason)).code(Code::ExecutionFailed);
                transition::apply(tx, seq, &change).map(drop)
            }
            Self::Nobody { why } => {
                settle(PartState::Unknown, why)?;
                let reason = format!("it may or may not have arrived: {why}");
                let change = Change::hub(Event::Lose, Some(&reason)).code(Code::UnknownOutcome);
                transition::apply(tx, seq, &change).map(drop)
            }
        }
    }
}

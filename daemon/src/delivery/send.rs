//! One message's parts, in order, each marked before its request leaves.
//!
//! What the platform confirmed is never sent again. A part whose answer was lost is sent again only under a key that
//! the platform deduplicates, while that key is valid; otherwise nobody knows, and the agent is told so.

use std::time::Duration;

use serde_json::json;

use super::{Pipeline, dispatch::RECOVER};
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
            Err(error) => return self.fail(seq, Code::ExecutionFailed, error.to_string()).await,
        };
        let parts = match self.0.approvals.release(seq).await? {
            Released::Parts(parts) => parts,
            Released::Changed => {
                let reason = "the stored message is not the one that was approved; it was not sent";
                return self.fail(seq, Code::ExecutionFailed, reason.to_owned()).await;
            }
        };
        for part in parts.iter().filter(|part| part.state != PartState::Confirmed) {
            // What leaves now could not be written down; the message keeps its lane meanwhile.
            while !self.may_send() && message.deadline > now_ms() {
                tokio::time::sleep(RECOVER).await;
            }
            if message.deadline <= now_ms() {
                let reason = "its time was over before all of it was sent".to_owned();
                return self.fail(seq, Code::Expired, reason).await;
            }
            if !self.send_part(&message, part, adapter).await? {
                return Ok(());
            }
        }
        outbox
            .record(seq, move |tx| {
                let ids: Vec<_> =
                    transition::parts(tx, seq)?.into_iter().map(|part| part.platform_id).collect();
                let change = Change::hub(Event::Confirm, None).facts(json!({"platform_ids": ids}));
                transition::apply(tx, seq, &change)
            })
            .await?;
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
        if part.state == PartState::Unknown && !resendable(adapter, part.first_sent_at.unwrap_or(0), now_ms())
        {
            let why = part.error.clone().unwrap_or_else(|| "its answer was lost".into());
            let end = Ending::Nobody { why };
            self.0.outbox.change(seq, move |tx| end.write(tx, seq, index)).await?;
            return Ok(false);
        }
        self.0.outbox.change(seq, move |tx| transition::part_in_flight(tx, seq, index)).await?;
        let first_sent_at = part.first_sent_at.unwrap_or_else(now_ms);
        let failure = match deliver(adapter, part).await {
            Ok(platform_id) => {
                let confirmed = PartState::Confirmed;
                self.0
                    .outbox
                    .record(seq, move |tx| {
                        transition::settle_part(tx, seq, index, confirmed, Some(&platform_id), None)
                    })
                    .await?;
                return Ok(true);
            }
            Err(failure) => failure,
        };
        tracing::warn!(message = message.id, part = index, %failure, "a part did not go through");
        // An earlier attempt's request may have arrived, whatever became of this one.
        let open = part.state == PartState::Unknown;
        let left = time_to_resend(adapter, first_sent_at, now_ms());
        let end = Ending::of(failure, open, left, message.attempts);
        self.0.outbox.record(seq, move |tx| end.write(tx, seq, index)).await?;
        Ok(false)
    }

    async fn fail(&self, seq: i64, code: Code, reason: String) -> Result<(), TransitionError> {
        self.0
            .outbox
            .change(seq, move |tx| {
                let change = Change::hub(Event::Fail, Some(&reason)).code(code);
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

/// For how long a part whose answer was lost may still be sent again, if at all.
fn time_to_resend(adapter: &dyn Adapter, first_sent_at: i64, now: i64) -> Option<Duration> {
    match adapter.redelivery() {
        Redelivery::Never => None,
        // A clock that went back says nothing about the key's age.
        Redelivery::Keyed(valid) => {
            let age = u64::try_from(now - first_sent_at).ok()?;
            valid.checked_sub(Duration::from_millis(age)).filter(|left| !left.is_zero())
        }
    }
}

/// Whether a part whose answer was lost may be sent again now.
pub(super) fn resendable(adapter: &dyn Adapter, first_sent_at: i64, now: i64) -> bool {
    time_to_resend(adapter, first_sent_at, now).is_some()
}

/// What a failed attempt means for the part and its message.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    /// It goes again later. Until then its part is `planned`, or `unknown` where its request may have arrived.
    Later { due_at: i64, counts: bool, part: PartState, why: String },
    /// It never goes.
    Never { why: String },
    /// It may have arrived, and cannot be sent again.
    Nobody { why: String },
}

impl Ending {
    /// `open`: whether an earlier request of the part may have arrived. `left`: how long its key is still good.
    fn of(failure: Failure, open: bool, left: Option<Duration>, attempts: u32) -> Self {
        let attempt = usize::try_from(attempts).unwrap_or(usize::MAX);
        let pause = BACK_OFF.get(attempt).copied().unwrap_or(Duration::from_hours(1));
        let (open, after, counts, why) = match failure {
            Failure::Permanent(why) if open => return Self::Nobody { why },
            Failure::Permanent(why) => return Self::Never { why },
            Failure::Retry(why) => (open, pause, true, why),
            Failure::Wait { after, why } => (open, after, false, why),
            Failure::Unknown(why) => (true, pause, true, why),
        };
        let (after, part) = match (open, left) {
            (false, _) => (after, PartState::Planned),
            (true, None) => return Self::Nobody { why },
            // Well before the key is forgotten, for a resend after that would arrive a second time. A platform that
            // wants more time than is left gets it, and the part's fate stays open.
            (true, Some(left)) if counts => (after.min(left / 2), PartState::Unknown),
            (true, Some(_)) => (after, PartState::Unknown),
        };
        let after = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        Self::Later { due_at: now_ms().saturating_add(after), counts, part, why }
    }

    fn write(&self, tx: &rusqlite::Transaction<'_>, seq: i64, index: u32) -> Result<(), TransitionError> {
        let settle = |state, why: &str| transition::settle_part(tx, seq, index, state, None, Some(why));
        match self {
            Self::Later { due_at, counts, part, why } => {
                settle(*part, why)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Option<Duration> = Some(Duration::from_hours(24));

    /// What becomes of the part, in how many seconds it goes again, and whether that was an attempt.
    fn ending(
        failure: Failure,
        open: bool,
        left: Option<Duration>,
        attempts: u32,
    ) -> (&'static str, i64, bool) {
        let now = now_ms();
        match Ending::of(failure, open, left, attempts) {
            Ending::Later { due_at, counts, part, .. } => (part.word(), (due_at - now + 500) / 1000, counts),
            Ending::Never { .. } => ("never", 0, false),
            Ending::Nobody { .. } => ("nobody knows", 0, false),
        }
    }

    #[test]
    fn a_request_that_did_not_arrive_goes_again_later_and_later() {
        for (attempts, seconds) in [(0, 5), (1, 25), (2, 120), (3, 600), (4, 1_800), (5, 3_600), (50, 3_600)]
        {
            let retry = Failure::Retry("away".into());
            assert_eq!(ending(retry, false, None, attempts), ("planned", seconds, true));
        }
    }

    #[test]
    fn a_platform_that_says_when_is_obeyed_however_long_and_spends_no_attempt() {
        let wait = Failure::Wait { after: Duration::from_secs(6_775), why: "slow down".into() };
        assert_eq!(ending(wait, false, DAY, 0), ("planned", 6_775, false));
    }

    #[test]
    fn a_lost_answer_is_unknown_unless_a_key_makes_a_resend_harmless() {
        let lost = || Failure::Unknown("no answer".into());
        assert_eq!(ending(lost(), false, None, 0), ("nobody knows", 0, false));
        assert_eq!(ending(lost(), false, DAY, 0), ("unknown", 5, true));
    }

    #[test]
    fn a_resend_never_waits_until_its_key_is_forgotten() {
        let left = Some(Duration::from_secs(60));
        assert_eq!(ending(Failure::Unknown("no answer".into()), false, left, 3), ("unknown", 30, true));
    }

    #[test]
    fn once_a_request_may_have_arrived_no_later_refusal_makes_it_certain() {
        let away = Failure::Retry("away".into());
        assert_eq!(ending(away, true, DAY, 0), ("unknown", 5, true));
        assert_eq!(ending(Failure::Permanent("no".into()), true, DAY, 0), ("nobody knows", 0, false));
        assert_eq!(ending(Failure::Permanent("no".into()), false, DAY, 0), ("never", 0, false));
    }
}

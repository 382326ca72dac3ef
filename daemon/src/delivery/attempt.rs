//! One attempt at one part: where its conversation stands is written down before its request leaves, and of a part that may
//! be there already the platform is asked before anything is sent again.
//!
//! A question that is not answered does not hold its conversation for as long as the message may wait: it is asked a bounded
//! number of times ([`super::ending`]), and then nobody knows.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use rusqlite::Transaction;

use super::{
    ending::MAX_QUESTIONS,
    voice_fallback::{Arrived, Planned},
};
use crate::{
    channels::{Attempt, Delivered, Failure, PartKey, RateHints, Redelivery},
    outbox::{
        row::{MessageRow, PartRow},
        transition::{self, TransitionError},
    },
    pipeline::Pipeline,
    store::now_ms,
};

/// An adapter bounds its own steps; this bounds the adapter.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(600);

/// An attempt at a part that may be there already.
#[derive(Clone, Copy)]
pub(super) struct Again {
    /// Whether it may arrive twice rather than not at all.
    pub resend: bool,
}

/// Why a part did not arrive, or is not known to have.
#[derive(Debug)]
pub(super) enum Failed {
    /// Its request.
    Sending(Failure),
    /// The question whether an earlier request of it arrived.
    Asking(Failure),
}

impl Failed {
    /// What went wrong.
    pub(super) fn failure(&self) -> &Failure {
        let (Self::Sending(failure) | Self::Asking(failure)) = self;
        failure
    }
}

/// Reconciliation looked for the part and did not find it.
const NOT_SEEN: &str = "its answer was lost, and the conversation does not show it";

impl Pipeline {
    /// Performs a part's request. Of one that may be there already the platform is asked first, where it can tell. What is heard
    /// of limits meanwhile stands in `hints`, also if the attempt's time is over before there is an outcome.
    pub(super) async fn attempt(
        &self,
        seq: i64,
        part: &PartRow,
        planned: &Planned<'_>,
        again: Option<Again>,
        hints: &mut RateHints,
    ) -> Result<Result<Arrived, Failed>, TransitionError> {
        let key = PartKey(part.key.clone());
        let began = Instant::now();
        match again {
            None => match timely(began, planned.position(hints)).await {
                // It is written down before the request leaves.
                Ok(position) if position != part.position => {
                    let index = part.index;
                    let write = move |tx: &Transaction<'_>| {
                        transition::part_position(tx, seq, index, position.as_deref())
                    };
                    self.0.outbox.change(seq, write).await?;
                }
                Ok(_) => {}
                Err(failure) => return Ok(Err(Failed::Sending(failure.harmless()))),
            },
            Some(again) => match timely(began, ask(planned, &key, part, again, hints)).await {
                Ok(Some(arrived)) => return Ok(Ok(arrived.into())),
                Ok(None) => {}
                Err(failure) => return Ok(Err(Failed::Asking(failure))),
            },
        }
        let delivered = timely(began, planned.deliver(&key, again.is_some(), hints)).await;
        Ok(delivered.map_err(Failed::Sending))
    }
}

/// Within the time that is left of an attempt.
async fn timely<T>(began: Instant, step: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let left = ATTEMPT_TIMEOUT.saturating_sub(began.elapsed());
    tokio::time::timeout(left, step)
        .await
        .unwrap_or_else(|_| Err(Failure::Unknown("no answer in time".into())))
}

/// What became of an earlier request; nothing, where it is to go again.
async fn ask(
    planned: &Planned<'_>,
    key: &PartKey,
    part: &PartRow,
    again: Again,
    hints: &mut RateHints,
) -> Result<Option<Delivered>, Failure> {
    let redelivery = planned.redelivery();
    if !matches!(redelivery, Redelivery::Ask | Redelivery::Look) {
        return Ok(None);
    }
    // A sender that prefers two copies to none does not wait for a platform that does not answer.
    if part.questions >= MAX_QUESTIONS && again.resend {
        return Ok(None);
    }
    // It was marked before its request left.
    let left = part.first_sent_at.unwrap_or_else(now_ms);
    let attempt = Attempt { key, left, position: part.position.as_deref() };
    let arrived = planned.find(&attempt, hints).await?;
    if arrived.is_none() && redelivery == Redelivery::Look && !again.resend {
        return Err(Failure::Permanent(NOT_SEEN.into()));
    }
    Ok(arrived)
}

/// For how long a part whose answer was lost may still be sent again, if at all.
pub(super) fn time_to_resend(planned: &Planned<'_>, first_sent_at: i64, now: i64) -> Option<Duration> {
    match planned.redelivery() {
        Redelivery::Never => None,
        // It is asked before anything is sent again, however late.
        Redelivery::Ask | Redelivery::Look => Some(Duration::MAX),
        // A clock that went back says nothing about the key's age.
        Redelivery::Keyed(valid) => {
            let age = u64::try_from(now - first_sent_at).ok()?;
            valid.checked_sub(Duration::from_millis(age)).filter(|left| !left.is_zero())
        }
    }
}

/// Whether a part that may have arrived goes again because its sender prefers two copies to none.
pub(super) fn prefers_two(message: &MessageRow, planned: &Planned<'_>) -> bool {
    message.resend && planned.may_resend()
}

/// Whether a part whose answer was lost may be sent again now.
pub(super) fn resendable(planned: &Planned<'_>, part: &PartRow, now: i64) -> bool {
    time_to_resend(planned, part.first_sent_at.unwrap_or(0), now).is_some()
}

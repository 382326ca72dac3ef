//! A decision that the hub has not confirmed yet.
//!
//! It is sent repeatedly until the hub answers. A new session invalidates its signature. It is signed again, with the
//! same verdict and a new counter, only if the hub offers exactly the same document again. Otherwise the person is told
//! that it was not confirmed, never that it counted.

use gatepost_link::{
    decision::{Decision, Verdict},
    frame::{Offer, Up},
};

use super::card::OfferState;
use crate::{Millis, link::retry::Retry};

/// How long after the deadline an unconfirmed decision is still sent: the hub's clock may be behind.
pub const MAX_PAST_DEADLINE_MS: u64 = 30_000;

/// A decision that is being sent.
#[derive(Debug)]
pub struct Pending {
    /// What was offered.
    pub offer: Offer,
    /// When it expires.
    pub deadline: Millis,
    /// Whether the hub still offers the card.
    pub offer_state: OfferState,
    decision: Decision,
    retry: Retry,
}

impl Pending {
    /// A decision that is sent now for the first time.
    pub fn new(now: Millis, offer: Offer, deadline: Millis, decision: Decision) -> Self {
        Self { offer, deadline, offer_state: OfferState::Current, decision, retry: Retry::new(now) }
    }

    /// What was decided.
    pub fn verdict(&self) -> Verdict {
        self.decision.verdict
    }

    /// The decision's frame, if it is time to send it again.
    pub fn tick(&mut self, now: Millis) -> Option<Up> {
        let is_due = self.offer_state == OfferState::Current && self.retry.is_due(now);
        is_due.then_some(Up::Decision(self.decision))
    }

    /// When [`Pending::tick`] will send again; `None` while the hub does not stand by the offer.
    pub fn next_tick(&self) -> Option<Millis> {
        (self.offer_state == OfferState::Current).then(|| self.retry.due_at())
    }

    /// When to stop sending it.
    pub fn gives_up_at(&self) -> Millis {
        self.deadline.after(MAX_PAST_DEADLINE_MS)
    }
}

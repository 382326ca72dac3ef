//! A decision that the hub has not confirmed yet.
//!
//! It is said again until the hub answers. A new session voids its signature; it is signed anew, with the same
//! verdict and another counter, only if the hub asks again about the very same document. Otherwise the person is
//! told that nobody confirmed it, never that it counted.

use gatepost_link::{
    decision::{Decision, Verdict},
    frame::{Offer, Up},
};

use crate::{Millis, card::Standing, retry::Retry};

/// So many milliseconds past the deadline an unconfirmed decision is given up: the hub's clock may be behind.
pub const PAST_DEADLINE: u64 = 30_000;

/// A decision on its way.
#[derive(Debug)]
pub struct Pending {
    /// What was offered.
    pub offer: Offer,
    /// When it expires.
    pub deadline: Millis,
    /// Whether the hub stands by it.
    pub standing: Standing,
    decision: Decision,
    retry: Retry,
}

impl Pending {
    /// A decision that is being sent now.
    pub fn new(now: Millis, offer: Offer, deadline: Millis, decision: Decision) -> Self {
        Self { offer, deadline, standing: Standing::Offered, decision, retry: Retry::new(now) }
    }

    /// What was decided.
    pub fn verdict(&self) -> Verdict {
        self.decision.verdict
    }

    /// Sends again if it is time to.
    pub fn tick(&mut self, now: Millis) -> Option<Up> {
        let again = self.standing == Standing::Offered && self.retry.is_due(now);
        again.then_some(Up::Decision(self.decision))
    }

    /// When [`Pending::tick`] will send again; not while the hub does not stand by what was offered.
    pub fn next_tick(&self) -> Option<Millis> {
        (self.standing == Standing::Offered).then(|| self.retry.at())
    }

    /// When it is given up.
    pub fn given_up(&self) -> Millis {
        self.deadline.after(PAST_DEADLINE)
    }
}

//! A decision that the hub has not confirmed yet.
//!
//! It is said again until the hub answers. A new session voids its signature; it is signed anew, with the same
//! verdict and another counter, only if the hub asks again about the very same document. Otherwise the person is
//! told that nobody confirmed it, never that it counted.

use gatepost_link::{
    decision::{Decision, Verdict},
    frame::{Offer, Up},
};

use crate::{Millis, card::Standing};

/// After this many milliseconds without an answer the decision is sent again.
pub const SEND_AGAIN: u64 = 2_000;
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
    sent: Millis,
}

impl Pending {
    /// A decision that is being sent now.
    pub fn new(now: Millis, offer: Offer, deadline: Millis, decision: Decision) -> Self {
        Self { offer, deadline, standing: Standing::Offered, decision, sent: now }
    }

    /// What was decided.
    pub fn verdict(&self) -> Verdict {
        self.decision.verdict
    }

    /// Sends again if it is time to.
    pub fn tick(&mut self, now: Millis) -> Option<Up> {
        if self.standing != Standing::Offered || now < self.next_tick() {
            return None;
        }
        self.sent = now;
        Some(Up::Decision(self.decision))
    }

    /// When [`Pending::tick`] will send again.
    pub fn next_tick(&self) -> Millis {
        self.sent.after(SEND_AGAIN)
    }

    /// When it is given up.
    pub fn given_up(&self) -> Millis {
        self.deadline.after(PAST_DEADLINE)
    }
}

//! When the companion is told once more how the hub is, after something whose loss nothing else would show.
//!
//! A frame that was lost shows itself by the next one only.

use std::time::{Duration, Instant};

use gatepost_link::RequestId;

/// The first time comes so long after an offer or a withdrawal; every further pause is twice as long.
const INTERVAL: Duration = Duration::from_millis(300);
/// How often, if nothing is fetched.
const TIMES: u32 = 3;

/// What was offered or withdrawn may not have arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// The offer whose fetching proves it; `None` for a withdrawal.
    offer: Option<RequestId>,
    at: Instant,
    pause: Duration,
    left: u32,
}

impl Probe {
    /// Of an offer.
    pub(super) fn of_offer(now: Instant, request: RequestId) -> Self {
        Self { offer: Some(request), ..Self::of_withdrawal(now) }
    }

    /// Of a withdrawal.
    pub(super) fn of_withdrawal(now: Instant) -> Self {
        Self { offer: None, at: now + INTERVAL, pause: INTERVAL, left: TIMES }
    }

    /// Whether the offer has arrived if this request is fetched.
    pub(super) fn ends_with(&self, request: RequestId) -> bool {
        self.offer == Some(request)
    }

    /// When the companion is told.
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// Whether it is told now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.at
    }

    /// The next one after it was told; none after the last.
    pub(super) fn next(self, now: Instant) -> Option<Self> {
        let (pause, left) = (self.pause * 2, self.left - 1);
        (left > 0).then_some(Self { at: now + pause, pause, left, ..self })
    }
}

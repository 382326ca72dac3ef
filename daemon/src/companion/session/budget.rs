//! What may happen so often a minute, and then no more until that minute is over.

use std::time::{Duration, Instant};

/// Faults in a minute after which a companion is not listened to.
pub(super) const MAX_FAULTS: u32 = 20;
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// [`MAX_FAULTS`] a minute. The minute begins with the first time that is asked.
#[derive(Debug, Default)]
pub(super) struct Budget {
    since: Option<Instant>,
    pub(super) spent: u32,
}

impl Budget {
    /// Whether it may happen once more.
    pub(super) fn is_left(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= MINUTE) {
            *self = Self { since: Some(now), spent: 0 };
        }
        self.spent < MAX_FAULTS
    }

    /// It happened.
    pub(super) fn spend(&mut self) {
        self.spent = self.spent.saturating_add(1);
    }
}

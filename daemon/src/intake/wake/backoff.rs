//! When a target that failed is called again: after a pause that doubles with each failure, up to five minutes, and ends with the
//! first success.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The first pause.
const FIRST: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST: Duration = Duration::from_mins(5);

/// The failures of one target.
#[derive(Debug, Default)]
pub(super) struct Backoff(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// It failed at `now`. What failed beside another failure, at once, is no second one.
    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.until.is_some_and(|until| until > now) {
            return;
        }
        let pause = FIRST.saturating_mul(1 << state.failures.min(16)).min(LONGEST);
        state.failures = state.failures.saturating_add(1);
        state.until = Some(now + pause);
    }

    /// It did well.
    pub(super) fn succeeded(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// Whether it is not called now.
    pub(super) fn rests(&self) -> bool {
        self.until().is_some_and(|until| until > Instant::now())
    }

    /// Until when it is not called.
    pub(super) fn until(&self) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_to_five_minutes_and_ends_with_a_success() {
        let (backoff, mut now) = (Backoff::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..11 {
            backoff.failed(now);
            // Another turn that failed at the same time.
            backoff.failed(now);
            let until = backoff.until().unwrap();
            pauses.push((until - now).as_secs());
            now = until;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        backoff.succeeded();
        assert_eq!(backoff.until(), None);
        backoff.failed(now);
        assert_eq!(backoff.until(), Some(now + FIRST));
    }
}

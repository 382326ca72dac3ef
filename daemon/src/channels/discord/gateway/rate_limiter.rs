//! How much is sent over the Gateway: whoever sends too much is put out of it, and in the end loses its token.

use std::time::{Duration, Instant};

use crate::rate_limit::log::Log;

/// "120 gateway events per connection every 60 seconds" (<https://docs.discord.com/developers/events/gateway#rate-limiting>).
/// Counted over all connections of an account together.
const EVENTS: usize = 120;
const EVENTS_WITHIN: Duration = Duration::from_secs(60);
/// Of these, kept back for heartbeats and for what begins a session.
const KEPT: usize = 20;

/// "Clients may only update their game status 5 times per 20 seconds"
/// (<https://github.com/discord/discord-api-docs/pull/1226>, at <https://docs.discord.com/developers/events/gateway-events#activity-object>).
const CHANGES: usize = 5;
const CHANGES_WITHIN: Duration = Duration::from_secs(20);

/// What was sent lately.
#[derive(Debug)]
pub(super) struct RateLimiter {
    events: Log,
    changes: Log,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self { events: Log::new(EVENTS_WITHIN), changes: Log::new(CHANGES_WITHIN) }
    }
}

impl RateLimiter {
    /// Counts an event that leaves.
    pub(super) fn sent(&mut self, now: Instant) {
        self.events.note(now);
    }

    /// Whether there is room for an event that nobody waits for, such as a heartbeat that Discord asks for.
    pub(super) fn has_room(&mut self, now: Instant) -> bool {
        self.events.wait(EVENTS - KEPT / 2, now).is_zero()
    }

    /// Takes the place of a change of status, or says how long until there is one.
    pub(super) fn change(&mut self, now: Instant) -> Result<(), Duration> {
        let wait = self.events.wait(EVENTS - KEPT, now).max(self.changes.wait(CHANGES, now));
        if !wait.is_zero() {
            return Err(wait);
        }
        self.changes.note(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn five_changes_in_twenty_seconds_and_the_sixth_is_told_when() {
        let (mut limiter, start) = (RateLimiter::default(), Instant::now());
        for n in 0..5 {
            assert_eq!(limiter.change(start + n * SECOND), Ok(()));
        }
        assert_eq!(limiter.change(start + 5 * SECOND), Err(15 * SECOND));
        assert_eq!(limiter.change(start + 20 * SECOND), Ok(()));
        assert_eq!(limiter.change(start + 20 * SECOND), Err(SECOND));
    }

    #[test]
    fn changes_leave_room_for_heartbeats() {
        let (mut limiter, start) = (RateLimiter::default(), Instant::now());
        (0..100).for_each(|_| limiter.sent(start));
        assert_eq!(limiter.change(start + SECOND), Err(59 * SECOND));
        assert!(limiter.has_room(start + SECOND));
        (0..10).for_each(|_| limiter.sent(start + SECOND));
        assert!(!limiter.has_room(start + SECOND));
        assert!(limiter.has_room(start + 60 * SECOND));
        assert_eq!(limiter.change(start + 60 * SECOND), Ok(()));
    }
}

//! How much is sent over the Gateway: whoever sends too much is put out of it, and in the end loses its token.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

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
#[derive(Debug, Default)]
pub(super) struct RateLimiter {
    events: VecDeque<Instant>,
    changes: VecDeque<Instant>,
}

impl RateLimiter {
    /// Counts an event that leaves.
    pub(super) fn sent(&mut self, now: Instant) {
        self.events.push_back(now);
        drop_older(&mut self.events, now, EVENTS_WITHIN);
    }

    /// Whether there is room for an event that nobody waits for, such as a heartbeat that Discord asks for.
    pub(super) fn has_room(&mut self, now: Instant) -> bool {
        drop_older(&mut self.events, now, EVENTS_WITHIN);
        self.events.len() < EVENTS - KEPT / 2
    }

    /// Takes the place of a change of status, or says how long until there is one.
    pub(super) fn change(&mut self, now: Instant) -> Result<(), Duration> {
        drop_older(&mut self.events, now, EVENTS_WITHIN);
        drop_older(&mut self.changes, now, CHANGES_WITHIN);
        let left = |times: &VecDeque<Instant>, most: usize, within: Duration| match times.len() < most {
            true => Duration::ZERO,
            false => times[times.len() - most] + within - now,
        };
        let wait = left(&self.events, EVENTS - KEPT, EVENTS_WITHIN).max(left(
            &self.changes,
            CHANGES,
            CHANGES_WITHIN,
        ));
        if !wait.is_zero() {
            return Err(wait);
        }
        self.changes.push_back(now);
        Ok(())
    }
}

fn drop_older(times: &mut VecDeque<Instant>, now: Instant, within: Duration) {
    while times.front().is_some_and(|at| *at + within <= now) {
        times.pop_front();
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

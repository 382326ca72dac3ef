//! How fast a login may speak: packets a second, with a burst. One that is over it is not read from meanwhile, and the network
//! slows its sender down; nothing that it has said is dropped.

use std::time::{Duration, Instant};

/// A bucket that fills by itself.
#[derive(Debug)]
pub(super) struct RateLimiter {
    per_second: f64,
    burst: f64,
    left: f64,
    at: Instant,
}

impl RateLimiter {
    /// So many packets a second, `burst` at once.
    pub(super) fn new(per_second: f64, burst: f64, now: Instant) -> Self {
        Self { per_second, burst, left: burst, at: now }
    }

    /// Takes note of a packet; how long to wait before the next one is read.
    pub(super) fn spend(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * self.per_second).min(self.burst) - 1.0;
        self.at = now;
        if self.left >= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(-self.left / self.per_second) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_what_follows_at_its_pace() {
        let mut now = Instant::now();
        let mut limiter = RateLimiter::new(10.0, 5.0, now);
        assert!((0..5).all(|_| limiter.spend(now).is_zero()));
        let start = now;
        for _ in 0..100 {
            now += limiter.spend(now);
        }
        assert!((9.0..=11.0).contains(&(now - start).as_secs_f64()), "{:?}", now - start);
        assert!(limiter.spend(now + Duration::from_secs(10)).is_zero());
    }
}

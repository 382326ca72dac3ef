//! A bucket of tokens that fills by itself: `burst` at once, and one more in each step of time.
//!
//! It is one moment, that at which it would be full again: taking a token is an addition, and whoever keeps many may forget those
//! that are full.

use std::time::{Duration, Instant};

/// How much a bucket holds, and how fast it fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens at once, at least one.
    pub burst: u32,
    /// Between two after that.
    pub every: Duration,
}

/// A bucket. Its rate is its user's, who may have another one tomorrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    full_at: Instant,
}

impl Bucket {
    /// A full one.
    pub fn full(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// One with a single token in it.
    pub fn with_one(rate: Rate, now: Instant) -> Self {
        Self { full_at: now + rate.every * rate.burst.saturating_sub(1) }
    }

    /// How long until there is a token.
    pub fn wait(&self, rate: Rate, now: Instant) -> Duration {
        self.debt(rate.every * rate.burst.saturating_sub(1), now)
    }

    /// Takes a token, whether there is one or not; how long until nothing is owed.
    pub fn spend(&mut self, rate: Rate, now: Instant) -> Duration {
        self.full_at = self.full_at.max(now) + rate.every;
        self.debt(rate.every * rate.burst, now)
    }

    /// Takes a token if there is one.
    ///
    /// # Errors
    /// How long until there is.
    pub fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let wait = self.wait(rate, now);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.spend(rate, now);
        Ok(())
    }

    /// Whether it is full, and may be forgotten.
    pub fn is_full(&self, now: Instant) -> bool {
        self.full_at <= now
    }

    fn debt(&self, held: Duration, now: Instant) -> Duration {
        self.full_at.saturating_duration_since(now).saturating_sub(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { burst: 5, every: Duration::from_millis(100) };

    #[test]
    fn a_burst_goes_at_once_and_what_follows_at_its_pace() {
        let mut now = Instant::now();
        let mut bucket = Bucket::full(now);
        assert!((0..5).all(|_| bucket.spend(RATE, now).is_zero()));
        let start = now;
        for _ in 0..100 {
            now += bucket.spend(RATE, now);
        }
        assert!((9.0..=11.0).contains(&(now - start).as_secs_f64()), "{:?}", now - start);
        assert!(bucket.spend(RATE, now + Duration::from_secs(10)).is_zero());
    }

    #[test]
    fn what_is_refused_takes_nothing() {
        let now = Instant::now();
        let mut bucket = Bucket::with_one(RATE, now);
        assert_eq!(bucket.take(RATE, now), Ok(()));
        for _ in 0..3 {
            assert_eq!(bucket.take(RATE, now), Err(RATE.every));
        }
        assert_eq!(bucket.take(RATE, now + RATE.every), Ok(()));
        // Empty after each of the two, it is full five steps after the second.
        assert!(!bucket.is_full(now + 5 * RATE.every) && bucket.is_full(now + 6 * RATE.every));
    }
}

//! How long to wait before the next attempt to connect: twice as long each time, with a random part.
//!
//! Many companions must not connect at the same moment to a broker that has just started, nor wait long for one that was
//! only restarted.

/// The longest delay after the first failure.
pub const FIRST_DELAY_MS: u64 = 250;
/// The longest delay.
pub const MAX_DELAY_MS: u64 = 10_000;
/// After a connection that lasted this long the delays start again at the first.
pub const STABLE_CONNECTION_MS: u64 = 10_000;

/// The number of failed attempts, which sets the next delay.
#[derive(Debug, Clone, Copy, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Milliseconds to wait after a connection that lasted `lived` milliseconds: one half is fixed, the other half is drawn
    /// with `random`.
    pub fn delay_after(&mut self, lived: u64, random: u32) -> u64 {
        if lived >= STABLE_CONNECTION_MS {
            self.failures = 0;
        }
        let full = MAX_DELAY_MS.min(FIRST_DELAY_MS << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        full / 2 + u64::from(random) % (full / 2 + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_begin_again_after_a_good_connection() {
        let mut backoff = Backoff::default();
        let shortest: Vec<_> = (0..8).map(|_| backoff.delay_after(0, 0)).collect();
        assert_eq!(shortest, [125, 250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
        assert_eq!(
            backoff.delay_after(STABLE_CONNECTION_MS - 1, 5_000),
            10_000,
            "kicked out again and again"
        );
        assert_eq!(backoff.delay_after(STABLE_CONNECTION_MS, 125), 250);
        assert_eq!(backoff.delay_after(0, 251), 250, "the random part wraps around");
        (0..100).for_each(|_| {
            assert!((5_000..=MAX_DELAY_MS).contains(&Backoff { failures: u32::MAX }.delay_after(0, u32::MAX)))
        });
    }
}

//! How fast things are tried again.

use std::time::Duration;

use crate::random;

/// How fast things are tried again.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Tempo {
    /// After the first failure; it doubles.
    pub(in super::super) first: Duration,
    /// At most.
    pub(in super::super) longest: Duration,
    /// Between two beginnings of a session: "per 5 seconds" one, where there is no more than one shard
    /// (<https://docs.discord.com/developers/events/gateway#rate-limiting>).
    pub(in super::super) identify: Duration,
}

impl Tempo {
    /// Where every session ends at once, that is less than 300 of them a day, and where each lasts for ten minutes less than 150:
    /// far from the thousand that Discord allows, of which another program of the same bot may need some.
    pub(in super::super) const USUAL: Self = Self {
        first: Duration::from_secs(1),
        longest: Duration::from_mins(5),
        identify: Duration::from_secs(5),
    };

    /// How long to wait after so many failures: somewhere between the half of it and all, so that not everybody comes back
    /// at once.
    pub(in super::super) fn pause(&self, failures: u32) -> Duration {
        let whole = self.first.saturating_mul(1 << failures.min(16)).min(self.longest);
        whole.mul_f64(0.5 + chance() / 2.0)
    }
}

/// From zero to one.
pub(super) fn chance() -> f64 {
    f64::from(u32::from_le_bytes(random::bytes())) / f64::from(u32::MAX)
}

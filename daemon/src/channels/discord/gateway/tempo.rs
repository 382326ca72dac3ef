//! How fast things are tried again.

use std::time::Duration;

use crate::channels::kit::pause::pause;

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

    /// How long to wait after so many failures.
    pub(in super::super) fn pause(&self, failures: u32) -> Duration {
        pause(self.first, self.longest, failures)
    }
}

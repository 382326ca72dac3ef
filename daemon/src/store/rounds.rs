//! Who was answered together comes again together: for them the next commit waits a little, where a commit takes long.
//!
//! The first to come back would begin a commit alone, and all others wait for it and then for their own: two waits for the disk instead
//! of one, and half as many in each. A card's commit takes tens of milliseconds, and callers come back within a few.

use std::time::{Duration, Instant};

/// A commit is waited with by at most this part of what the last one took.
const SHARE: u32 = 4;
/// A commit that is faster is waited with by none: whoever is late has its own as soon.
const SLOW: Duration = Duration::from_millis(4);

/// What the last commit was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// When its callers had their answers.
    answered: Instant,
    /// How long the disk took for it.
    took: Duration,
    /// How many may want the next: who shared it, and who came meanwhile.
    expected: usize,
}

impl Round {
    /// One whose callers have just been answered; so many may want the next.
    pub(super) fn ended(took: Duration, expected: usize) -> Self {
        Self { answered: Instant::now(), took, expected }
    }

    /// How long the next commit still waits for others, if so many want it by now.
    pub(super) fn waits(self, here: usize, now: Instant) -> Option<Duration> {
        // One alone has nobody to wait for.
        if self.took < SLOW || self.expected < 2 || here >= self.expected {
            return None;
        }
        let until = self.answered + self.took / SHARE;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_commit_is_shared_by_all_that_may_want_it_if_they_come_soon() {
        let round = Round::ended(Duration::from_millis(40), 3);
        let after = |milliseconds| round.answered + Duration::from_millis(milliseconds);
        assert_eq!(round.waits(1, after(0)), Some(Duration::from_millis(10)));
        assert_eq!(round.waits(2, after(4)), Some(Duration::from_millis(6)));
        assert_eq!(round.waits(3, after(4)), None, "all are there");
        assert_eq!(round.waits(1, after(10)), None, "they had their time");
        assert_eq!(round.waits(1, after(5_000)), None);
    }

    #[test]
    fn nobody_waits_for_others_on_a_fast_disk_or_alone() {
        for (took, expected) in [(3, 64), (40, 1), (40, 0), (0, 64)] {
            let round = Round::ended(Duration::from_millis(took), expected);
            assert_eq!(round.waits(0, round.answered), None, "{took} ms for {expected}");
        }
    }
}

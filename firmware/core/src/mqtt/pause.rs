//! The pause before the next attempt to connect: twice as long each time, and never the same for two devices.
//!
//! A house full of companions must not fall on a broker that has just come up, nor wait long for one that was only
//! restarted.

/// The pause after the first failure, in milliseconds.
pub const FIRST: u64 = 250;
/// The longest pause.
pub const LAST: u64 = 10_000;
/// A connection that lived this many milliseconds was a good one: the next pause is the first again.
pub const GOOD: u64 = 10_000;

/// How many attempts have failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pause {
    failures: u32,
}

impl Pause {
    /// Milliseconds to wait now, after a connection that lived so long: half of them fixed, half by the dice.
    pub fn after(&mut self, lived: u64, dice: u32) -> u64 {
        if lived >= GOOD {
            self.failures = 0;
        }
        let full = LAST.min(FIRST << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        full / 2 + u64::from(dice) % (full / 2 + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn pauses_double_up_to_the_last_and_begin_again_after_a_good_connection() {
        let mut pause = Pause::default();
        let shortest: Vec<_> = (0..8).map(|_| pause.after(0, 0)).collect();
        assert_eq!(shortest, [125, 250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
        assert_eq!(pause.after(GOOD - 1, 5_000), 10_000, "kicked out again and again");
        assert_eq!(pause.after(GOOD, 125), 250);
        assert_eq!(pause.after(0, 251), 250, "the dice have come round");
        (0..100)
            .for_each(|_| assert!((5_000..=LAST).contains(&Pause { failures: u32::MAX }.after(0, u32::MAX))));
    }
}

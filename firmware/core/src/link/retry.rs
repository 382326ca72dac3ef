//! When a frame that was not answered is sent again: soon at first, then with doubling delays.
//!
//! The other side notices a lost frame only when the next one arrives. So a frame without an answer is sent again soon:
//! either it arrives, or the other side sees the gap before it and a new session begins at once. An answer that is merely
//! late costs a frame or two.

use crate::Millis;

/// The first delay: longer than a hub takes to answer on a home network.
pub const FIRST_DELAY_MS: u64 = 300;
/// The longest delay. Each delay is twice the one before.
pub const MAX_DELAY_MS: u64 = 2_400;

/// The schedule of a frame that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    due_at: Millis,
    delay: u64,
}

impl Retry {
    /// The schedule of a frame that is sent now for the first time.
    pub fn new(now: Millis) -> Self {
        Self { due_at: now.after(FIRST_DELAY_MS), delay: FIRST_DELAY_MS }
    }

    /// When to send it again.
    pub fn due_at(&self) -> Millis {
        self.due_at
    }

    /// Whether to send it again now. If so, the next delay is longer.
    pub fn is_due(&mut self, now: Millis) -> bool {
        if now < self.due_at {
            return false;
        }
        self.delay = MAX_DELAY_MS.min(self.delay * 2);
        self.due_at = now.after(self.delay);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let mut retry = Retry::new(Millis(1_000));
        let sent_at: std::vec::Vec<u64> = (1_000..12_000).filter(|now| retry.is_due(Millis(*now))).collect();
        assert_eq!(sent_at, [1_300, 1_900, 3_100, 5_500, 7_900, 10_300]);
        assert_eq!(retry.due_at(), Millis(12_700));
    }
}

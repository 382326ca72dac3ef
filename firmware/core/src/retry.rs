//! When something that was not answered is said again: soon at first, then ever more seldom.
//!
//! A frame that was lost on its way shows itself to the other side only by the frame after it. So whoever waits for an
//! answer says its question again soon: either it arrives, or the gap before it is seen and a new session begins at once.
//! An answer that is merely late costs a frame or two.

use crate::Millis;

/// The first pause, in milliseconds: longer than a hub takes for an answer on a home's network.
pub const FIRST: u64 = 300;
/// The longest pause; each is twice the one before.
pub const LAST: u64 = 2_400;

/// A question that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    at: Millis,
    pause: u64,
}

impl Retry {
    /// Of a question that is asked now.
    pub fn new(now: Millis) -> Self {
        Self { at: now.after(FIRST), pause: FIRST }
    }

    /// When it is asked again.
    pub fn at(&self) -> Millis {
        self.at
    }

    /// Whether to ask again now; then there is a longer pause until the next time.
    pub fn is_due(&mut self, now: Millis) -> bool {
        if now < self.at {
            return false;
        }
        self.pause = LAST.min(self.pause * 2);
        self.at = now.after(self.pause);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut retry = Retry::new(Millis(1_000));
        let asked: std::vec::Vec<u64> = (1_000..12_000).filter(|now| retry.is_due(Millis(*now))).collect();
        assert_eq!(asked, [1_300, 1_900, 3_100, 5_500, 7_900, 10_300]);
        assert_eq!(retry.at(), Millis(12_700));
    }
}

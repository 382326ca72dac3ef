//! Points in time.

/// A point in time: milliseconds since any fixed moment, such as the start. It must not go backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Millis(pub u64);

impl Millis {
    /// The moment `milliseconds` later.
    pub fn after(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// When a countdown to `deadline` in whole seconds shows the next number.
    pub fn next_second(self, deadline: Self) -> Self {
        self.after((deadline.since(self).max(1) - 1) % 1_000 + 1)
    }

    /// Milliseconds since `earlier`; 0 if `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_changes_when_a_whole_second_less_is_left() {
        let deadline = Millis(10_000);
        let shown = |now: Millis| deadline.since(now).div_ceil(1_000);
        for now in (0..10_000).map(Millis) {
            let next = now.next_second(deadline);
            assert_eq!(shown(next), shown(now) - 1, "{now:?}");
            assert!(next.since(now) <= 1_000 && shown(Millis(next.0 - 1)) == shown(now), "{now:?}");
        }
        assert_eq!(deadline.next_second(deadline), Millis(10_001), "never at once");
    }
}

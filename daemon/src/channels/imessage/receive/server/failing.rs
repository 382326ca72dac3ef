//! A row over which the server fails each time: what stands behind it is to be read all the same.
//!
//! It is given up only after some failures, between which the loop waits, and only while other rows are handed over: a server that is
//! ill fails over all of them, and nothing is lost then.

use std::collections::BTreeMap;

use super::super::source::Mark;

/// How often a row is asked for in vain.
const TRIES: u32 = 3;
/// Such rows that are remembered: more than are asked for a second time.
const MOST: usize = 1000;

/// Places behind which a row is that could not be had, and how often it was asked for.
#[derive(Debug, Default)]
pub(super) struct Failing(BTreeMap<Mark, u32>);

impl Failing {
    /// The row behind this place was asked for in vain; whether that was often enough.
    pub(super) fn is_hopeless(&mut self, before: Mark) -> bool {
        let tried = self.0.entry(before).or_default();
        *tried = tried.saturating_add(1);
        let is_hopeless = *tried > TRIES;
        if self.0.len() > MOST {
            self.0.pop_first();
        }
        is_hopeless
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_given_up_after_some_failures_and_only_so_many_are_remembered() {
        let mut failing = Failing::default();
        for _ in 0..TRIES {
            assert!(!failing.is_hopeless(Mark::behind(1)));
            assert!(!failing.is_hopeless(Mark::behind(2)), "each row for itself");
        }
        assert!(failing.is_hopeless(Mark::behind(1)) && failing.is_hopeless(Mark::behind(1)));
        for row in 0..3000 {
            failing.is_hopeless(Mark::behind(row));
        }
        assert_eq!(failing.0.len(), MOST);
    }
}

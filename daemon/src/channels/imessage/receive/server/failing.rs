//! A row over which the server fails each time: what stands behind it is to be read all the same.
//!
//! It is given up only after some failures, between which the loop waits, and only while other rows are handed over: a server that is
//! ill fails over all of them, and nothing is lost then.
//!
//! Whoever can write one such row can write thirty. Once one was given up, the rows behind it are not waited for, until some are read
//! without a failure.

use std::collections::BTreeMap;

use super::super::source::Mark;

/// How often a row is asked for in vain.
const TRIES: u32 = 3;
/// Such rows that are remembered: more than are asked for a second time.
const MOST: usize = 1000;

/// Places behind which a row is that could not be had, and how often it was asked for.
#[derive(Debug, Default)]
pub(super) struct Failing {
    tried: BTreeMap<Mark, u32>,
    /// Whether one was given up, and none was read without a failure since.
    goes_on: bool,
}

impl Failing {
    /// The row behind this place was asked for in vain; whether that was often enough.
    pub(super) fn is_hopeless(&mut self, before: Mark) -> bool {
        let tried = self.tried.entry(before).or_default();
        *tried = tried.saturating_add(1);
        let is_hopeless = *tried > TRIES;
        if self.tried.len() > MOST {
            self.tried.pop_first();
        }
        is_hopeless || self.goes_on
    }

    /// A row was given up.
    pub(super) fn gave_up(&mut self) {
        self.goes_on = true;
    }

    /// A page was read without a failure.
    pub(super) fn is_well(&mut self) {
        self.goes_on = false;
    }

    /// Whether the next such row is given up at once.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
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
        assert_eq!(failing.tried.len(), MOST);
    }

    #[test]
    fn behind_a_row_that_was_given_up_none_is_waited_for_until_some_are_read_well() {
        let mut failing = Failing::default();
        assert!(!failing.is_hopeless(Mark::behind(1)) && !failing.goes_on());
        failing.gave_up();
        assert!(failing.is_hopeless(Mark::behind(2)) && failing.goes_on());
        failing.is_well();
        assert!(!failing.is_hopeless(Mark::behind(3)));
    }
}

//! Whom a message to several people reached, where a platform says so of each of them.
//!
//! A group is one conversation and one message; that some of its members did not get it is part of the outcome, not an
//! error: sending again would reach the others twice.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Members who are named as not reached, at most; how many there are is in the numbers.
pub const MAX_NAMED: usize = 50;
/// Of those, how many a sentence names.
const MAX_IN_SENTENCE: usize = 5;

/// Whom a message to several people reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Recipients {
    /// How many it reached.
    pub reached: usize,
    /// How many it was for.
    pub of: usize,
    /// Who did not get it, the first 50 of them.
    pub failed: Vec<Unreached>,
}

/// Somebody whom a message did not reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unreached {
    /// Who, by name or as the platform knows them.
    pub who: String,
    /// Why, in a few words: `not on Signal`.
    pub why: String,
}

impl Recipients {
    /// Whether somebody did not get it.
    pub fn is_partial(&self) -> bool {
        self.reached < self.of
    }
}

impl fmt::Display for Recipients {
    /// `2 of 3 members; not: Carol (not on Signal)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} members", self.reached, self.of)?;
        for (n, unreached) in self.failed.iter().take(MAX_IN_SENTENCE).enumerate() {
            let before = if n == 0 { "; not: " } else { ", " };
            write!(f, "{before}{} ({})", unreached.who, unreached.why)?;
        }
        match (self.of - self.reached.min(self.of)).checked_sub(MAX_IN_SENTENCE) {
            Some(more @ 1..) if self.failed.len() > MAX_IN_SENTENCE => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_a_few_and_counts_the_others() {
        let failed = |n: usize| {
            let one = |n| Unreached { who: format!("+{n}"), why: "not on Signal".into() };
            (0..n).map(one).collect::<Vec<_>>()
        };
        let some = Recipients { reached: 2, of: 3, failed: failed(1) };
        assert!(some.is_partial() && some.to_string() == "2 of 3 members; not: +0 (not on Signal)");
        let all = Recipients { reached: 3, of: 3, failed: vec![] };
        assert!(!all.is_partial() && all.to_string() == "3 of 3 members");
        let many = Recipients { reached: 1, of: 61, failed: failed(MAX_NAMED) }.to_string();
        assert!(many.ends_with(", +4 (not on Signal) and 55 more"), "{many}");
        let five = Recipients { reached: 1, of: 6, failed: failed(5) }.to_string();
        assert!(five.ends_with("+4 (not on Signal)"), "{five}");
    }
}

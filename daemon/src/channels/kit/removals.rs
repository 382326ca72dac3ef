//! What was to be removed and is not there, after an answer was lost: it is done.
//!
//! A removal may be tried again, for it comes to the same; but a platform refuses the second one where the first was heard,
//! since there is nothing left to remove. That refusal is a success only then: of an id that never was one it is an error
//! that somebody wants to read. So a part whose answer was lost is remembered by its key. After a restart nobody remembers,
//! and the refusal is told as it is.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use crate::channels::{Failure, PartKey};

/// Parts that are remembered: more than have lost an answer within the hour in which they are tried again.
const MOST: usize = 512;

/// The removals of an account whose answers were lost.
#[derive(Default)]
pub struct Removals(Mutex<VecDeque<PartKey>>);

impl Removals {
    /// Whether an answer to this one was lost.
    pub fn lost(&self, key: &PartKey) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    /// What the end of a removal means; `gone` where the platform says that there is no such thing.
    ///
    /// # Errors
    /// It is not done, or nobody knows.
    pub fn settle<T>(
        &self,
        key: &PartKey,
        gone: bool,
        ended: Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let mut lost = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Err(Failure::Permanent(_)) if gone && lost.contains(key) => Ok(None),
            Err(Failure::Unknown(why)) => {
                if !lost.contains(key) {
                    lost.truncate(MOST - 1);
                    lost.push_front(key.clone());
                }
                Err(Failure::Unknown(why))
            }
            ended => ended.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_was_removed_only_where_an_answer_was_lost_before() {
        let (removals, key) = (Removals::default(), |n: usize| PartKey(format!("{n:032x}")));
        let lost = || Err::<(), _>(Failure::Unknown("no answer".into()));
        let refused = || Err::<(), _>(Failure::Permanent("no such message".into()));
        assert!(removals.settle(&key(0), true, refused()).is_err());
        assert!(removals.settle(&key(0), false, lost()).is_err());
        assert_eq!(removals.settle(&key(0), true, refused()), Ok(None));
        assert!(removals.settle(&key(0), false, refused()).is_err(), "it may not be removed");
        assert!(removals.settle(&key(1), true, refused()).is_err());
        assert_eq!(removals.settle(&key(1), false, Ok(7)), Ok(Some(7)));
        for n in 0..2 * MOST {
            assert!(removals.settle(&key(n), false, lost()).is_err());
        }
        assert!(removals.settle(&key(0), true, refused()).is_err(), "it is bounded");
        assert_eq!(removals.0.lock().unwrap().len(), MOST);
    }
}

//! On which received events the owner's hooks failed, and how often: remembered over batches, and not over a restart.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// How often hooks are asked about an event on which they fail.
pub const MAX_ATTEMPTS: u32 = 10;
/// Events that are remembered as failed, at most: one of each account comes again and again.
const MAX_REMEMBERED: usize = 1_000;

/// On which events hooks have failed, and how often.
#[derive(Debug, Default)]
pub struct GateAttempts(Mutex<HashMap<[u8; 32], u32>>);

impl GateAttempts {
    /// Hooks failed on an event; whether it has another try.
    pub(crate) fn failed(&self, key: [u8; 32]) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_REMEMBERED && !all.contains_key(&key) {
            all.clear();
        }
        let count = all.entry(key).or_default();
        *count += 1;
        let again = *count < MAX_ATTEMPTS;
        if !again {
            all.remove(&key);
        }
        again
    }

    pub(crate) fn done(&self, key: &[u8; 32]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_so_many_tries_and_no_more_are_remembered_than_fit() {
        let attempts = GateAttempts::default();
        for _ in 1..MAX_ATTEMPTS {
            assert!(attempts.failed([1; 32]));
        }
        assert!(!attempts.failed([1; 32]));
        assert!(attempts.failed([1; 32]), "it is forgotten with its end");
        attempts.done(&[1; 32]);
        for n in 0..2_000_u32 {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&n.to_be_bytes());
            attempts.failed(key);
        }
        assert!(attempts.0.lock().unwrap().len() <= MAX_REMEMBERED);
    }
}

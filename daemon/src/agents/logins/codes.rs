//! Codes that are good once: links that sign somebody in, and what makes a decision by a passkey good once.
//!
//! They live in memory, so that none outlives the hub that made it; of each the hash is kept. Whoever brings one uses it up,
//! whatever comes of it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::hash;

/// How long a code is good.
pub const GOOD_FOR: Duration = Duration::from_secs(120);
/// Codes at once. For one more, the oldest goes.
const MAX_CODES: usize = 64;
/// Random bytes of a code.
const BYTES: usize = 16;

/// Those that are good, each for something: a link for the right of an operator's token. Clones share them.
#[derive(Debug, Clone)]
pub struct Codes<T>(Arc<Mutex<Vec<Code<T>>>>);

#[derive(Debug)]
struct Code<T> {
    hash: [u8; 32],
    what: T,
    until: Instant,
}

impl<T> Default for Codes<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Codes<T> {
    /// A new one for this, 16 bytes in base64url. Seen this one time.
    pub fn make(&self, what: T) -> String {
        self.make_at(what, Instant::now())
    }

    fn make_at(&self, what: T, now: Instant) -> String {
        let code = BASE64_URL_SAFE_NO_PAD.encode(crate::random::bytes::<BYTES>());
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|code| now < code.until);
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        codes.push(Code { hash: hash(&code), what, until: now + GOOD_FOR });
        code
    }

    /// Uses a code up; what it is for, if it is good.
    pub fn take(&self, code: &str) -> Option<T> {
        self.take_at(code, Instant::now())
    }

    fn take_at(&self, code: &str, now: Instant) -> Option<T> {
        let hash = hash(code);
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = codes.iter().position(|code| code.hash == hash)?;
        let code = codes.remove(at);
        (now < code.until).then_some(code.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_for_two_minutes() {
        let (codes, now) = (Codes::default(), Instant::now());
        let [used, late] = [1, 2].map(|token| codes.make_at([token; 32], now));
        assert_eq!((used.len(), used == late), (22, false));
        let last = now + GOOD_FOR - Duration::from_millis(1);
        assert_eq!(codes.take_at(&used, last), Some([1; 32]));
        assert_eq!(codes.take_at(&used, last), None);
        assert_eq!(codes.take_at(&late, now + GOOD_FOR), None);
        assert_eq!(codes.take_at("", now), None);
    }

    #[test]
    fn they_are_few_and_the_oldest_goes_first() {
        let (codes, now) = (Codes::default(), Instant::now());
        let all: Vec<String> = (0..=MAX_CODES).map(|_| codes.make_at([1; 32], now)).collect();
        assert_eq!(codes.take_at(&all[0], now), None);
        assert!(all[1..].iter().all(|code| codes.take_at(code, now).is_some()));
    }
}

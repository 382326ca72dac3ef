//! What is given out to anybody to be signed: good for two minutes, and once.
//!
//! Nothing of it is kept until it comes back signed. Where it was kept, whoever asked often enough pushed out that of the person who was
//! signing in. So it says itself when it was given out, under a key that lives as long as the hub runs.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::hmac;

use super::codes::GOOD_FOR;

/// Bytes of the time and of randomness.
const TIME: usize = 8;
const RANDOM: usize = 16;

/// Those of one purpose. What another one gave out is none.
pub struct Stamps {
    key: hmac::Key,
    began: Instant,
    /// Those that were signed, until they are no more good anyway.
    used: Mutex<Vec<(Vec<u8>, Instant)>>,
}

impl Default for Stamps {
    fn default() -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &crate::random::bytes::<32>());
        Self { key, began: Instant::now(), used: Mutex::default() }
    }
}

impl Stamps {
    /// A new one, 56 bytes in base64url.
    pub fn make(&self) -> String {
        self.make_at(Instant::now())
    }

    fn make_at(&self, now: Instant) -> String {
        let age = u64::try_from(now.duration_since(self.began).as_millis()).unwrap_or(u64::MAX);
        let mut stamp = [&age.to_be_bytes()[..], &crate::random::bytes::<RANDOM>()].concat();
        let tag = hmac::sign(&self.key, &stamp);
        stamp.extend(tag.as_ref());
        BASE64_URL_SAFE_NO_PAD.encode(stamp)
    }

    /// The bytes of one that is good still.
    pub fn read(&self, text: &str) -> Option<Vec<u8>> {
        self.read_at(text, Instant::now())
    }

    fn read_at(&self, text: &str, now: Instant) -> Option<Vec<u8>> {
        let stamp = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (said, tag) = stamp.split_at_checked(TIME + RANDOM)?;
        hmac::verify(&self.key, said, tag).ok()?;
        let given = self.began + Duration::from_millis(u64::from_be_bytes(*said.first_chunk()?));
        (now < given + GOOD_FOR && !self.used().iter().any(|(used, _)| *used == stamp)).then_some(stamp)
    }

    /// Uses one up that was read and signed; whether it was not before.
    pub fn use_up(&self, stamp: Vec<u8>) -> bool {
        let now = Instant::now();
        let mut used = self.used();
        used.retain(|(_, until)| now < *until);
        if used.iter().any(|(known, _)| *known == stamp) {
            return false;
        }
        used.push((stamp, now + GOOD_FOR));
        true
    }

    fn used(&self) -> std::sync::MutexGuard<'_, Vec<(Vec<u8>, Instant)>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_good_once_and_for_two_minutes_however_many_are_asked_for() {
        let stamps = Stamps::default();
        let now = Instant::now();
        let stamp = stamps.make_at(now);
        for _ in 0..1_000 {
            assert_ne!(stamps.make_at(now), stamp);
        }
        let bytes = stamps.read_at(&stamp, now + GOOD_FOR - Duration::from_secs(1)).expect("it is good");
        assert_eq!(stamps.read_at(&stamp, now + GOOD_FOR + Duration::from_millis(1)), None);
        assert!(stamps.use_up(bytes.clone()) && !stamps.use_up(bytes));
        assert_eq!(stamps.read_at(&stamp, now), None);
    }

    #[test]
    fn what_was_not_given_out_here_is_none() {
        let (stamps, now) = (Stamps::default(), Instant::now());
        assert_eq!(stamps.read_at(&Stamps::default().make_at(now), now), None);
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(stamps.make_at(now)).unwrap();
        bytes[7] ^= 1;
        assert_eq!(stamps.read_at(&BASE64_URL_SAFE_NO_PAD.encode(&bytes), now), None);
        for text in ["", "AAAA", "a=", "é"] {
            assert_eq!(stamps.read_at(text, now), None, "{text}");
        }
    }
}

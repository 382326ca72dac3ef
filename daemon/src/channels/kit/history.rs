//! What a conversation's history says of a text whose answer was lost, where a platform knows no key of ours.
//!
//! A message of the account itself with this very text, not older than the part's first request, is taken for it; one that an
//! earlier part became is not. After a restart the earlier ones are
//! forgotten; then the same text, sent twice within moments, could be told apart no more, and the second would count as
//! arrived. Files have nothing by which they could be known.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::clock::now_ms;

/// How long a platform may take to write down what it has taken.
const SETTLING: Duration = Duration::from_secs(20);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(4);
/// Messages that are remembered as earlier parts'.
const REMEMBERED: usize = 512;
/// How much earlier than ours the other clock may be.
const CLOCKS: Duration = Duration::from_secs(120);

/// Messages of an account of which it is known what they were.
#[derive(Debug)]
pub struct History {
    known: Mutex<VecDeque<String>>,
    settling: Duration,
}

impl Default for History {
    fn default() -> Self {
        Self { known: Mutex::default(), settling: SETTLING }
    }
}

impl History {
    /// One that gives a platform no time.
    #[cfg(test)]
    pub fn hasty() -> Self {
        Self { settling: Duration::ZERO, ..Self::default() }
    }

    /// That message is a part's.
    pub fn remember(&self, id: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back(id.to_owned());
    }

    /// Whether a message with the text `has` may be the one that was to say `text`.
    pub fn may_be(&self, id: &str, has: Option<&str>, text: &str) -> bool {
        has.map(str::trim) == Some(text.trim())
            && !self.known.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == id)
    }

    /// For looking until the platform has had its time, which began when the request left, at `left` in milliseconds since 1970: a
    /// hub that starts again does not give it once more. A clock that went back gives it whole.
    pub fn patience(&self, left: i64) -> Patience {
        let had = u64::try_from(now_ms().saturating_sub(left)).unwrap_or(0);
        Patience(Instant::now() + self.settling.saturating_sub(Duration::from_millis(had)))
    }
}

/// How long somebody goes on looking.
pub struct Patience(Instant);

impl Patience {
    /// Waits a little; whether to look again.
    pub async fn again(&self) -> bool {
        let goes_on = Instant::now() < self.0;
        if goes_on {
            tokio::time::sleep(PAUSE).await;
        }
        goes_on
    }
}

/// From when on a message may be one whose request first left then, in milliseconds since 1970: a little earlier.
pub fn since(left: i64) -> jiff::Timestamp {
    let left = jiff::Timestamp::from_millisecond(left).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    left.checked_sub(jiff::SignedDuration::try_from(CLOCKS).unwrap_or_default()).unwrap_or(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_itself_and_once() {
        let history = History::default();
        assert!(history.may_be("1", Some(" Hello\n"), "Hello"));
        assert!(!history.may_be("1", Some("Hello, Ann"), "Hello") && !history.may_be("1", None, "Hello"));
        history.remember("1");
        assert!(!history.may_be("1", Some("Hello"), "Hello") && history.may_be("2", Some("Hello"), "Hello"));
        (0..REMEMBERED).for_each(|n| history.remember(&format!("other {n}")));
        assert!(history.may_be("1", Some("Hello"), "Hello"), "what is remembered is bounded");
    }

    #[tokio::test(start_paused = true)]
    async fn a_platform_is_given_its_time_and_no_more() {
        // A request that leaves now, by a clock that is behind or not; one that left 12 s ago; one from before an outage.
        let (soon, late) = (now_ms() + 60_000, now_ms() - 12_000);
        for (left, looks, waits) in [(soon, 6, SETTLING), (late, 3, 2 * PAUSE), (0, 1, Duration::ZERO)] {
            let (begins, patience, mut looked) = (Instant::now(), History::default().patience(left), 1);
            while patience.again().await {
                looked += 1;
            }
            assert_eq!((looked, begins.elapsed()), (looks, waits), "{left}");
        }
        assert!(!History::hasty().patience(soon).again().await);
    }

    #[test]
    fn what_is_older_than_the_request_is_not_looked_at() {
        assert_eq!(since(1_700_000_000_000).to_string(), "2023-11-14T22:11:20Z");
        assert!(since(i64::MIN) < since(0) || since(i64::MIN) == since(0));
    }
}

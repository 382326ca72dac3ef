//! How often a listener asks that is answered at once, again and again.
//!
//! A platform holds a question until there is something to say. A server or a proxy that does not, or that tells the same for ever, was asked
//! some hundred times a second, with a write each time. What has piled up must not wait for all that: so the first rounds go at once.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// A round each, in the long run.
const EACH: Duration = Duration::from_millis(250);
/// Rounds that go at once before that: each brings several messages.
const AT_ONCE: u32 = 40;

/// The rounds of one listener.
#[derive(Debug)]
pub(in crate::channels) struct Rounds {
    /// When all rounds so far are over that take [`EACH`].
    over: Instant,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { over: Instant::now() }
    }
}

impl Rounds {
    /// Waits until the next round may go.
    pub(in crate::channels) async fn next(&mut self) {
        let now = Instant::now();
        let over = self.over.max(now);
        self.over = over + EACH;
        let ahead = over.saturating_duration_since(now).saturating_sub(EACH * AT_ONCE);
        if !ahead.is_zero() {
            sleep_until(now + ahead).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_piled_up_goes_at_once_and_what_never_ends_goes_slowly() {
        let (mut rounds, begun) = (Rounds::default(), Instant::now());
        for _ in 0..AT_ONCE {
            rounds.next().await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        for _ in 0..100 {
            rounds.next().await;
        }
        let took = begun.elapsed();
        assert!((EACH * 98..=EACH * 101).contains(&took), "{took:?}");
        // Whoever waited for an answer meanwhile has rounds again.
        tokio::time::sleep(EACH * AT_ONCE).await;
        let again = Instant::now();
        for _ in 0..AT_ONCE {
            rounds.next().await;
        }
        assert!(again.elapsed() < EACH * 2, "{:?}", again.elapsed());
    }
}

//! That an account stops listening: what its platform tells once, and is read already, is written down first.
//!
//! A listener that is dropped loses what it has read and not written, such as a message whose file is being fetched, and what stands
//! behind it. Where the platform repeats that, or goes on from a position, nothing is lost; where it does not, the listener looks
//! here: it reads what is there, waits for files a moment only, writes, and ends.

use std::{future::Future, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// Whether an account is to stop listening, and since when.
#[derive(Debug)]
pub(in crate::channels) struct Leaving(watch::Sender<Option<Instant>>);

impl Default for Leaving {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Leaving {
    /// Has it stop, and waits until it has. Where nobody listens there is nothing to wait for.
    pub(in crate::channels) async fn leave(&self) {
        self.0.send_replace(Some(Instant::now()));
        self.0.closed().await;
    }

    /// What counts as listening for as long as it is kept.
    pub(in crate::channels) fn listening(&self) -> Listening<'_> {
        Listening { leaving: self, _heard: self.0.subscribe() }
    }

    /// Since when it is to stop.
    pub(in crate::channels) fn since(&self) -> Option<Instant> {
        *self.0.borrow()
    }

    /// Does something, for at most `grace` after it is to stop; nothing if that was not long enough.
    pub(in crate::channels) async fn within<T>(
        &self,
        grace: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let over = async {
            let mut told = self.0.subscribe();
            // It is never closed: this is its sender.
            let since = told.wait_for(Option::is_some).await.ok().and_then(|since| *since);
            sleep_until(since.unwrap_or_else(Instant::now) + grace).await;
        };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = over => None,
        }
    }
}

/// Somebody listens, until this goes.
#[derive(Debug)]
pub(in crate::channels) struct Listening<'a> {
    leaving: &'a Leaving,
    _heard: watch::Receiver<Option<Instant>>,
}

impl Listening<'_> {
    /// Whether it is to stop.
    pub(in crate::channels) fn is_over(&self) -> bool {
        self.leaving.since().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn work_goes_on_for_as_long_as_nobody_leaves_and_a_moment_longer() {
        let leaving = Leaving::default();
        assert_eq!(leaving.within(Duration::ZERO, tokio::time::sleep(MOMENT)).await, Some(()));
        let listening = leaving.listening();
        let all = async {
            let endless = leaving.within(MOMENT, std::future::pending::<()>()).await;
            let brief = leaving.within(Duration::ZERO, async { 5 }).await;
            assert!(listening.is_over());
            drop(listening);
            (endless, brief)
        };
        let ((), ended) = tokio::join!(leaving.leave(), all);
        assert_eq!(ended, (None, Some(5)), "what is there already counts still");
        leaving.leave().await;
    }
}

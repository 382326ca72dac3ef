//! How a listener goes on that asks its platform again and again: sooner where something says that there is more, and later where it cannot.

use std::time::Duration;

use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{
    pause::pause,
    rest::{Rest, rest},
    standing::Standing,
};
use crate::channels::{Failure, hub_handle::HubHandle, receiver::Hearing};

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels) struct Tempo {
    /// Between two questions.
    pub(in crate::channels) each: Duration,
    /// After word that something came: it may go before what it tells of is kept.
    pub(in crate::channels) settling: Duration,
    /// After the first failure; it doubles.
    pub(in crate::channels) first: Duration,
    /// At most.
    pub(in crate::channels) longest: Duration,
    /// Where somebody has to do something.
    pub(in crate::channels) refused: Duration,
}

impl Tempo {
    /// The usual one, of a platform whose word goes so long before what it tells of.
    pub(in crate::channels) const fn usual(settling: Duration) -> Self {
        Self {
            each: Duration::from_mins(1),
            settling,
            first: Duration::from_secs(2),
            longest: Duration::from_mins(1),
            refused: Duration::from_mins(5),
        }
    }
}

/// An account that asks again and again.
pub(in crate::channels) struct Polling {
    standing: Standing,
    tempo: Tempo,
    came: Notify,
}

impl Polling {
    pub(in crate::channels) fn new(platform: &'static str, account: &str, tempo: Tempo) -> Self {
        Self { standing: Standing::new(platform, account), tempo, came: Notify::new() }
    }

    /// How the account hears: as `well` says, unless nothing is received.
    pub(in crate::channels) fn hearing(&self, well: impl Into<String>) -> Hearing {
        self.standing.hearing(well)
    }

    /// Something came: it is asked for at once.
    pub(in crate::channels) fn wake(&self) {
        self.came.notify_one();
    }

    /// Waits after a question until the next, for which `came` may say that it is time. The answer is whether there is more at once, or
    /// why there was none; `failures` are those before it, one after the other.
    pub(in crate::channels) async fn wait(
        &self,
        hub: &dyn HubHandle,
        answer: Result<bool, Failure>,
        failures: &mut u32,
        came: impl Future<Output = ()>,
    ) {
        match answer {
            Ok(more) => {
                *failures = 0;
                self.standing.receives();
                if !more {
                    self.until_it_is_time(came).await;
                }
            }
            Err(failure) => {
                let Tempo { first, longest, refused, .. } = self.tempo;
                let wait = pause(first, longest, *failures);
                let Rest { kind, why, wait } = Rest::after(failure, wait, wait, refused);
                self.standing.away(kind, why);
                *failures = failures.saturating_add(1);
                rest(hub, kind, wait).await;
            }
        }
    }

    async fn until_it_is_time(&self, came: impl Future<Output = ()>) {
        let word = async {
            tokio::select! {
                () = self.came.notified() => {}
                () = came => {}
            }
        };
        if timeout(self.tempo.each, word).await.is_ok() {
            sleep(self.tempo.settling).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::Instant;

    use super::*;

    /// A hub that nobody reloads.
    struct Hub;

    impl HubHandle for Hub {}

    #[tokio::test(start_paused = true)]
    async fn it_asks_again_after_its_time_or_at_a_word_and_later_after_each_failure() {
        let settling = Duration::from_millis(300);
        let polling = Polling::new("a platform", "home", Tempo::usual(settling));
        let mut failures = 0;
        let mut begins = Instant::now();
        let mut took = || {
            let took = begins.elapsed();
            begins = Instant::now();
            took
        };
        polling.wait(&Hub, Ok(true), &mut failures, pending()).await;
        assert_eq!(took(), Duration::ZERO, "there is more");
        polling.wait(&Hub, Ok(false), &mut failures, pending()).await;
        assert_eq!(took(), Duration::from_mins(1));
        polling.wait(&Hub, Ok(false), &mut failures, ready(())).await;
        polling.wake();
        polling.wait(&Hub, Ok(false), &mut failures, pending()).await;
        assert_eq!(took(), 2 * settling);
        let away = || Err(Failure::Retry("away".into()));
        for (least, most) in [(1, 2), (2, 4), (4, 8), (8, 16), (16, 32), (30, 60), (30, 60)] {
            polling.wait(&Hub, away(), &mut failures, ready(())).await;
            let took = took();
            assert!((Duration::from_secs(least)..=Duration::from_secs(most)).contains(&took), "{took:?}");
        }
        assert!(!polling.hearing("receives").ready);
        polling.wait(&Hub, Err(Failure::Permanent("no".into())), &mut failures, pending()).await;
        assert_eq!(took(), Duration::from_mins(5));
        polling.wait(&Hub, Ok(true), &mut failures, pending()).await;
        assert_eq!((failures, polling.hearing("receives").ready), (0, true));
    }
}

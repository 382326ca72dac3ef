//! How long files may take that somebody's words wait for.
//!
//! A stranger chooses how many files come, where they lie, and whether they ever come. All strangers together have a few seconds each time
//! that is read, or one of them keeps the words of all others waiting for as long as he likes.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::http::Http;
use crate::channels::hub_handle::FilePlace;

/// The longest that one file is waited for: what came after it waits as well. All files of one reading have a bound together too.
pub(in crate::channels) const LONGEST: Duration = Duration::from_mins(2);

/// For all files of what is read at once: words wait for them.
pub(in crate::channels) const TOGETHER: Duration = Duration::from_mins(3);
/// Of that, for those of people who are not known.
pub(in crate::channels) const STRANGERS: Duration = Duration::from_secs(10);

/// What is left of the time for the files of what is read at once.
#[derive(Debug)]
pub(in crate::channels) struct FileTime {
    until: Instant,
    strangers: Duration,
}

impl FileTime {
    /// So much for all of them, from now on, and so much of it for those of strangers.
    pub(in crate::channels) fn of(together: Duration, strangers: Duration) -> Self {
        Self { until: Instant::now() + together, strangers }
    }

    /// The usual time, from now on.
    pub(in crate::channels) fn usual() -> Self {
        Self::of(TOGETHER, STRANGERS)
    }

    /// Fetches a file of whoever has this place; `fetch` is told until when it may take.
    pub(in crate::channels) async fn fetch<T, F: Future<Output = T>>(
        &mut self,
        FilePlace(stranger): &FilePlace,
        fetch: impl FnOnce(Instant) -> F,
    ) -> T {
        if stranger.is_none() {
            return fetch(self.until).await;
        }
        let begun = Instant::now();
        let fetched = fetch(self.until.min(begun + self.strangers)).await;
        self.strangers = self.strangers.saturating_sub(begun.elapsed());
        fetched
    }
}

/// How long a file of so many bytes may take, where all of them are to be there until then.
pub(in crate::channels) fn time_for(size: Option<u64>, until: Instant) -> Duration {
    let left = until.saturating_duration_since(Instant::now());
    Http::longest(size.unwrap_or(u64::MAX)).min(LONGEST).min(left)
}

/// What is fetched within this time; else why it is not there.
pub(in crate::channels) async fn within<T>(
    time: Duration,
    fetch: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    if time.is_zero() {
        return Err("other files took all the time there was".into());
    }
    timeout(time, fetch).await.unwrap_or_else(|_| Err("it takes too long".into()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn files_of_strangers_have_their_seconds_together_and_those_of_others_the_rest() {
        let mut files = FileTime::usual();
        let stranger = FilePlace(Some(Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()));
        let hangs = |until| within::<()>(time_for(None, until), std::future::pending());
        let begun = Instant::now();
        for _ in 0..20 {
            assert!(files.fetch(&stranger, hangs).await.is_err());
        }
        assert_eq!(begun.elapsed(), STRANGERS);
        for _ in 0..20 {
            assert!(files.fetch(&FilePlace::default(), hangs).await.is_err());
        }
        assert_eq!(begun.elapsed(), TOGETHER);
    }
}

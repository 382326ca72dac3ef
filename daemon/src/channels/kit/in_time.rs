//! How long a file may take that somebody's words wait for.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::http::Http;

/// The longest that one file is waited for: what came after it waits as well. All files of one reading have a bound together too.
pub(in crate::channels) const LONGEST: Duration = Duration::from_mins(2);

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

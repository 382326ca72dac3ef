//! A client that wants to hear when something lands in its inbox is told so: the address of the inbox, and nothing of what
//! stands in it, for that it reads with its own token.
//!
//! Older clients subscribe for their session (`resources/subscribe`, up to 2025-11-25), newer ones by a request that stays open
//! (`subscriptions/listen`, 2026-07-28). Either way one look at the inbox for each thing that happens, and none while nothing
//! does.

use std::sync::{Mutex, PoisonError};

use tokio::task::AbortHandle;

use super::Hands;

/// The inbox as a resource.
pub const ADDRESS: &str = "gatepost://inbox";

/// What a session listens to, or waits for; nothing any more when the session is gone.
#[derive(Default)]
pub(super) struct Listening(Mutex<Option<AbortHandle>>);

impl Listening {
    /// Listens to this, in place of what was listened to before.
    pub(super) fn begin(&self, to: AbortHandle) {
        if let Some(before) = self.take(Some(to)) {
            before.abort();
        }
    }

    /// Listens to nothing more.
    pub(super) fn end(&self) {
        if let Some(before) = self.take(None) {
            before.abort();
        }
    }

    fn take(&self, next: Option<AbortHandle>) -> Option<AbortHandle> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), next)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.end();
    }
}

/// Calls `say` after everything that lands in the inbox of `caller` beyond the notice numbered `after`, until that returns
/// false or the hub is done.
pub(super) async fn follow<H: Hands, F: Future<Output = bool>>(
    hands: &H,
    caller: &H::Caller,
    mut after: i64,
    say: impl Fn() -> F,
) {
    while let Some(newest) = hands.lands(caller, after).await {
        after = newest;
        if !say().await {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_listens_once_and_no_longer_than_it_lasts() {
        let forever = || tokio::spawn(std::future::pending::<()>());
        let listening = Listening::default();
        let (first, second) = (forever(), forever());
        listening.begin(first.abort_handle());
        listening.begin(second.abort_handle());
        assert!(first.await.unwrap_err().is_cancelled());
        drop(listening);
        assert!(second.await.unwrap_err().is_cancelled());
    }
}

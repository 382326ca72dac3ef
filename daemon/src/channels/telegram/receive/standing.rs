//! Whether the account receives, and if not, since when and why. The log has a line for each change, and none for each try.

use std::sync::{Mutex, PoisonError};

use crate::clock;

/// How an account stands.
#[derive(Debug)]
pub(super) struct Standing {
    account: String,
    now: Mutex<Now>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Now {
    /// It has not begun.
    Idle,
    Receives,
    /// Since this time, in milliseconds, for this reason.
    Away(i64, String),
}

impl Standing {
    pub(super) fn new(account: &str) -> Self {
        Self { account: account.to_owned(), now: Mutex::new(Now::Idle) }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(super) fn trouble(&self) -> Option<String> {
        match &*self.now.lock().unwrap_or_else(PoisonError::into_inner) {
            Now::Idle | Now::Receives => None,
            Now::Away(since, why) => Some(format!("nothing is received since {}: {why}", clock::rfc3339(*since))),
        }
    }

    /// An answer came.
    pub(super) fn receives(&self) {
        let before = self.replace(|_| Now::Receives);
        match before {
            Now::Receives => {}
            Now::Idle => tracing::info!(account = self.account, "receives from Telegram"),
            Now::Away(..) => tracing::info!(account = self.account, "receives from Telegram again"),
        }
    }

    /// None came.
    pub(super) fn away(&self, why: &str) {
        let before = self.replace(|before| match before {
            Now::Away(since, _) => Now::Away(*since, why.to_owned()),
            Now::Idle | Now::Receives => Now::Away(clock::now_ms(), why.to_owned()),
        });
        if !matches!(&before, Now::Away(_, known) if known == why) {
            tracing::warn!(account = self.account, why, "nothing is received from Telegram");
        }
    }

    fn replace(&self, next: impl FnOnce(&Now) -> Now) -> Now {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let next = next(&now);
        std::mem::replace(&mut *now, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_lasts_since_it_began_whatever_its_reason_becomes() {
        let standing = Standing::new("home");
        assert_eq!(standing.trouble(), None);
        standing.away("no line");
        let first = standing.trouble().unwrap();
        assert!(first.ends_with(": no line"), "{first}");
        std::thread::sleep(std::time::Duration::from_millis(3));
        standing.away("no answer");
        assert_eq!(standing.trouble().unwrap(), first.replace("no line", "no answer"));
        standing.receives();
        assert_eq!(standing.trouble(), None);
    }
}

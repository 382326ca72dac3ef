//! Whether an account receives, and if not, since when and why. The log has a line for each change, and none for each try.

use std::sync::{Mutex, PoisonError};

use crate::{channels::receiver::Hearing, clock};

/// How an account stands.
#[derive(Debug)]
pub(in crate::channels) struct Standing {
    /// From whom, for people.
    platform: &'static str,
    account: String,
    now: Mutex<Now>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Now {
    /// It has not begun.
    Idle,
    Receives,
    /// Since this time, in milliseconds, for a reason of this kind, in these words.
    Away(i64, &'static str, String),
}

impl Standing {
    /// Of an account that has not begun.
    pub(in crate::channels) fn new(platform: &'static str, account: &str) -> Self {
        Self { platform, account: account.to_owned(), now: Mutex::new(Now::Idle) }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in crate::channels) fn trouble(&self) -> Option<String> {
        match &*self.now.lock().unwrap_or_else(PoisonError::into_inner) {
            Now::Idle | Now::Receives => None,
            Now::Away(since, _, why) => {
                Some(format!("nothing is received since {}: {why}", clock::rfc3339(*since)))
            }
        }
    }

    /// How the account hears: as `well` says, unless nothing is received.
    pub(in crate::channels) fn hearing(&self, well: impl Into<String>) -> Hearing {
        Hearing::of(self.trouble(), well)
    }

    /// An answer came.
    pub(in crate::channels) fn receives(&self) {
        let before = self.replace(|_| Now::Receives);
        let (account, platform) = (&self.account, self.platform);
        match before {
            Now::Receives => {}
            Now::Idle => tracing::info!(account, "receives from {platform}"),
            Now::Away(..) => tracing::info!(account, "receives from {platform} again"),
        }
    }

    /// None came. The words may differ each time, such as by the seconds to wait; the kind is what is new or not.
    pub(in crate::channels) fn away(&self, kind: &'static str, why: String) {
        let shown = why.clone();
        let before = self.replace(|before| match before {
            Now::Away(since, ..) => Now::Away(*since, kind, why),
            Now::Idle | Now::Receives => Now::Away(clock::now_ms(), kind, why),
        });
        if !matches!(&before, Now::Away(_, known, _) if *known == kind) {
            tracing::warn!(account = self.account, why = shown, "nothing is received from {}", self.platform);
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
        let standing = Standing::new("Telegram", "home");
        assert_eq!(standing.trouble(), None);
        standing.away("away", "no line".into());
        let first = standing.trouble().unwrap();
        assert!(first.ends_with(": no line"), "{first}");
        std::thread::sleep(std::time::Duration::from_millis(3));
        standing.away("away", "no answer".into());
        assert_eq!(standing.trouble().unwrap(), first.replace("no line", "no answer"));
        standing.receives();
        assert_eq!(standing.trouble(), None);
    }
}

//! The audit's line for a call that was refused on admission.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    agents::Caller,
    audit::{self, Entry, Event},
    message::refusal::Refusal,
    rate_limit::window::Window,
    store::Store,
};

/// Lines a minute that one caller can cause; all callers without a valid token are one. Beyond them the audit, and the
/// disk's patience, would be theirs to use up. The next minute's first line says how many were left out.
const MAX_LINES: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Writes refusals down.
pub(super) struct Refused {
    store: Store,
    /// By caller; there are as many as there are tokens.
    windows: Mutex<HashMap<String, Window>>,
}

impl Refused {
    pub(super) fn new(store: Store) -> Self {
        Self { store, windows: Mutex::default() }
    }

    /// Writes down that `caller` (nobody, without a valid token) was refused at `endpoint`.
    pub(super) async fn note(&self, caller: Option<&Caller>, endpoint: &str, refusal: &Refusal) {
        if !self.store.space().look().accepts() {
            // What room is left belongs to what was accepted.
            return;
        }
        let actor = caller.map_or_else(|| "nobody".to_owned(), ToString::to_string);
        let Some(left_out) = self.room(&actor, Instant::now()) else { return };
        let mut detail = json!({
            "door": endpoint, "code": refusal.code, "reason": refusal.reason, "error": refusal.error,
        });
        if left_out > 0 {
            detail["left_out_before"] = left_out.into();
        }
        self.write(actor, detail).await;
    }

    async fn write(&self, actor: String, detail: Value) {
        let written = self
            .store
            .write(move |tx| {
                audit::append(tx, &Entry { actor: &actor, event: Event::CallRefused, message: None, detail })
            })
            .await;
        if let Err(error) = written {
            tracing::error!(%error, "cannot write a refusal into the audit");
        }
    }

    /// How many lines were left out since the last one, if there is room for another.
    fn room(&self, actor: &str, now: Instant) -> Option<u32> {
        let mut windows = self.windows.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        windows.entry(actor.to_owned()).or_insert_with(|| Window::new(now)).count(MAX_LINES, MINUTE, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_caller_cannot_fill_the_audit_and_what_is_left_out_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let refused = Refused::new(Store::open(directory.path()).unwrap());
        let now = Instant::now();
        let lines = (0..200).filter(|_| refused.room("nobody", now).is_some()).count();
        assert_eq!(lines, 60);
        assert_eq!(refused.room("agent:a", now), Some(0), "another caller has room of its own");
        assert_eq!(refused.room("nobody", now + MINUTE), Some(140));
        assert_eq!(refused.room("nobody", now + MINUTE), Some(0));
    }
}

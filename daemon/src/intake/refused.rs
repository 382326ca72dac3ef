//! The audit's line for a call that was refused at the door.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    agents::Caller,
    audit::{self, Entry},
    message::refusal::Refusal,
    store::Store,
};

/// Lines a minute that callers without a valid token can cause. Beyond them the audit would be theirs to fill.
const NOBODYS_LINES: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Writes refusals down.
pub(super) struct Refused {
    store: Store,
    nobody: Mutex<(Instant, u32)>,
}

impl Refused {
    pub(super) fn new(store: Store) -> Self {
        Self { store, nobody: Mutex::new((Instant::now(), 0)) }
    }

    /// Writes down that `caller` (nobody, without a valid token) was refused at `door`.
    pub(super) async fn note(&self, caller: Option<&Caller>, door: &str, refusal: &Refusal) {
        if caller.is_none() && !self.room_for_nobody() {
            return;
        }
        let actor = caller.map_or_else(|| "nobody".to_owned(), ToString::to_string);
        let detail = json!({
            "door": door, "code": refusal.code, "reason": refusal.reason, "error": refusal.error,
        });
        let written = self
            .store
            .write(move |tx| {
                let entry = Entry { actor: &actor, event: "call.refused", message: None, detail };
                audit::append(tx, &entry)
            })
            .await;
        if let Err(error) = written {
            tracing::error!(%error, "cannot write a refusal into the audit");
        }
    }

    fn room_for_nobody(&self) -> bool {
        let mut window = self.nobody.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if window.0.elapsed() >= MINUTE {
            *window = (Instant::now(), 0);
        }
        window.1 += 1;
        window.1 <= NOBODYS_LINES
    }
}

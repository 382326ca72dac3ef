//! A bot's own status, as Discord has it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::store::now_ms;

/// The longest text beside a status, in characters: what Discord's own programs take of a custom status, which there is no
/// page about.
pub(super) const MAX_TEXT: usize = 128;

/// <https://docs.discord.com/developers/events/gateway-events#update-presence-status-types>; who is invisible is shown as
/// offline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Online,
    Idle,
    Dnd,
    Invisible,
}

/// The bot's status, and what it says beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Presence {
    pub(super) status: Status,
    pub(super) text: Option<String>,
}

impl Presence {
    /// <https://docs.discord.com/developers/events/gateway-events#update-presence-gateway-presence-update-structure>.
    pub(super) fn body(&self) -> Value {
        // A custom status shows its state and not its name, which there must be all the same
        // (<https://docs.discord.com/developers/events/gateway-events#activity-object-activity-types>).
        let custom = |text: &String| json!({"name": "Custom Status", "type": 4, "state": text});
        json!({
            "since": (self.status == Status::Idle).then(now_ms),
            "activities": self.text.iter().map(custom).collect::<Vec<_>>(),
            "status": self.status,
            "afk": false,
        })
    }
}

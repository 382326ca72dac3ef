//! How the hub is, beside the figures of its report: whether somebody should look after it, and where it delivered last.

use gatepost_link::frame::{Down, Health};

/// How the hub is. A companion hangs on a wall, so it has no address and no words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Whether the hub takes messages.
    pub takes_messages: bool,
    /// Accounts whose platform has asked for a pause.
    pub paused: u16,
    /// The channel of the last delivery.
    pub last_channel: Option<String>,
}

impl Condition {
    /// What a companion is told of it.
    pub(super) fn frame(&self) -> Down<'_> {
        let last_channel = self.last_channel.as_deref();
        Down::Health(Health { takes_messages: self.takes_messages, paused: self.paused, last_channel })
    }
}

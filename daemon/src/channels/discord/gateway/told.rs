//! What the connection tells whoever receives, and what it hears back: how far that is written down.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::Value;
use tokio::sync::mpsc;

use super::payload::Session;

/// What a dispatch is called that is too long to be taken.
pub(in super::super) const TOO_LONG: &str = "TOO_LONG";

/// A dispatch.
#[derive(Debug)]
pub(in super::super) struct Told {
    /// Its name, such as `MESSAGE_CREATE`.
    pub(in super::super) name: String,
    pub(in super::super) data: Value,
    /// The session, with this dispatch's number: where it goes on once this is written down.
    pub(in super::super) session: Session,
    /// The bot's id.
    pub(in super::super) bot: String,
}

/// How far all is written down: the number of a dispatch. Zero is before the first.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Written(Arc<AtomicU64>);

impl Written {
    pub(in super::super) fn up_to(&self, seq: u64) {
        self.0.store(seq, Ordering::Relaxed);
    }

    pub(super) fn seq(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Who receives.
pub(in super::super) struct Ear {
    /// Where dispatches go. While it is full, nothing is read: what is not taken stays with Discord.
    pub(in super::super) told: mpsc::Sender<Told>,
    pub(in super::super) written: Written,
    /// The session of an earlier start, and the bot's id in it.
    pub(in super::super) before: Option<(Session, String)>,
}

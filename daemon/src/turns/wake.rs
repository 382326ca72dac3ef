//! Whoever waits for a turn hears that there may be one.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells of new turns. Clones share it.
#[derive(Debug, Clone)]
pub struct Wake(Arc<watch::Sender<u64>>);

impl Default for Wake {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Wake {
    /// Something changed: a turn waits, or a session is free.
    pub fn tell(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Hears of every change from here on.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

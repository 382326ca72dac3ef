//! The hub's memory: what a busy minute took is given back soon after it.

use crate::metrics::resident;

/// By so much it may grow before anything is given back, in bytes.
const SLACK: u64 = 2 * 1024 * 1024;

/// How little it was.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The least since something was given back last, in bytes.
    low: u64,
}

impl Memory {
    /// Looks at it, and gives back what nobody uses if it has grown.
    pub(super) async fn look(&mut self) {
        let Some(now) = resident() else { return };
        if now <= self.low + SLACK {
            self.low = self.low.min(now);
            return;
        }
        // What is in use stays, and is the new measure: nothing is tried again and again for what cannot be had.
        let _ = tokio::task::spawn_blocking(gatepost_memory::give_back).await;
        self.low = resident().unwrap_or(now);
    }
}

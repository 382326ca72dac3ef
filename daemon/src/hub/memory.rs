//! The hub's memory: what a busy minute took is given back soon after it, and the code that ran in it within the hour.

use std::time::{Duration, Instant};

use crate::metrics::resident;

/// By so much it may grow before anything is given back, in bytes.
const SLACK: u64 = 2 * 1024 * 1024;
/// At so many looks after it has grown: what was in use at one of them may be free at the next, and nothing tells of it but trying.
const LOOKS: u32 = 4;
/// A start is over by then, with what callers do for the first time after it, and what ran in it alone can go.
const START: Duration = Duration::from_mins(2);
/// Between two times that code is given back. What an idle hub needs of it comes back within seconds, some hundred page faults.
const CODE_INTERVAL: Duration = Duration::from_hours(1);

/// How little it was.
#[derive(Debug)]
pub(super) struct Memory {
    /// The least since something was given back last, in bytes.
    low: u64,
    /// At how many looks something is still given back.
    left: u32,
    /// When code is given back next.
    code_due: Instant,
}

impl Memory {
    /// Of a hub that starts now.
    pub(super) fn new() -> Self {
        Self { low: 0, left: 0, code_due: Instant::now() + START }
    }

    /// Looks at it, and gives back what nobody uses if it has grown.
    pub(super) async fn look(&mut self) {
        if Instant::now() >= self.code_due {
            self.code_due = Instant::now() + CODE_INTERVAL;
            let _ = tokio::task::spawn_blocking(gatepost_memory::give_back_code).await;
            // What comes back is no growth: the next look is the measure.
            self.low = u64::MAX;
            return;
        }
        let Some(now) = resident() else { return };
        if now > self.low.saturating_add(SLACK) {
            self.left = LOOKS;
        }
        self.low = self.low.min(now);
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        // What is in use stays, and is the new measure: nothing is tried for ever for what cannot be had.
        let _ = tokio::task::spawn_blocking(gatepost_memory::give_back_freed).await;
        self.low = resident().unwrap_or(now);
    }
}

//! A look through rows that ends after a while, however many there are.

use std::time::{Duration, Instant};

/// After so many rows it looks at the time.
const ROWS: usize = 512;

/// How far a look is.
pub struct Look {
    began: Instant,
    longest: Duration,
    read: usize,
}

impl Look {
    /// One that may last so long.
    pub fn of(longest: Duration) -> Self {
        Self { began: Instant::now(), longest, read: 0 }
    }

    /// Counts a row that was read, and says whether it was the last.
    pub fn is_over(&mut self) -> bool {
        self.read += 1;
        self.read.is_multiple_of(ROWS) && self.began.elapsed() > self.longest
    }
}

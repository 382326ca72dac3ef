//! At most so many within any span of time, wherever it begins: each one is remembered until its span is over. For platforms that
//! count so, and punish one too many; memory is as large as the bound.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// What happened within the last span.
#[derive(Debug)]
pub struct Log {
    times: VecDeque<Instant>,
    span: Duration,
}

impl Log {
    /// Of nothing yet.
    pub fn new(span: Duration) -> Self {
        Self { times: VecDeque::new(), span }
    }

    /// Counts one more, whether there was room for it or not.
    pub fn note(&mut self, now: Instant) {
        self.times.push_back(now);
        self.forget(now);
    }

    /// How long until there is room for one more, if it is `most` within a span.
    pub fn wait(&mut self, most: usize, now: Instant) -> Duration {
        self.forget(now);
        match self.times.len().checked_sub(most) {
            None => Duration::ZERO,
            Some(first) => (self.times[first] + self.span).saturating_duration_since(now),
        }
    }

    fn forget(&mut self, now: Instant) {
        while self.times.front().is_some_and(|at| *at + self.span <= now) {
            self.times.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn no_span_has_more_than_so_many_wherever_it_begins() {
        let (mut log, start) = (Log::new(10 * SECOND), Instant::now());
        for n in [0, 6, 8] {
            assert_eq!(log.wait(3, start + n * SECOND), Duration::ZERO, "after {n} s");
            log.note(start + n * SECOND);
        }
        // The first one's span ends then; the two others still count.
        assert_eq!(log.wait(3, start + 9 * SECOND), SECOND);
        assert_eq!(log.wait(3, start + 10 * SECOND), Duration::ZERO);
        log.note(start + 10 * SECOND);
        assert_eq!(log.wait(3, start + 10 * SECOND), 6 * SECOND);
        // A narrower bound waits for more of them to be over.
        assert_eq!(log.wait(1, start + 10 * SECOND), 10 * SECOND);
    }
}

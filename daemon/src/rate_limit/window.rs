//! So many in each span of time; the first of the next span hears how many were beyond.

use std::time::{Duration, Instant};

/// One span, and what happened in it.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    since: Instant,
    happened: u32,
}

impl Window {
    /// One that begins now.
    pub fn new(now: Instant) -> Self {
        Self { since: now, happened: 0 }
    }

    /// Counts one more. If no more than `most` have happened within `span`: how many there were beyond that in the span before.
    pub fn count(&mut self, most: u32, span: Duration, now: Instant) -> Option<u32> {
        let mut beyond = 0;
        if now.saturating_duration_since(self.since) >= span {
            beyond = self.happened.saturating_sub(most);
            *self = Self::new(now);
        }
        self.happened = self.happened.saturating_add(1);
        (self.happened <= most).then_some(beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_is_counted_and_said_once() {
        let (now, span) = (Instant::now(), Duration::from_secs(60));
        let mut window = Window::new(now);
        let counted: Vec<_> = (0..5).filter_map(|_| window.count(2, span, now)).collect();
        assert_eq!(counted, [0, 0]);
        assert_eq!(window.count(2, span, now + span), Some(3));
        assert_eq!(window.count(2, span, now + 2 * span), Some(0));
    }
}

//! How many connections a server has, and what it turns away: counted by reason for the metrics, and logged once a minute for
//! each reason.
//!
//! Whoever floods a server must not fill the disk by what is written about it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::rate_limit::window::Window;

/// Between two log lines of one reason.
const NOTE_INTERVAL: Duration = Duration::from_secs(60);

/// The load of one server. Clones share it.
#[derive(Debug, Clone)]
pub struct Load(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    server: &'static str,
    open: AtomicUsize,
    counts: Mutex<BTreeMap<&'static str, Count>>,
}

#[derive(Debug, Default)]
struct Count {
    total: u64,
    /// Since the last line.
    unsaid: u64,
    lines: Option<Window>,
}

impl Load {
    /// That of the server of this name.
    pub fn new(server: &'static str) -> Self {
        Self(Arc::new(Shared { server, open: AtomicUsize::new(0), counts: Mutex::default() }))
    }

    /// Counts a connection until the guard is dropped.
    pub fn opened(&self) -> Open {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        Open(self.clone())
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::Relaxed)
    }

    /// Something was turned away for this reason; `detail` is for the log.
    pub fn note(&self, reason: &'static str, detail: &str) {
        if let Some(count) = self.count(reason, Instant::now()) {
            let server = self.0.server;
            tracing::warn!(server, reason, count, detail, "turned away; no other line of this for a minute");
        }
    }

    /// How often each reason was given, in the order of their names.
    pub fn totals(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(reason, count)| (*reason, count.total)).collect()
    }

    /// Counts one more; how many there were since the last line, if it is time for another.
    fn count(&self, reason: &'static str, now: Instant) -> Option<u64> {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(reason).or_default();
        count.total += 1;
        count.unsaid += 1;
        count.lines.get_or_insert_with(|| Window::new(now)).count(1, NOTE_INTERVAL, now)?;
        Some(std::mem::take(&mut count.unsaid))
    }
}

/// A connection that is counted.
#[derive(Debug)]
pub struct Open(Load);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_one_line_a_minute_and_every_refusal_is_counted() {
        let load = Load::new("test");
        let now = Instant::now();
        let lines: Vec<u64> = (0..1_000).filter_map(|_| load.count("pending", now)).collect();
        assert_eq!(lines, [1]);
        assert_eq!(load.count("login", now), Some(1), "another reason has a line of its own");
        assert_eq!(load.count("pending", now + NOTE_INTERVAL), Some(1_000));
        assert_eq!(load.totals(), [("login", 1), ("pending", 1_001)]);
    }
}

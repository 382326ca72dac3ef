//! Whoever waits for a turn hears that there may be one; and the hub knows for which agents somebody waits.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Notify, watch};

/// Tells of new turns. Clones share it.
#[derive(Debug, Clone)]
pub struct Wake(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    changes: watch::Sender<u64>,
    /// Somebody took a turn. Apart from the changes: whoever waits for a turn has nothing to do then.
    leases: Notify,
    /// By agent. There are as many as have tokens.
    fetching: Mutex<BTreeMap<String, Fetched>>,
}

/// Who asks for an agent's turns.
#[derive(Debug, Clone, Copy, Default)]
struct Fetched {
    /// So many wait for one now.
    waiting: u32,
    /// When somebody last asked, in milliseconds since 1970.
    last_at: i64,
}

/// Somebody waits for a turn of an agent, until this goes.
#[derive(Debug)]
pub struct Fetching {
    wake: Wake,
    agent: String,
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.wake.note(&self.agent, |fetched| fetched.waiting = fetched.waiting.saturating_sub(1));
    }
}

impl Default for Wake {
    fn default() -> Self {
        let (changes, leases) = (watch::Sender::new(0), Notify::new());
        Self(Arc::new(Shared { changes, leases, fetching: Mutex::default() }))
    }
}

impl Wake {
    /// Something changed: a turn waits, or a session is free.
    pub fn tell(&self) {
        self.0.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Hears of every change from here on.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Somebody took a turn: its lease may be the next that runs out.
    pub fn tell_lease(&self) {
        self.0.leases.notify_one();
    }

    /// Waits until somebody takes a turn, or has taken one since this was last waited for. There is one who waits here.
    pub async fn leased(&self) {
        self.0.leases.notified().await;
    }

    /// Somebody asks for an agent's turn at `now`, and may wait for it.
    pub fn fetching(&self, agent: &str, now: i64) -> Fetching {
        self.note(agent, |fetched| {
            fetched.waiting += 1;
            fetched.last_at = fetched.last_at.max(now);
        });
        Fetching { wake: self.clone(), agent: agent.to_owned() }
    }

    /// Whether somebody waits for an agent's turn, or has asked for one since then.
    pub fn is_fetched(&self, agent: &str, since: i64) -> bool {
        let fetching = self.0.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        fetching.get(agent).is_some_and(|fetched| fetched.waiting > 0 || fetched.last_at >= since)
    }

    fn note(&self, agent: &str, change: impl FnOnce(&mut Fetched)) {
        let mut fetching = self.0.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        change(fetching.entry(agent.to_owned()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_fetched_while_somebody_waits_and_for_a_while_after() {
        let wake = Wake::default();
        assert!(!wake.is_fetched("a", 0));
        let waits = wake.fetching("a", 5);
        assert!(wake.is_fetched("a", 1_000) && !wake.is_fetched("b", 0));
        drop(waits);
        assert!(wake.is_fetched("a", 5) && !wake.is_fetched("a", 6));
    }
}

//! What happens, as it happens: for agents that want to hear what became of their messages and that a turn waits for them, and for who watches over the hub.
//!
//! An event is a row of the audit as one watcher may see it, so there is no event without its change, no change without
//! its event, and no second list that could say otherwise. Nothing is kept for a watcher but the number that it has read up
//! to: who is slow, or was away, reads on from there. What is gone by then is said, never skipped.

mod view;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use rusqlite::Connection;
use serde_json::Value;
use tokio::{
    sync::{broadcast::Receiver, broadcast::error::TryRecvError, watch},
    time::Instant,
};

use crate::{approval::Approvals, audit, outbox::Outbox, store::StoreError, turns::wake::Wake};

/// Streams that one caller may have open at once.
const MAX_STREAMS: u32 = 8;
/// What happens within this after a change is read together with it.
const GATHER_TIME: Duration = Duration::from_millis(20);
/// While somebody watches: between two looks for what is about no message, and so gives no sign.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Who watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watcher {
    /// Sees everything.
    Operator,
    /// Sees what becomes of its own messages and turns, and that there is another configuration.
    Agent(String),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number; ask for those after the last one read.
    pub seq: i64,
    /// What, as `noun.verb`; `missed` where something cannot be shown any more.
    pub name: String,
    /// The facts.
    pub data: Value,
}

/// Some of what happened, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What the watcher may see of it.
    pub events: Vec<Event>,
    /// The number of the last row that was looked at.
    pub read_to: i64,
    /// Whether there may be more at once.
    more: bool,
}

/// A caller has too many streams open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_STREAMS} event streams of this caller are open, and it may have no more")]
pub struct TooMany;

/// A handle on what happens. Clones share it.
#[derive(Clone)]
pub struct Events {
    outbox: Outbox,
    approvals: Approvals,
    wake: Wake,
    open: Arc<Mutex<HashMap<String, u32>>>,
    closed: Arc<watch::Sender<bool>>,
}

/// One watcher's place in what happens.
pub struct Watch {
    events: Events,
    watcher: Watcher,
    caller: String,
    read_to: i64,
    changes: Receiver<i64>,
    turns: watch::Receiver<u64>,
    closed: watch::Receiver<bool>,
}

impl Events {
    /// What happens in the outbox that these approvals are about, and around it; `wake` tells of turns.
    pub fn new(approvals: Approvals, wake: Wake) -> Self {
        Self {
            outbox: approvals.outbox().clone(),
            approvals,
            wake,
            open: Arc::default(),
            closed: Arc::new(watch::channel(false).0),
        }
    }

    /// A stream for `caller` of what `watcher` may see: after the event numbered `after`, or from now on.
    pub async fn watch(
        &self,
        caller: &str,
        watcher: Watcher,
        after: Option<i64>,
    ) -> Result<Result<Watch, TooMany>, StoreError> {
        // Before the look, so that nothing happens unseen between the two.
        let (changes, turns) = (self.outbox.changes(), self.wake.listen());
        let read_to = match after {
            Some(after) => after,
            None => self.outbox.store().read(audit::newest).await?,
        };
        {
            let mut open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let count = open.entry(caller.to_owned()).or_default();
            if *count >= MAX_STREAMS {
                return Ok(Err(TooMany));
            }
            *count += 1;
        }
        let closed = self.closed.subscribe();
        let caller = caller.to_owned();
        Ok(Ok(Watch { events: self.clone(), watcher, caller, read_to, changes, turns, closed }))
    }

    /// The number of what happened last.
    pub(crate) async fn newest(&self) -> Result<i64, StoreError> {
        self.outbox.store().read(audit::newest).await
    }

    /// Some of what happened after the event numbered `after`, as the operator may see it: nothing, if nothing did.
    pub(crate) async fn after(&self, after: i64) -> Result<Page, StoreError> {
        let approvals = self.approvals.clone();
        self.outbox.store().read(move |db| view::page(db, &approvals, &Watcher::Operator, after)).await
    }

    /// Ends every stream: the hub stops.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut open = self.events.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(count) = open.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.caller);
            }
        }
    }
}

impl Watch {
    /// Up to which number it has read.
    pub fn read_to(&self) -> i64 {
        self.read_to
    }

    /// What happens next; nothing, if nothing that this watcher may see happens within `beat`. `None` when the hub stops.
    pub async fn next(&mut self, beat: Duration) -> Result<Option<Page>, StoreError> {
        let until = Instant::now() + beat;
        loop {
            if *self.closed.borrow() {
                return Ok(None);
            }
            while !matches!(self.changes.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
            let (approvals, watcher, after) =
                (self.events.approvals.clone(), self.watcher.clone(), self.read_to);
            let look = move |db: &Connection| view::page(db, &approvals, &watcher, after);
            let page = self.events.outbox.store().read(look).await?;
            self.read_to = page.read_to;
            if !page.events.is_empty() || (!page.more && Instant::now() >= until) {
                return Ok(Some(page));
            }
            if page.more {
                continue;
            }
            tokio::select! {
                // Any change wakes up, missed ones too.
                _ = self.changes.recv() => tokio::time::sleep(GATHER_TIME).await,
                // Turns of others too: the page says whose.
                _ = self.turns.changed() => tokio::time::sleep(GATHER_TIME).await,
                () = tokio::time::sleep_until(until.min(Instant::now() + LOOK_INTERVAL)) => {}
                _ = self.closed.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;

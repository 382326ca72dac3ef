//! Hooks of one conversation's messages run one after the other, in the order in which the messages were written.
//!
//! A hook that takes its time with one message must not let the next one overtake it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::sync::oneshot;

use crate::outbox::row::Lane;

/// The last turn of every conversation that has one.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<Last>>);

#[derive(Default)]
struct Last {
    turns: u64,
    lanes: HashMap<Lane, (u64, oneshot::Receiver<()>)>,
}

/// A place in the order, from the moment when it is taken until it goes.
pub(crate) struct Turn {
    turns: Turns,
    lane: Lane,
    number: u64,
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl Turns {
    /// Takes the next place.
    pub(crate) fn take(&self, lane: Lane) -> Turn {
        let (done, after) = oneshot::channel();
        let mut last = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        last.turns += 1;
        let number = last.turns;
        let before = last.lanes.insert(lane.clone(), (number, after)).map(|(_, before)| before);
        Turn { turns: self.clone(), lane, number, before, _done: done }
    }
}

impl Turn {
    /// Waits until all before it are gone.
    pub(crate) async fn comes(&mut self) {
        if let Some(before) = &mut self.before {
            // Its end is an error, and what is waited for.
            let _ = before.await;
            self.before = None;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut last = self.turns.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if last.lanes.get(&self.lane).is_some_and(|(number, _)| *number == self.number) {
            last.lanes.remove(&self.lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lane(address: &str) -> Lane {
        Lane { channel: "local".into(), account: "home".into(), address: address.into() }
    }

    #[tokio::test]
    async fn turns_come_in_order_and_leave_nothing_behind() {
        let turns = Turns::default();
        let (mut first, mut second, mut third) =
            (turns.take(lane("a")), turns.take(lane("a")), turns.take(lane("a")));
        let mut other = turns.take(lane("b"));
        first.comes().await;
        other.comes().await;
        let soon = Duration::from_millis(20);
        for waits in [&mut second, &mut third] {
            assert!(tokio::time::timeout(soon, waits.comes()).await.is_err());
        }
        drop(first);
        second.comes().await;
        assert!(tokio::time::timeout(soon, third.comes()).await.is_err());
        drop(second);
        third.comes().await;
        drop((third, other));
        assert!(turns.0.lock().unwrap().lanes.is_empty());
    }
}

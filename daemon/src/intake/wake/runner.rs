//! The turns of one agent that is brought them: taken as they come, some at once, none while its target rests from a failure.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{sleep, sleep_until, timeout},
};

use super::{Waker, at_work, backoff::Backoff};
use crate::{
    pipeline::{RECOVER, current::Current},
    turns::items::TurnView,
};

/// How long one look for a turn waits.
const WAIT: Duration = Duration::from_mins(1);
/// A look that is under way when it is to end may be taking a turn in this moment: it is given the time for that, or the turn would
/// be nobody's until its lease runs out.
const LAST_LOOK: Duration = Duration::from_millis(250);

/// Whether a runner is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is not.
    No,
    /// It takes no more turns.
    Later,
    /// It gives back those that it has.
    Now,
}

/// Brings the agent its turns until it is to stop.
pub(super) async fn run(current: Current, waker: Arc<Waker>, mut stop: watch::Receiver<Stop>) {
    let slots = Arc::new(Semaphore::new(waker.at_once));
    let backoff = Arc::new(Backoff::default());
    let mut turns = JoinSet::new();
    loop {
        while turns.try_join_next().is_some() {}
        let Some(slot) = unless_stopped(&mut stop, Arc::clone(&slots).acquire_owned()).await else { break };
        // One that works meanwhile may have failed while this waited.
        while let Some(until) = backoff.until().filter(|until| *until > tokio::time::Instant::now()) {
            if unless_stopped(&mut stop, sleep_until(until)).await.is_none() {
                break;
            }
        }
        if is_stopped(&stop) {
            break;
        }
        let Some(turn) = next(&current, &waker.agent, &mut stop).await else {
            if is_stopped(&stop) {
                break;
            }
            continue;
        };
        let (current, waker, backoff, stop) =
            (current.clone(), Arc::clone(&waker), Arc::clone(&backoff), stop.clone());
        turns.spawn(async move {
            let _slot = slot;
            at_work::from_lease_to_end(&current, &waker, &turn, &backoff, stop).await;
        });
    }
    while turns.join_next().await.is_some() {}
}

/// Waits until the runner is to stop. One that nobody can stop any more is.
async fn stopped(stop: &mut watch::Receiver<Stop>) {
    let _ = stop.wait_for(|stop| *stop != Stop::No).await;
}

fn is_stopped(stop: &watch::Receiver<Stop>) -> bool {
    *stop.borrow() != Stop::No || stop.has_changed().is_err()
}

/// What comes of this, unless the runner is to stop before.
async fn unless_stopped<T>(stop: &mut watch::Receiver<Stop>, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stopped(stop) => None,
        done = future => Some(done),
    }
}

/// The next turn; nothing after a while, or if the runner is to stop.
async fn next(current: &Current, agent: &str, stop: &mut watch::Receiver<Stop>) -> Option<TurnView> {
    let mut replacements = current.replacements();
    let pipeline = current.pipeline();
    let mut next = pin!(pipeline.next_turn(agent, WAIT));
    let found = tokio::select! {
        biased;
        found = &mut next => Some(found),
        // The next look is by the configuration that holds then.
        _ = replacements.changed() => None,
        () = stopped(stop) => None,
    };
    let found = match found {
        Some(found) => found,
        None => timeout(LAST_LOOK, next).await.unwrap_or(Ok(None)),
    };
    match found {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, agent, "cannot look for a turn");
            sleep(RECOVER).await;
            None
        }
    }
}

//! The turns of one agent that is brought them: taken as they come, some at once, none while its target rests from a failure.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{Waker, at_work, backoff::Backoff, stop::Stop};
use crate::{
    pipeline::{RECOVER, current::Current},
    turns::items::TurnView,
};

/// How long one look for a turn waits.
const WAIT: Duration = Duration::from_mins(1);

/// Brings the agent its turns until it is to stop.
pub(super) async fn run(current: Current, waker: Arc<Waker>, mut stop: watch::Receiver<Stop>) {
    let slots = Arc::new(Semaphore::new(waker.at_once));
    let backoff = Arc::new(Backoff::default());
    let mut turns = JoinSet::new();
    loop {
        while turns.try_join_next().is_some() {}
        let Some(slot) = unless_stopped(&mut stop, Arc::clone(&slots).acquire_owned()).await else { break };
        // One that works meanwhile may have failed while this waited.
        while let Some(until) = backoff.until().filter(|until| *until > Instant::now()) {
            if unless_stopped(&mut stop, sleep_until(until)).await.is_none() {
                break;
            }
        }
        if is_stopped(&stop) {
            break;
        }
        let Some(turn) = next(&current, &waker.agent, &backoff, &mut stop).await else {
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

/// The next turn; nothing after a while, if the runner is to stop, or if the target failed meanwhile. What waits can be given up at any
/// moment; what takes the turn is never cut short, or the turn would be nobody's until its lease runs out.
async fn next(
    current: &Current,
    agent: &str,
    backoff: &Backoff,
    stop: &mut watch::Receiver<Stop>,
) -> Option<TurnView> {
    let mut replacements = current.replacements();
    let pipeline = current.pipeline();
    let due = tokio::select! {
        biased;
        () = stopped(stop) => return None,
        // The next look is by the configuration that holds then.
        _ = replacements.changed() => return None,
        due = pipeline.turn_is_due(agent, Instant::now() + WAIT) => due,
    };
    // A turn that was put back waits, and its target rests.
    let found = match due {
        Ok(true) if !backoff.rests() => pipeline.next_turn(agent, Duration::ZERO).await,
        Ok(_) => Ok(None),
        Err(error) => Err(error),
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

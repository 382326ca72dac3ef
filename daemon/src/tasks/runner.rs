//! Whoever waits for tasks to be due: it sleeps until the first one is, or another is scheduled.

use std::time::Duration;

use tokio::time::sleep;

use super::due;
use crate::{
    pipeline::{RECOVER, current::Current},
    store::{StoreError, now_ms},
};

/// The longest sleep: the runtime's clock stands still while a machine is suspended, and that of the tasks goes on.
const LONGEST: Duration = Duration::from_mins(10);
/// While nobody vouches for the clock, and while the disk is full: nothing is due yet.
const UNREADY: Duration = Duration::from_secs(10);
/// Between two looks, however much happens: tasks are due by the minute.
const REST: Duration = Duration::from_secs(1);

/// Wakes agents whose tasks are due, for as long as the hub runs.
pub async fn run(current: Current) {
    let mut changes = current.pipeline().0.wake.listen();
    loop {
        changes.mark_unchanged();
        let wait = match look(&current).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::error!(%error, "cannot look after tasks");
                RECOVER
            }
        };
        sleep(REST.min(wait)).await;
        tokio::select! {
            _ = changes.changed() => {}
            () = sleep(wait.saturating_sub(REST)) => {}
        }
    }
}

/// One look; how long until the next one.
async fn look(current: &Current) -> Result<Duration, StoreError> {
    let pipeline = current.pipeline();
    let store = pipeline.outbox().store().clone();
    if store.unsettled_since().is_some() || !store.space().look().accepts() {
        return Ok(UNREADY);
    }
    let Some(next) = store.read(due::next).await? else { return Ok(LONGEST) };
    let now = now_ms();
    if next > now {
        return Ok(Duration::from_millis(u64::try_from(next - now).unwrap_or_default()).min(LONGEST));
    }
    let (of, knowing) = (store.clone(), pipeline.clone());
    let done = of.write(move |tx| due::run(tx, |agent| knowing.knows(agent), now)).await?;
    if done.woken {
        pipeline.0.wake.tell();
    }
    Ok(Duration::ZERO)
}

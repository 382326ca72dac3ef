//! Looks after heartbeats for as long as the hub runs.

use std::time::Duration;

use tokio::time::sleep;

use super::{LONGEST_SLEEP, state};
use crate::{pipeline::current::Current, store::StoreError};

/// How long a hub that has started waits before the first look: programs that take turns come back meanwhile.
const STARTING: Duration = Duration::from_secs(10);

/// Wakes agents for as long as the hub runs. A reload of the configuration lets those go on that failures have stopped.
pub async fn run(current: Current) {
    let mut replaced = current.replacements();
    sleep(STARTING).await;
    loop {
        let pipeline = replaced.borrow_and_update().clone();
        let wait = pipeline.look_at_heartbeats().await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot look after heartbeats");
            LONGEST_SLEEP
        });
        tokio::select! {
            () = sleep(wait) => {}
            // The sender lives as long as `current`.
            _ = replaced.changed() => {
                if let Err(error) = resume(&current).await {
                    tracing::error!(%error, "cannot let heartbeats go on");
                }
            }
        }
    }
}

async fn resume(current: &Current) -> Result<(), StoreError> {
    current.pipeline().outbox().store().write(state::resume).await
}

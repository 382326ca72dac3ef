//! What the hub does beside its work: looks at the disk, makes backups.
//!
//! Each of it in small steps, so that messages never wait for it, and none of it can stop the hub: what fails is said and
//! tried again.

use std::time::{Duration, SystemTime};

use crate::store::{Store, backup};

/// Between two looks.
const BEAT: Duration = Duration::from_secs(5);
/// After a backup that failed.
const AGAIN: Duration = Duration::from_mins(30);

/// What upkeep is to do.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Between two backups.
    pub backup_every: Duration,
    /// Backups to keep; none are made if this is zero.
    pub backups: usize,
}

/// Goes on until it is aborted.
pub(super) async fn keep_up(store: Store, plan: Plan) {
    let mut beat = tokio::time::interval(BEAT.min(plan.backup_every));
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut backup_due = SystemTime::now() + due_in(&store, plan.backup_every);
    loop {
        beat.tick().await;
        store.space().look();
        if plan.backups > 0 && SystemTime::now() >= backup_due {
            let pause = match store.back_up(plan.backups).await {
                Ok(path) => {
                    tracing::info!(path = %path.display(), "made a backup");
                    plan.backup_every
                }
                Err(error) => {
                    tracing::error!(%error, "there is no new backup");
                    AGAIN.min(plan.backup_every)
                }
            };
            backup_due = SystemTime::now() + pause;
        }
    }
}

/// Counted from the newest backup, also over restarts. A clock that was wrong puts it off by one interval at most.
fn due_in(store: &Store, every: Duration) -> Duration {
    let age = backup::made(store.directory()).map(|made| made.elapsed().unwrap_or_default());
    age.map_or(every, |age| every.saturating_sub(age))
}

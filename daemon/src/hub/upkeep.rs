//! What the hub does beside its work: looks at the disk, signs the audit, lets go of what is past its retention, makes backups.
//!
//! Each of it in small steps, so that messages never wait for it, and none of it can stop the hub: what fails is said and
//! tried again.

use std::time::{Duration, Instant, SystemTime};

use super::memory::Memory;
use crate::{
    audit::checkpoint::{Checkpoint, Signer},
    config::Config,
    files::Files,
    outbox::{
        Outbox,
        retention::{Purge, STEP},
    },
    store::{Store, StoreError, backup, now_ms},
};

/// Between two looks.
const BEAT: Duration = Duration::from_secs(5);
/// Between two checkpoints of the audit.
const SIGN: Duration = Duration::from_mins(5);
/// Between two looks for what is past its retention, and between two steps of letting it go.
const PURGE: Duration = Duration::from_hours(1);
const STEP_PAUSE: Duration = Duration::from_millis(50);
/// After a backup that failed.
const AGAIN: Duration = Duration::from_mins(30);

/// What upkeep is to do.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Between two backups.
    pub backup_every: Duration,
    /// Backups to keep; none are made if this is zero.
    pub backups: usize,
    /// How long ended messages are kept.
    pub retention: Duration,
    /// How long the audit's rows are kept.
    pub audit_retention: Duration,
}

impl Plan {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            backup_every: config.queue.backup_every.0,
            backups: config.queue.backups,
            retention: config.queue.retention.0,
            audit_retention: config.queue.audit_retention.0,
        }
    }
}

/// Goes on until it is aborted.
pub(super) async fn keep_up(outbox: Outbox, files: Files, signer: Signer, plan: Plan) {
    let store = outbox.store().clone();
    let mut beat = tokio::time::interval(BEAT.min(plan.backup_every).min(plan.retention));
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut backup_due = SystemTime::now() + due_in(&store, plan.backup_every);
    let mut sign_due = Instant::now();
    let mut purge_due = Instant::now() + BEAT.min(plan.retention);
    let mut memory = Memory::new();
    loop {
        beat.tick().await;
        memory.look().await;
        if !store.space().look().sends() {
            continue;
        }
        if let Err(error) = outbox.settle_clock().await {
            tracing::error!(%error, "cannot settle the clock");
        }
        if Instant::now() >= sign_due {
            sign(&store, &signer).await;
            if let Err(error) = store.keep_time().await {
                tracing::error!(%error, "cannot write the time down");
            }
            sign_due = Instant::now() + SIGN;
        }
        if Instant::now() >= purge_due && store.unsettled_since().is_none() {
            if let Err(error) = let_go(&outbox, &files, &signer, &plan).await {
                tracing::error!(%error, "cannot let go of what is past its retention");
            }
            purge_due = Instant::now() + PURGE.min(plan.retention);
        }
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

/// Lets go of all that is past its retention, in steps with room for messages between them.
async fn let_go(outbox: &Outbox, files: &Files, signer: &Signer, plan: &Plan) -> Result<(), StoreError> {
    let before =
        |kept: Duration| now_ms().saturating_sub(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX));
    let (ended, lines) = (before(plan.retention), before(plan.audit_retention));
    let mut gone = 0;
    loop {
        let purge = Purge { before: ended, state: None, id: None, by: "hub".into() };
        let (messages, inbound, audit) = (
            outbox.purge(purge).await?,
            outbox.forget_inbound(ended).await?,
            outbox.purge_audit(lines, signer.clone()).await?,
        );
        gone += messages + inbound + audit;
        if messages < STEP && inbound == 0 && audit == 0 {
            break;
        }
        tokio::time::sleep(STEP_PAUSE).await;
    }
    // Those of messages that are gone, and those that a crash kept from their message.
    let swept = files.sweep().await?;
    if swept > 0 {
        tracing::info!(files = swept, "let go of files that no message needs");
    }
    if gone > 0 {
        tracing::info!(rows = gone, "let go of what is past its retention");
    }
    // Also those of a hub that was killed in between.
    if gone > 0 || outbox.has_free_pages().await? {
        while outbox.shrink().await? {
            tokio::time::sleep(STEP_PAUSE).await;
        }
    }
    Ok(())
}

/// Begins the audit, with its first checkpoint.
pub(super) async fn begin(store: &Store, signer: &Signer) -> Result<(), StoreError> {
    let signer = signer.clone();
    keep(store, store.write(move |tx| signer.begin(tx)).await?);
    Ok(())
}

/// Signs the audit as it stands.
pub(super) async fn sign(store: &Store, signer: &Signer) {
    let signer = signer.clone();
    match store.write(move |tx| signer.checkpoint(tx)).await {
        Ok(checkpoint) => keep(store, checkpoint),
        Err(error) => tracing::error!(%error, "cannot sign the audit"),
    }
}

fn keep(store: &Store, checkpoint: Option<Checkpoint>) {
    if let Some(Err(error)) = checkpoint.map(|checkpoint| checkpoint.keep(store.directory())) {
        tracing::error!(%error, "cannot keep the audit's checkpoint beside the database");
    }
}

/// At once where there is none; else counted from the newest, also over restarts. A clock that was wrong puts it off by one
/// interval at most.
fn due_in(store: &Store, every: Duration) -> Duration {
    let age = backup::made(store.directory()).map(|made| made.elapsed().unwrap_or_default());
    age.map_or(Duration::ZERO, |age| every.saturating_sub(age))
}

//! Files that a caller handed in before the message that they go along with.
//!
//! A file is its caller's alone: that another one knows its hash gives that one nothing. What is not used within the hour
//! goes.

use std::time::Duration;

use gatepost_link::Digest;
use rusqlite::params;

use super::error::StageError;
use crate::store::{Store, StoreError, now_ms};

/// How long a file that was handed in waits for its message.
pub(super) const LASTS: Duration = Duration::from_hours(1);
/// How long handing one in may take.
pub(super) const TIME: Duration = Duration::from_mins(10);
/// The most that one caller's wait at once.
const MAX_UPLOADS: u32 = 64;

/// A file that was handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uploaded {
    /// By which its caller names it.
    pub file: Digest,
    /// Bytes.
    pub size: u64,
    /// The media type, by its content.
    pub kind: String,
    /// For how long it may be named.
    pub lasts: Duration,
}

fn oldest() -> i64 {
    now_ms().saturating_sub(i64::try_from(LASTS.as_millis()).unwrap_or(i64::MAX))
}

/// Writes down whose it is.
pub(super) async fn register(store: &Store, agent: &str, digest: Digest) -> Result<(), StageError> {
    let agent = agent.to_owned();
    store
        .write(move |tx| {
            let waiting: u32 = tx
                .query_row(
                    "SELECT count(*) FROM uploads WHERE agent = ? AND at > ? AND digest <> ?
                     AND NOT EXISTS (SELECT 1 FROM file_uses WHERE file_uses.digest = uploads.digest)",
                    params![agent, oldest(), digest.0],
                    |row| row.get(0),
                )
                .map_err(StoreError::from)?;
            if waiting >= MAX_UPLOADS {
                return Err(StageError::Uploads(waiting));
            }
            tx.execute(
                "INSERT INTO uploads (agent, digest, at) VALUES (?, ?, ?)
                 ON CONFLICT DO UPDATE SET at = excluded.at",
                params![agent, digest.0, now_ms()],
            )
            .map_err(StoreError::from)?;
            Ok(())
        })
        .await
}

/// Fails unless this caller handed it in, and not too long ago.
pub(super) async fn find(store: &Store, agent: &str, digest: Digest) -> Result<(), StageError> {
    let agent = agent.to_owned();
    let found = store
        .read(move |db| {
            let sql = "SELECT 1 FROM uploads WHERE agent = ? AND digest = ? AND at > ?";
            Ok::<_, StoreError>(db.prepare_cached(sql)?.exists(params![agent, digest.0, oldest()])?)
        })
        .await?;
    found.then_some(()).ok_or(StageError::NoUpload)
}

/// Forgets those that waited too long.
pub(super) async fn expire(store: &Store) -> Result<(), StoreError> {
    store
        .write(|tx| {
            tx.execute("DELETE FROM uploads WHERE at <= ?", [oldest()])?;
            Ok(())
        })
        .await
}

//! Files that go along, by the hash of their bytes.
//!
//! A file is on disk under its hash before the message that it goes along with is accepted: what is shown, signed and
//! sent later are those bytes, whatever becomes of the place that they came from. Nothing here holds a whole file in
//! memory, and everything is bounded: one file, all of a message, all of the hub, the time, and how many are staged at
//! once.
//!
//! - [`blob_store`]: the folder, `DATA_DIR/files`: how a file gets into it whole, how long it stays, who takes it away;
//! - [`kept`]: reading one back, its hash checked before the first byte is used;
//! - [`stage`]: taking the files of a message, from wherever they are;
//! - [`path_resolver`]: files of an agent's own folder; [`fetch`]: files from an address, and [`fetch_policy`]: which
//!   addresses those may be; [`uploads`]: files that a caller handed in; [`given`]: files that an agent was told of in its turns;
//! - [`sniff`]: what a file is, by its content; words to be spoken become one by [`crate::voice`];
//! - [`error`]: why a file was not taken.

mod blob_store;
pub mod error;
mod fetch;
pub mod fetch_policy;
mod given;
pub mod kept;
mod path_resolver;
mod sniff;
mod stage;
mod uploads;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt as _};
use gatepost_link::Digest;
use rusqlite::Transaction;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::{Semaphore, SemaphorePermit},
};

pub use blob_store::{Pin, folder, referred};
pub use given::given;
pub use uploads::Uploaded;

use crate::{
    message::attachment::Attachment,
    store::{Store, StoreError},
    voice::Voice,
};
use blob_store::{BlobStore, Draft};
use error::StageError;
use fetch::Fetcher;
use fetch_policy::{Hosts, Private};
use kept::{Checked, Kept, KeptError};

/// Files that are on their way into the folder at once, over all callers, of either kind; the others wait.
const AT_ONCE: usize = 8;
/// How long one waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);

/// What is read of a file at a time.
const BLOCK_BYTES: usize = 64 * 1024;

/// How much is taken.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Bytes of one file.
    pub max_size: u64,
    /// Bytes of all files of a message, but for recordings that the hub made.
    pub max_together: u64,
    /// Files of a message, but for recordings that the hub made.
    pub max_count: usize,
    /// Bytes of all files in the hub.
    pub max_stored: u64,
    /// How long fetching one may take, redirects and all.
    pub url_timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        const MB: u64 = 1024 * 1024;
        Self {
            max_size: 25 * MB,
            max_together: 50 * MB,
            max_count: 8,
            max_stored: 1024 * MB,
            url_timeout: Duration::from_secs(60),
        }
    }
}

/// An agent's own folder, and what of its content is taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Where it is, without links.
    pub path: PathBuf,
    /// Whether files are taken that have other names too (hard links).
    pub allow_linked_files: bool,
    /// Whether files are taken that belong to somebody else than the folder does.
    pub allow_other_owners: bool,
}

/// Where one agent's files may come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The folder of its own. Without one it names no paths.
    pub folder: Option<Folder>,
    /// Hosts that it may have files fetched from.
    pub hosts: Hosts,
}

/// The hub's files. Clones share them.
#[derive(Clone)]
pub struct Files(Arc<Shared>);

struct Shared {
    blobs: Arc<BlobStore>,
    bounds: Bounds,
    fetcher: Fetcher,
    voice: Voice,
    /// For files of this machine.
    here: Semaphore,
    /// For those that come over a network, as slowly as it likes: they keep nobody else's waiting.
    far: Semaphore,
}

/// What a file is, by its first bytes.
pub fn media_type(head: &[u8]) -> String {
    sniff::sniff(&head[..head.len().min(sniff::HEAD)], None).kind
}

/// A file that is in the folder, and stays there as long as this is held, whether anything refers to it or not.
#[derive(Debug)]
pub struct Staged {
    /// What it is.
    pub attachment: Attachment,
    /// Keeps it.
    pub pin: Pin,
}

impl Files {
    /// The files in the data directory of `store`. Fetching goes to public addresses and `private` ones. What a hub that
    /// was killed left half-written is removed.
    pub fn open(store: Store, bounds: Bounds, private: Private, voice: Voice) -> Result<Self, StageError> {
        let blobs = Arc::new(BlobStore::open(store, bounds.max_stored)?);
        let turns = || Semaphore::new(AT_ONCE);
        let (fetcher, here, far) = (Fetcher::new(private), turns(), turns());
        Ok(Self(Arc::new(Shared { blobs, bounds, fetcher, voice, here, far })))
    }

    /// What is taken.
    pub fn bounds(&self) -> &Bounds {
        &self.0.bounds
    }

    /// Whether words can be spoken.
    pub fn speaks(&self) -> bool {
        self.0.voice.is_on()
    }

    /// The longest text that is spoken, in characters.
    pub fn longest_spoken(&self) -> usize {
        self.0.voice.longest()
    }

    /// Takes a file that `agent` hands in, for messages that it sends within the hour.
    pub async fn upload<B: AsRef<[u8]>, E: std::fmt::Display>(
        &self,
        agent: &str,
        expected: Option<u64>,
        mut body: impl Stream<Item = Result<B, E>> + Unpin,
    ) -> Result<Uploaded, StageError> {
        let _turn = turn(&self.0.far).await?;
        self.make_room().await;
        let mut draft = self.draft(u64::MAX)?;
        draft.expect(expected.unwrap_or(0))?;
        let receive = async {
            while let Some(block) = body.next().await {
                let block = block.map_err(|error| StageError::Broken(error.to_string()))?;
                draft.write(block.as_ref()).await?;
            }
            draft.finish().await
        };
        let limit = uploads::TIME;
        let taken = tokio::time::timeout(limit, receive).await.map_err(|_| StageError::Slow(limit))??;
        if taken.size == 0 {
            return Err(StageError::Empty);
        }
        let kind = sniff::sniff(&taken.head, None).kind;
        uploads::register(self.0.blobs.store(), agent, taken.pin.digest()).await?;
        Ok(Uploaded { file: taken.pin.digest(), size: taken.size, kind, lasts: uploads::LASTS })
    }

    /// Takes a file that somebody sent to an agent. It stays as long as what came with it.
    pub async fn keep(
        &self,
        name: Option<&str>,
        kind: Option<&str>,
        mut bytes: impl AsyncRead + Unpin,
    ) -> Result<Staged, StageError> {
        let _turn = turn(&self.0.far).await?;
        self.make_room().await;
        let mut draft = self.draft(u64::MAX)?;
        let receive = async {
            let mut block = vec![0; BLOCK_BYTES];
            loop {
                match bytes.read(&mut block).await.map_err(|error| StageError::Broken(error.to_string()))? {
                    0 => return draft.finish().await,
                    n => draft.write(&block[..n]).await?,
                }
            }
        };
        let limit = self.bounds().url_timeout;
        let taken = tokio::time::timeout(limit, receive).await.map_err(|_| StageError::Slow(limit))??;
        stage::received(name, kind, taken)
    }

    /// Reads a file back, when it is its turn: so many at once.
    ///
    /// # Errors
    /// Too many others are read, or it is not there as it was.
    pub async fn look(&self, digest: &Digest) -> Result<Result<Checked, KeptError>, StageError> {
        let _turn = turn(&self.0.here).await?;
        Ok(Kept::of(self.0.blobs.store()).open(digest).await)
    }

    fn draft(&self, left: u64) -> Result<Draft, StageError> {
        Draft::begin(&self.0.blobs, self.bounds().max_size.min(left))
    }

    /// Where the hub has all but as many as it may, those that nobody needs go now.
    async fn make_room(&self) {
        if !self.0.blobs.is_tight(self.bounds().max_size) {
            return;
        }
        if let Err(error) = self.sweep().await {
            tracing::warn!(%error, "cannot let go of files that no message needs");
        }
    }

    /// Removes files that nothing refers to any more, and that nobody is staging. How many went.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        uploads::expire(self.0.blobs.store()).await?;
        self.0.blobs.sweep().await
    }
}

async fn turn(turns: &Semaphore) -> Result<SemaphorePermit<'_>, StageError> {
    match tokio::time::timeout(TURN_TIMEOUT, turns.acquire()).await {
        Ok(permit) => Ok(permit.expect("the semaphore is never closed")),
        Err(_) => Err(StageError::Busy),
    }
}

/// Writes down that a message has these files, so that they stay as long as it does.
pub fn refer(tx: &Transaction<'_>, message: i64, files: &[Attachment]) -> Result<(), rusqlite::Error> {
    for file in files {
        tx.prepare_cached("INSERT OR IGNORE INTO file_uses (digest, message) VALUES (?, ?)")?
            .execute(rusqlite::params![file.sha256.0, message])?;
    }
    Ok(())
}

/// The message is gone, and needs its files no more.
pub fn let_go(tx: &Transaction<'_>, message: i64) -> Result<(), rusqlite::Error> {
    tx.prepare_cached("DELETE FROM file_uses WHERE message = ?")?.execute([message])?;
    Ok(())
}

#[cfg(test)]
mod tests;

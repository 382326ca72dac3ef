//! Files that go along, by the hash of their bytes.
//!
//! A file is on disk under its hash before the message that it goes along with is accepted: what is shown, signed and
//! sent later are those bytes, whatever becomes of the place that they came from. Nothing here holds a whole file in
//! memory, and everything is bounded: one file, all of a message, all of the hub, the time, and how many are staged at
//! once.
//!
//! - [`blobs`]: the folder, `DATA_DIR/files`: how a file gets into it whole, how long it stays, who takes it away;
//! - [`kept`]: reading one back, its hash checked before the first byte is used;
//! - [`beneath`]: files of an agent's own folder; [`fetch`]: files from an address, and [`reach`]: which addresses those
//!   may be; [`uploads`]: files that a caller handed in;
//! - [`sniff`]: what a file is, by its content; words to be spoken become one by [`crate::voice`];
//! - [`error`]: why a file was not taken.

mod blob_store;
pub mod error;
mod fetch;
pub mod fetch_policy;
pub mod kept;
mod path_resolver;
mod sniff;
mod uploads;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt as _};
use gatepost_link::Digest;
use rusqlite::Transaction;
use tokio::{
    io::AsyncReadExt as _,
    sync::{Semaphore, SemaphorePermit},
};

pub use blob_store::Pin;
pub use uploads::Uploaded;

use crate::{
    message::{
        attachment::{Attachment, MAX_NAME, clean_name, is_kind},
        attachment_spec::{Asked, Source},
    },
    store::{Store, StoreError},
    voice::Voice,
};
use blob_store::{BlobStore, Draft};
use error::StageError;
use fetch::Fetcher;
use fetch_policy::{Hosts, Private};

/// Files that are on their way into the folder at once, over all callers, of either kind; the others wait.
const AT_ONCE: usize = 8;
/// How long one waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);
/// How long copying a file of an agent's own folder may take.
const COPY_TIMEOUT: Duration = Duration::from_secs(60);
/// What is read of a file at a time.
const BLOCK_BYTES: usize = 64 * 1024;

/// What a recording of the hub's own is called.
const SPOKEN: &str = "voice.ogg";

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

    /// Takes all files of a message for `agent`, in their order.
    pub async fn stage(
        &self,
        agent: &str,
        sources: &Sources,
        wanted: Vec<Asked>,
    ) -> Result<Vec<Staged>, StageError> {
        let bounds = self.bounds();
        // A recording is the hub's own, and has bounds of its own: it takes no file's place.
        let is_own = |wanted: &Asked| matches!(wanted.source, Source::Words(_));
        let count = wanted.iter().filter(|wanted| !is_own(wanted)).count();
        if count > bounds.max_count {
            return Err(StageError::Count(count, bounds.max_count));
        }
        self.make_room().await;
        let (mut staged, mut left) = (Vec::with_capacity(wanted.len()), bounds.max_together);
        for wanted in wanted {
            let is_own = is_own(&wanted);
            let file = self.stage_one(agent, sources, wanted, left).await?;
            if !is_own {
                left = left.saturating_sub(file.attachment.size);
            }
            staged.push(file);
        }
        Ok(staged)
    }

    async fn stage_one(
        &self,
        agent: &str,
        sources: &Sources,
        wanted: Asked,
        left: u64,
    ) -> Result<Staged, StageError> {
        let far = matches!(wanted.source, Source::Url(_) | Source::Words(_));
        let mut spoken = None;
        let _turn = turn(if far { &self.0.far } else { &self.0.here }).await?;
        let (taken, name, claim) = match wanted.source {
            Source::Path(path) => {
                let folder = sources.folder.clone().ok_or(StageError::NoFolder)?;
                let copied = self.copy(folder, path.clone(), left);
                // A file of a network's or of a program's file system comes as slowly as that likes.
                let late = |_| StageError::Slow(COPY_TIMEOUT);
                (tokio::time::timeout(COPY_TIMEOUT, copied).await.map_err(late)??, Some(path), None)
            }
            Source::Url(url) => {
                let draft = self.draft(left)?;
                let fetched = self.0.fetcher.fetch(&url, &sources.hosts, draft);
                let limit = self.bounds().url_timeout;
                let late = |_| StageError::Slow(limit);
                let fetched = tokio::time::timeout(limit, fetched).await.map_err(late)??;
                (fetched.taken, fetched.name, fetched.kind)
            }
            Source::Bytes(bytes) => {
                let mut draft = self.draft(left)?;
                draft.expect(bytes.len() as u64)?;
                draft.write(&bytes).await?;
                (draft.finish().await?, None, None)
            }
            Source::Words(words) => {
                let recording = self.0.voice.speak(&words).await?;
                let mut draft = self.draft(u64::MAX)?;
                draft.expect(recording.len() as u64)?;
                draft.write(&recording).await?;
                spoken = Some(words);
                (draft.finish().await?, Some(SPOKEN.to_owned()), None)
            }
            Source::Upload(digest) => (self.uploaded(agent, digest, left).await?, None, None),
        };
        if taken.size == 0 {
            return Err(StageError::Empty);
        }
        let sniffed = sniff::sniff(&taken.head, wanted.kind.as_deref().or(claim.as_deref()));
        if wanted.voice && !sniffed.kind.starts_with("audio/") {
            return Err(StageError::NotAudio(sniffed.kind));
        }
        let name = wanted.name.as_deref().and_then(clean_name).or_else(|| clean_name(&name?));
        let name = name.unwrap_or_else(|| format!("file.{}", sniffed.extension));
        debug_assert!(name.len() <= MAX_NAME && is_kind(&sniffed.kind));
        let attachment = Attachment {
            sha256: taken.pin.digest(),
            name,
            kind: sniffed.kind,
            said_to_be: sniffed.said_to_be,
            size: taken.size,
            caption: wanted.caption,
            voice: wanted.voice,
            spoken,
        };
        Ok(Staged { attachment, pin: taken.pin })
    }

    /// Copies a file of an agent's own folder.
    async fn copy(&self, folder: Folder, path: String, left: u64) -> Result<blob_store::Taken, StageError> {
        let (file, size) = path_resolver::open(folder, path).await?;
        let mut draft = self.draft(left)?;
        draft.expect(size)?;
        let mut file = tokio::fs::File::from_std(file);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            match file.read(&mut block).await.map_err(StageError::Read)? {
                0 => break,
                n => draft.write(&block[..n]).await?,
            }
        }
        draft.finish().await
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

    async fn uploaded(
        &self,
        agent: &str,
        digest: Digest,
        left: u64,
    ) -> Result<blob_store::Taken, StageError> {
        // Held before it is looked for, so that it does not go in between.
        let pin = self.0.blobs.pin(digest);
        uploads::find(self.0.blobs.store(), agent, digest).await?;
        let file =
            kept::Kept::of(self.0.blobs.store()).open(&digest).await.map_err(|_| StageError::NoUpload)?;
        let size = file.size;
        let most = self.bounds().max_size.min(left);
        if size > most {
            return Err(StageError::TooLarge(most));
        }
        let mut head = Vec::new();
        let source = tokio::fs::File::from_std(file.file);
        source.take(sniff::HEAD as u64).read_to_end(&mut head).await.map_err(StageError::Read)?;
        Ok(blob_store::Taken { pin, size, head })
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

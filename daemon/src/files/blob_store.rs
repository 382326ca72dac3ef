//! The folder of staged files: `DATA_DIR/files`, one file a hash, readable by its owner only.
//!
//! A file is written under a temporary name, synchronised, and moved to its hash, so that what stands under a hash is
//! whole. It stays as long as a message, a row of the `local` inbox or an upload refers to it, or somebody is just staging
//! it and holds a [`Pin`]. Pins and removals take the same lock: a sweep never takes away what a message is about to refer
//! to, and a crash between the two leaves a file that nothing refers to, which the next sweep removes.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use gatepost_link::Digest;
use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use super::{error::StageError, sniff::HEAD};
use crate::{
    message::attachment::digest,
    store::{Room, Store, StoreError},
};

/// Files that are looked at in one step of a sweep.
const STEP: usize = 200;
/// Between two sweeps for want of room.
const AGAIN: Duration = Duration::from_secs(10);
/// What staging leaves of the disk, beyond the reserve: more than accepting needs, so that files alone never stop it.
const MARGIN_BYTES: u64 = 24 * 1024 * 1024;
/// After so many bytes the disk is looked at again.
const LOOK: u64 = 1024 * 1024;
/// What a file is called until it is whole.
const HALF: &str = ".half-";

/// What keeps a file: a message, the `local` inbox, somebody who handed it in, or what was received with it. Tables with a column `digest`.
const REFERRING: [&str; 4] = ["file_uses", "local", "uploads", "inbound_files"];

/// Whether one of them refers to a file.
static REFERRED: LazyLock<String> = LazyLock::new(|| {
    let one = |table| format!("EXISTS (SELECT 1 FROM {table} WHERE digest = ?1)");
    format!("SELECT {}", REFERRING.map(one).join(" OR "))
});

/// All files that a database refers to, each once.
///
/// # Errors
/// The database cannot be read.
pub fn referred(db: &Connection) -> rusqlite::Result<Vec<Digest>> {
    let mut found = std::collections::BTreeSet::new();
    for table in REFERRING {
        // An older schema has not all of them.
        if !db.column_exists(None, table, "digest")? {
            continue;
        }
        let mut rows =
            db.prepare(&format!("SELECT DISTINCT digest FROM {table} WHERE digest IS NOT NULL"))?;
        for digest in rows.query_map([], |row| row.get::<_, [u8; 32]>(0))? {
            found.insert(digest?);
        }
    }
    Ok(found.into_iter().map(Digest).collect())
}

/// Where staged files are under a data directory.
pub fn folder(data: &Path) -> PathBuf {
    data.join("files")
}

/// The folder.
#[derive(Debug)]
pub(super) struct BlobStore {
    store: Handle,
    folder: PathBuf,
    most: u64,
    state: Mutex<State>,
}

struct Handle(Store);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

#[derive(Debug, Default)]
struct State {
    /// Who is staging what.
    pins: HashMap<[u8; 32], u32>,
    /// Bytes in the folder, and on their way into it.
    bytes: u64,
    /// When a sweep was last wanted for want of room.
    tight: Option<Instant>,
}

/// Keeps a file in the folder for as long as it is held.
#[derive(Debug)]
pub struct Pin {
    blobs: Arc<BlobStore>,
    digest: Digest,
}

impl Pin {
    /// Which file.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut state = self.blobs.lock();
        if let Some(pins) = state.pins.get_mut(&self.digest.0) {
            *pins -= 1;
            if *pins == 0 {
                state.pins.remove(&self.digest.0);
            }
        }
    }
}

impl BlobStore {
    pub(super) fn open(store: Store, most: u64) -> Result<Self, StageError> {
        let folder = folder(store.directory());
        let mut bytes = 0;
        // Before the first file there is no folder: a hub on a full disk starts without one.
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(StageError::Write(error)),
        };
        for entry in entries.into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(HALF) {
                fs::remove_file(entry.path()).map_err(StageError::Write)?;
            } else if let Ok(file) = entry.metadata() {
                bytes += file.len();
            }
        }
        let state = Mutex::new(State { bytes, ..State::default() });
        Ok(Self { store: Handle(store), folder, most, state })
    }

    pub(super) fn store(&self) -> &Store {
        &self.store.0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a file, whether it is there or not.
    pub(super) fn pin(self: &Arc<Self>, digest: Digest) -> Pin {
        *self.lock().pins.entry(digest.0).or_default() += 1;
        Pin { blobs: Arc::clone(self), digest }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.to_string())
    }

    /// Whether `more` bytes find no room in the hub's bound, and nobody was told so lately.
    pub(super) fn is_tight(&self, more: u64) -> bool {
        let mut state = self.lock();
        let tight = state.bytes.saturating_add(more) > self.most;
        let lately = state.tight.is_some_and(|tight| tight.elapsed() < AGAIN);
        if tight && !lately {
            state.tight = Some(Instant::now());
        }
        tight && !lately
    }

    /// A file in the folder, and the folder where there is none yet.
    fn create(&self, path: &Path) -> io::Result<File> {
        let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().mode(0o700).recursive(true).create(&self.folder)?;
                File::open(self.store().directory())?.sync_all()?;
                create()
            }
            created => created,
        }
    }

    /// Whether so many more bytes find room, in the hub's bound and on the disk.
    fn room(&self, more: u64) -> Result<(), StageError> {
        let kept = self.lock().bytes;
        if kept.saturating_add(more) > self.most {
            return Err(StageError::Stored(kept));
        }
        let space = self.store.0.space();
        match space.look() {
            room if !room.accepts() => Err(StageError::Disk(room)),
            _ if space.free().is_some_and(|free| free < more.saturating_add(MARGIN_BYTES)) => {
                Err(StageError::Disk(Room::Short))
            }
            _ => Ok(()),
        }
    }

    /// Removes what nothing refers to, in steps; how many files went.
    pub(super) async fn sweep(self: &Arc<Self>) -> Result<usize, StoreError> {
        let folder = self.folder.clone();
        let listed = tokio::task::spawn_blocking(move || listed(&folder)).await;
        let listed = match listed.map_err(|_| StoreError::Closed)? {
            Ok(listed) => listed,
            Err(error) => {
                tracing::error!(%error, "cannot look through the staged files");
                return Ok(0);
            }
        };
        let mut gone = 0;
        for step in listed.chunks(STEP) {
            let (blobs, step) = (Arc::clone(self), step.to_vec());
            gone += self.store.0.read(move |db| blobs.remove_unused(db, &step)).await?;
        }
        Ok(gone)
    }

    fn remove_unused(&self, db: &Connection, files: &[Digest]) -> Result<usize, StoreError> {
        let mut referred = db.prepare_cached(&REFERRED)?;
        let mut gone = 0;
        for file in files {
            // As long as this is held nobody begins to rely on the file; who relied on it before has committed, or has a pin.
            let mut state = self.lock();
            if state.pins.contains_key(&file.0)
                || referred.query_row([file.0], |row| row.get::<_, bool>(0))?
            {
                continue;
            }
            let path = self.path(file);
            let size = fs::metadata(&path).map_or(0, |file| file.len());
            match fs::remove_file(&path) {
                Ok(()) => {
                    state.bytes = state.bytes.saturating_sub(size);
                    gone += 1;
                }
                Err(error) => tracing::warn!(%error, "cannot remove a staged file"),
            }
        }
        Ok(gone)
    }
}

fn listed(folder: &Path) -> io::Result<Vec<Digest>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| Ok(digest(&entry?.file_name().to_string_lossy())));
    names.filter_map(Result::transpose).collect()
}

/// A file that is in the folder now.
#[derive(Debug)]
pub(super) struct Taken {
    /// Keeps it there.
    pub(super) pin: Pin,
    /// Bytes.
    pub(super) size: u64,
    /// Its first ones.
    pub(super) head: Vec<u8>,
}

/// A file on its way into the folder. Dropped before it is whole, it leaves nothing behind.
pub(super) struct Draft {
    blobs: Arc<BlobStore>,
    path: PathBuf,
    file: tokio::fs::File,
    hash: Sha256,
    head: Vec<u8>,
    size: u64,
    most: u64,
    looked: u64,
    whole: bool,
}

impl Draft {
    /// Begins a file of at most `most` bytes.
    pub(super) fn begin(blobs: &Arc<BlobStore>, most: u64) -> Result<Self, StageError> {
        blobs.room(0)?;
        let path = blobs.folder.join(format!("{HALF}{}", crate::random::hex::<16>()));
        let file = blobs.create(&path).map_err(StageError::writing)?;
        Ok(Self {
            blobs: Arc::clone(blobs),
            file: tokio::fs::File::from_std(file),
            path,
            hash: Sha256::new(),
            head: Vec::new(),
            size: 0,
            most,
            looked: 0,
            whole: false,
        })
    }

    /// Refuses at once what says itself that it will be too large.
    pub(super) fn expect(&self, size: u64) -> Result<(), StageError> {
        match size > self.most {
            true => Err(StageError::TooLarge(self.most)),
            false => self.blobs.room(size),
        }
    }

    /// Adds bytes.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        let more = bytes.len() as u64;
        if self.size.saturating_add(more) > self.most {
            return Err(StageError::TooLarge(self.most));
        }
        if self.size == 0 || self.size - self.looked >= LOOK {
            self.blobs.room(more)?;
            self.looked = self.size;
        }
        self.blobs.lock().bytes += more;
        self.size += more;
        self.hash.update(bytes);
        self.head.extend_from_slice(&bytes[..bytes.len().min(HEAD - self.head.len().min(HEAD))]);
        self.file.write_all(bytes).await.map_err(StageError::writing)
    }

    /// The file is whole: brings it to disk, under its hash.
    pub(super) async fn finish(mut self) -> Result<Taken, StageError> {
        self.file.flush().await.map_err(StageError::writing)?;
        self.file.sync_all().await.map_err(StageError::writing)?;
        let digest = Digest(std::mem::take(&mut self.hash).finalize().into());
        let (blobs, path, size) = (Arc::clone(&self.blobs), self.path.clone(), self.size);
        // From here on it is counted, or its removal is.
        let placed = tokio::task::spawn_blocking(move || {
            let pin = blobs.pin(digest);
            let place = blobs.path(&digest);
            {
                let mut state = blobs.lock();
                let before = fs::metadata(&place).map_or(0, |file| file.len());
                fs::rename(&path, &place)?;
                state.bytes = state.bytes.saturating_sub(before);
            }
            File::open(&blobs.folder)?.sync_all()?;
            Ok(pin)
        });
        let pin = placed.await.map_err(io::Error::other).flatten().map_err(StageError::writing)?;
        self.whole = true;
        Ok(Taken { pin, size, head: std::mem::take(&mut self.head) })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.whole {
            return;
        }
        // If it had its place already, it is there to stay until a sweep.
        if fs::remove_file(&self.path).is_ok() {
            let mut state = self.blobs.lock();
            state.bytes = state.bytes.saturating_sub(self.size);
        }
    }
}

//! The exclusive lock on the data directory.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::private_file;

/// More than a process's number and an address have.
const MAX_BYTES: u64 = 100;

fn open(directory: &Path) -> io::Result<File> {
    private_file::open(&directory.join("lock"))
}

fn is_locked(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Held as long as a process uses a data directory. The kernel frees it when the process ends, however it ends.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
}

/// Why the directory cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It cannot be made or written.
    #[error("cannot use the data directory {}: {}", .0.display(), .1)]
    Directory(PathBuf, io::Error),
    /// Another process has it.
    #[error("the data directory {} is in use by process {}: stop that hub first, or give this one a data_dir of its own", .0.display(), .1)]
    Held(PathBuf, String),
}

impl DirectoryLock {
    /// Whether another process has this directory now. Makes nothing, and holds nothing.
    pub fn is_held(directory: &Path) -> bool {
        open(directory).is_ok_and(|file| is_locked(&file))
    }

    /// Whether a process that has this directory now said that it listens at this address. Whoever else listens there is no hub: a
    /// token is not for them.
    pub fn is_held_at(directory: &Path, address: SocketAddr) -> bool {
        let Ok(file) = open(directory) else { return false };
        let mut said = String::new();
        let read = (&file).take(MAX_BYTES).read_to_string(&mut said);
        read.is_ok() && said.lines().nth(1) == Some(&address.to_string()) && is_locked(&file)
    }

    /// Says where the process that has the directory listens, if it does.
    pub(super) fn listens_at(&self, address: Option<SocketAddr>) -> io::Result<()> {
        self.file.set_len(0)?;
        (&self.file).rewind()?;
        let address = address.map(|address| format!("{address}\n")).unwrap_or_default();
        write!(&self.file, "{}\n{address}", std::process::id())
    }

    /// Makes the directory (readable by its owner only) if need be, and locks it.
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let failed = |error| LockError::Directory(directory.into(), error);
        if !directory.exists() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
            if let Some(parent) = directory.parent().filter(|parent| parent.is_dir()) {
                private_file::sync(parent).map_err(failed)?;
            }
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(private_file::AS_IT_LIES)
            .open(directory.join("lock"))
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = (&mut file).take(20).read_to_string(&mut pid);
                let pid = pid.lines().next().unwrap_or_default();
                return Err(LockError::Held(directory.into(), pid.trim().to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The lock is what counts, and a full disk is no reason not to have it.
        let lock = Self { file };
        if let Err(error) = lock.listens_at(None) {
            tracing::warn!(%error, "cannot write this process's id into the lock");
        }
        Ok(lock)
    }
}

//! The exclusive lock on the data directory.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use super::private_file;

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
        let file = File::open(directory.join("lock"));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Whether a process that has this directory now said that it listens at this address. Whoever else listens there is no hub: a
    /// token is not for them.
    pub fn is_held_at(directory: &Path, address: SocketAddr) -> bool {
        let said = fs::read_to_string(directory.join("lock")).unwrap_or_default();
        said.lines().nth(1) == Some(&address.to_string()) && Self::is_held(directory)
    }

    /// Says where the process that has the directory listens.
    pub(super) fn listens_at(&self, address: SocketAddr) -> io::Result<()> {
        (&self.file).seek(SeekFrom::End(0))?;
        writeln!(&self.file, "{address}")
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
            // Another user's directory may have a link there.
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
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
        if let Err(error) = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())) {
            tracing::warn!(%error, "cannot write this process's id into the lock");
        }
        Ok(Self { file })
    }
}

//! Why there is no backup, or why one is not used.

use std::{io, path::PathBuf};

use crate::store::backup::BackupError;

/// Why there is no backup, or why one is not used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The database.
    #[error(transparent)]
    Database(#[from] BackupError),
    /// A file.
    #[error("cannot use {}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// A secret, or another file of the configuration, that the caller may not read.
    #[error("cannot read {}: {}. Run this as root, or as whoever may read it", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// The file is there already.
    #[error("{} is there already: choose another name, or replace it with --force", .0.display())]
    Exists(PathBuf),
    /// Another process writes it.
    #[error("another process is writing {}: wait for it, or choose another name", .0.display())]
    Busy(PathBuf),
    /// It cannot be written.
    #[error("cannot write the backup: {0}")]
    Write(io::Error),
    /// It cannot be read.
    #[error("cannot read the backup: {0}")]
    Read(io::Error),
    /// Something that does not fit into the format.
    #[error("{0} is too large or too long for a backup")]
    TooLarge(String),
    /// Too little room for what it holds.
    #[error("the backup needs {0} bytes more of room, and the disk has {1}: make room first")]
    NoRoom(u64, u64),
    /// It is not whole, or was changed.
    #[error("the backup is damaged: {0}. Nothing was changed; use another copy of it")]
    Damaged(String),
    /// It ends too early.
    #[error(
        "the backup is not complete: it ends too early. Nothing was changed; copy it again, or use an older one"
    )]
    Truncated,
    /// A newer program's.
    #[error("the backup has format {0}, and this gatepost knows format {known} alone: update gatepost first", known = super::manifest::FORMAT)]
    Newer(u32),
    /// Not the passphrase that it was sealed with.
    #[error("the passphrase is wrong, or the backup is damaged. Nothing was changed")]
    Passphrase,
    /// It wants more memory than the hub gives for a passphrase.
    #[error("the backup is sealed with work factor {0}, more than {most}: open it with age -d first", most = super::age::MAX_WORK)]
    Work(u8),
    /// A passphrase that is soon found.
    #[error("the passphrase is too easy to find: it needs at least {0} characters, and {1} different ones")]
    Weak(usize, usize),
}

impl ArchiveError {
    /// From reading it: what the readers beneath say by the kind of an error.
    pub(super) fn reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            io::ErrorKind::InvalidData => Self::Damaged(error.to_string()),
            _ => Self::Read(error),
        }
    }
}

/// What is not as it should be, for [`ArchiveError::reading`].
pub(super) fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

//! What a file is that somebody wants restored: a database, a backup, or a sealed one.

use std::{
    fs::File,
    io::{self, Chain, Cursor, Read},
    path::{Path, PathBuf},
};

use super::{
    age::{INTRO, Opener},
    error::ArchiveError,
    tar,
    unpack::{Unpacked, unpack},
};
use crate::settings::secret::Secret;

/// How much of a file says what it is.
const HEAD: u64 = 512;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A backup, not sealed.
    Plain,
    /// A backup under a passphrase, or another file of age's.
    Sealed,
    /// Neither: a database, if anything.
    Other,
}

/// A file, and what it is.
pub struct Source {
    kind: Kind,
    bytes: Chain<Cursor<Vec<u8>>, Box<dyn Read>>,
}

impl Source {
    /// Opens a file, or standard input if `path` is `-`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let mut from: Box<dyn Read> = match path.as_os_str() == "-" {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path).map_err(|error| ArchiveError::File(path.into(), error))?),
        };
        let mut head = vec![];
        let failed = |error| ArchiveError::File(PathBuf::from(path), error);
        (&mut from).take(HEAD).read_to_end(&mut head).map_err(failed)?;
        let kind = if head.starts_with(INTRO.as_bytes()) {
            Kind::Sealed
        } else if tar::begins(&head) {
            Kind::Plain
        } else {
            Kind::Other
        };
        Ok(Self { kind, bytes: Cursor::new(head).chain(from) })
    }

    /// What it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Reads it into a new folder.
    ///
    /// # Errors
    /// As [`unpack`]; or the passphrase is not its own.
    pub fn unpack(self, passphrase: Option<&Secret>, into: &Path) -> Result<Unpacked, ArchiveError> {
        let bytes = io::BufReader::with_capacity(64 * 1024, self.bytes);
        match passphrase {
            Some(passphrase) => unpack(Opener::new(bytes, passphrase.expose())?, into),
            None => unpack(bytes, into),
        }
    }
}

//! Reading a staged file back.
//!
//! All of it is read and hashed before the first byte is used: a file that is gone, or is not what was approved any more,
//! is never sent, not even in part. The file stays open from then on, so what is used is what was checked.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    path::PathBuf,
};

use gatepost_link::Digest;
use sha2::{Digest as _, Sha256};

use super::{BLOCK_BYTES, blob_store::folder};
use crate::store::Store;

/// Where staged files are read.
#[derive(Debug, Clone)]
pub struct Kept(PathBuf);

/// A file whose bytes are the ones that its hash names.
#[derive(Debug)]
pub struct Checked {
    /// Open, at its beginning.
    pub file: File,
    /// Bytes.
    pub size: u64,
}

/// Why a file cannot be used. It will not be usable later either.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// It is not there, or cannot be read.
    #[error("the attached file {0} is not in the hub's files any more: {1}")]
    Gone(Digest, io::Error),
    /// It is another.
    #[error("the attached file {0} has changed since it was accepted; it is not sent")]
    Changed(Digest),
}

impl Kept {
    /// The files in the data directory of `store`.
    pub fn of(store: &Store) -> Self {
        Self(folder(store.directory()))
    }

    /// Whether there is a file of this name, whatever is in it.
    pub fn is_there(&self, digest: &Digest) -> bool {
        self.0.join(digest.to_string()).is_file()
    }

    /// Opens a file, having read and compared all of it.
    pub async fn open(&self, digest: &Digest) -> Result<Checked, KeptError> {
        let (path, digest) = (self.0.join(digest.to_string()), *digest);
        let checked = tokio::task::spawn_blocking(move || {
            let gone = |error| KeptError::Gone(digest, error);
            let mut file = File::open(path).map_err(gone)?;
            let (mut hash, mut block, mut size) = (Sha256::new(), vec![0; BLOCK_BYTES], 0);
            loop {
                match file.read(&mut block).map_err(gone)? {
                    0 => break,
                    n => {
                        hash.update(&block[..n]);
                        size += n as u64;
                    }
                }
            }
            if Digest(hash.finalize().into()) != digest {
                return Err(KeptError::Changed(digest));
            }
            file.rewind().map_err(gone)?;
            Ok(Checked { file, size })
        });
        checked.await.map_err(|error| KeptError::Gone(digest, io::Error::other(error)))?
    }
}

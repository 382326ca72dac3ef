//! Certificates and their keys, in PEM.
//!
//! What is wrong with a file is said without its bytes: a key may be among them.

use std::path::{Path, PathBuf};

use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject as _},
};

use super::{
    file::{FileError, read},
    secret::{SecretError, SecretSource},
};

/// Certificates in a file, at most: a chain, or the authorities of one owner.
const MAX_CERTIFICATES: usize = 64;

/// The largest file of certificates, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Why there is no certificate, or no key.
#[derive(Debug, thiserror::Error)]
pub enum PemError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A secret cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// It is not PEM.
    #[error("cannot read {0}: {problem}", problem = said(.1))]
    Pem(String, pem::Error),
    /// It has no certificate, too many, or one that is none.
    #[error("{} holds no certificates that can be used (1 to {MAX_CERTIFICATES}, PEM)", .0.display())]
    Certificates(PathBuf),
}

/// The certificates in a file, as they follow each other there.
///
/// # Errors
/// There are none, or too many.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let pem = read(path, MAX_FILE_BYTES)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .take(MAX_CERTIFICATES + 1)
        .collect::<Result<_, _>>()
        .map_err(|error| PemError::Pem(path.display().to_string(), error))?;
    match certificates.len() {
        1..=MAX_CERTIFICATES => Ok(certificates),
        _ => Err(PemError::Certificates(path.into())),
    }
}

/// The first private key of a secret.
///
/// # Errors
/// There is none.
pub fn private_key(source: &SecretSource) -> Result<PrivateKeyDer<'static>, PemError> {
    let pem = source.read_whole()?;
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|error| PemError::Pem(source.to_string(), error))
}

fn said(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => "it holds no private key (PEM)".into(),
        _ => "it is not PEM".into(),
    }
}

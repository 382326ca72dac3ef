//! The hub's two keys: one that signs and one that seals, a file each, outside the database and its backups, readable by
//! their owner only.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;
use gatepost_link::{decision::PublicKey, seal::SealSecret};

use crate::store::private_file;

/// Where the signing key is.
const SIGN: &str = "hub.key";
/// Where the key for sealed sessions is.
const SEAL: &str = "hub.seal";

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// It cannot be read or written.
    #[error("cannot use the hub's key {}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// It is not a key. Making a new one would lock every companion out, so that is left to a person.
    #[error("{} is not a key of 32 bytes: restore it, or delete it and pair all companions anew", .0.display())]
    Broken(PathBuf),
}

/// The hub's signing key; the first time, it is made.
pub(super) fn load_or_create(directory: &Path) -> Result<SigningKey, IdentityError> {
    Ok(SigningKey::from_bytes(&secret(&directory.join(SIGN))?))
}

/// The hub's key for sealed sessions; the first time, it is made.
pub(super) fn sealing(directory: &Path) -> Result<SealSecret, IdentityError> {
    Ok(SealSecret(secret(&directory.join(SEAL))?))
}

fn secret(path: &Path) -> Result<[u8; 32], IdentityError> {
    let failed = |error| IdentityError::File(path.into(), error);
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path).map_err(failed)?,
        Err(error) => return Err(failed(error)),
    };
    bytes.try_into().map_err(|_| IdentityError::Broken(path.into()))
}

/// The public half of the key of the hub with this data directory; none is made.
pub fn public_key(directory: &Path) -> Result<PublicKey, IdentityError> {
    let path = directory.join(SIGN);
    if !path.exists() {
        return Err(IdentityError::File(path, io::ErrorKind::NotFound.into()));
    }
    load_or_create(directory).map(|key| public(&key))
}

/// The public half of a key.
pub(super) fn public(key: &SigningKey) -> PublicKey {
    PublicKey(key.verifying_key().to_bytes())
}

fn create(path: &Path) -> io::Result<Vec<u8>> {
    let secret = crate::random::bytes::<32>();
    private_file::write(path, &secret)?;
    Ok(secret.to_vec())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_key_is_made_once_and_is_its_owners_only() {
        let directory = tempfile::tempdir().unwrap();
        let key = public(&load_or_create(directory.path()).unwrap());
        assert_eq!(public_key(directory.path()).unwrap(), key);
        let seal = sealing(directory.path()).unwrap();
        assert_eq!(sealing(directory.path()).unwrap(), seal);
        for file in ["hub.key", "hub.seal"] {
            let mode = fs::metadata(directory.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
    }

    #[test]
    fn a_broken_key_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("hub.key"), b"short").unwrap();
        fs::write(directory.path().join("hub.seal"), b"short").unwrap();
        assert!(matches!(load_or_create(directory.path()), Err(IdentityError::Broken(_))));
        assert!(matches!(sealing(directory.path()), Err(IdentityError::Broken(_))));
    }
}

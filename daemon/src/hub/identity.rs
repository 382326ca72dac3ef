//! The hub's key: a file of its own, outside the database and its backups, readable by its owner only.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;
use gatepost_link::decision::PublicKey;

use crate::store::private_file;

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

/// The hub's key; the first time, it is made.
pub(super) fn load_or_create(directory: &Path) -> Result<SigningKey, IdentityError> {
    let path = directory.join("hub.key");
    let failed = |error| IdentityError::File(path.clone(), error);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(&path).map_err(failed)?,
        Err(error) => return Err(failed(error)),
    };
    let secret: [u8; 32] = bytes.try_into().map_err(|_| IdentityError::Broken(path))?;
    Ok(SigningKey::from_bytes(&secret))
}

/// The public half of the key of the hub with this data directory; none is made.
pub fn public_key(directory: &Path) -> Result<PublicKey, IdentityError> {
    let path = directory.join("hub.key");
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
        let mode = fs::metadata(directory.path().join("hub.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_broken_key_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("hub.key"), b"short").unwrap();
        assert!(matches!(load_or_create(directory.path()), Err(IdentityError::Broken(_))));
    }
}

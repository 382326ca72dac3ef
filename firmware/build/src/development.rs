//! The root of firmware that was built without a root of its own, `development.root`.
//!
//! Its keys are no secret: both seeds are below, so anybody can sign for a device that has this root. It is there so that an update
//! can be tried on a desk; a device that matters is built with a root of its own, and one with this root says `DEV KEYS` when it starts.

use std::path::{Path, PathBuf};

use gatepost_link::update::{Root, root::RootFile};

/// Seed of the Ed25519 key that signs the next root. PUBLIC, on purpose.
pub const ROOT_SEED: [u8; 32] = *b"gatepost PUBLIC development root";
/// Seed of the Ed25519 key that signs releases. PUBLIC, on purpose.
pub const RELEASE_SEED: [u8; 32] = *b"gatepost PUBLIC development sign";

/// Where the root is.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("development.root")
}

/// Whether one of this root's keys is one whose seed is public.
pub fn has_public_key(root: &Root) -> bool {
    let public =
        RootFile::from_bytes(include_bytes!("../development.root")).expect("the test below reads it");
    let public = public.unverified();
    let is_public = |key| public.root().keys().contains(key) || public.release().keys().contains(key);
    root.root().keys().iter().chain(root.release().keys()).any(is_public)
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use ed25519_dalek::{Signer as _, SigningKey};
    use gatepost_link::{
        decision::{PublicKey, SignatureBytes},
        update::root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Role, Signer},
    };

    use super::*;

    #[test]
    fn the_root_is_of_the_public_seeds_and_signed_by_itself() {
        let [root_key, release_key] = [ROOT_SEED, RELEASE_SEED].map(|seed| SigningKey::from_bytes(&seed));
        let [root, release] = [&root_key, &release_key].map(|key| PublicKey(key.verifying_key().to_bytes()));
        let root = Root::new(1, 0, Role::new(1, &[root]).unwrap(), Role::new(1, &[release]).unwrap());
        let mut buffer = [0; MAX_ROOT_BYTES];
        let signature = SignatureBytes(root_key.sign(root.to_bytes(&mut buffer)).to_bytes());
        let file = RootFile::new(root.clone(), &[(Signer::This(0), signature)]).unwrap();
        let mut buffer = [0; MAX_FILE_BYTES];
        let bytes = file.to_bytes(&mut buffer);
        if env::var_os("GATEPOST_GOLDEN").is_some() {
            fs::write(path(), bytes).unwrap();
        }
        let stored = fs::read(path()).unwrap();
        assert_eq!(stored, bytes, "GATEPOST_GOLDEN=write writes it");
        let read = RootFile::from_bytes(&stored).unwrap();
        assert_eq!(read.signed_by_itself(), Some(&root));
    }

    #[test]
    fn a_root_with_one_public_key_counts_as_public() {
        let public = |seed| PublicKey(SigningKey::from_bytes(&seed).verifying_key().to_bytes());
        let [ours, theirs] = [public(RELEASE_SEED), public([7; 32])];
        let root = |keys: &[PublicKey], release| {
            Root::new(1, 0, Role::new(1, keys).unwrap(), Role::new(1, &[release]).unwrap())
        };
        assert!(has_public_key(&root(&[theirs], ours)) && has_public_key(&root(&[theirs, ours], theirs)));
        assert!(!has_public_key(&root(&[theirs], theirs)));
    }
}

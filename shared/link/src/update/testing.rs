//! Keys and a manifest for the tests.

use ed25519_dalek::{Signer as _, SigningKey};

use super::{
    label::{Label, Version},
    manifest::Manifest,
    root::{Role, Root},
};
use crate::{
    Digest,
    decision::{PublicKey, SignatureBytes},
};

pub(super) fn manifest() -> Manifest {
    Manifest {
        product: Label::new("companion").unwrap(),
        board: Label::new("esp32c3").unwrap(),
        version: Version { major: 1, minor: 4, patch: 0 },
        floor: Version { major: 1, minor: 2, patch: 0 },
        size: 900_000,
        image: Digest([1; 32]),
        block: 4_096,
        blocks: Digest([2; 32]),
        expires: 1_800_000_000,
    }
}

pub(super) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub(super) fn public(seed: u8) -> PublicKey {
    PublicKey(key(seed).verifying_key().to_bytes())
}

pub(super) fn sign(key: &SigningKey, bytes: &[u8]) -> SignatureBytes {
    SignatureBytes(key.sign(bytes).to_bytes())
}

/// A root with these keys, by their seeds; one of each kind is enough.
pub(super) fn root(version: u32, root: &[u8], release: &[u8]) -> Root {
    let keys = |seeds: &[u8]| seeds.iter().map(|seed| public(*seed)).collect::<std::vec::Vec<_>>();
    Root::new(version, 0, Role::new(1, &keys(root)).unwrap(), Role::new(1, &keys(release)).unwrap())
}

impl Root {
    pub(super) fn with_release_threshold(self, threshold: u8) -> Self {
        let release = Role::new(threshold, self.release().keys()).unwrap();
        Self::new(self.version(), self.expires(), self.root().clone(), release)
    }
}

//! What a hub has to offer: releases and roots, with keys made of a seed.

use std::{vec, vec::Vec};

use ed25519_dalek::{Signer as _, SigningKey};
use gatepost_link::{
    Digest,
    decision::{PublicKey, SignatureBytes},
    update::{
        ImageId, Label, Manifest, Root, Signed, Version, image_id,
        root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Role, RootFile, Signer},
        signed::MAX_SIGNED_BYTES,
    },
};

use crate::slots::flat::{Flaw, HEADER_BYTES, Header};

pub(super) const NOW: u64 = 1_790_000_000;
pub(super) const BUILT: u64 = 1_780_000_000;
/// The seeds of the first root's keys.
const ROOT_KEY: u8 = 1;
const RELEASE_KEY: u8 = 11;

pub(super) fn version(major: u16) -> Version {
    Version { major, ..Version::default() }
}

pub(super) fn label(name: &str) -> Label {
    Label::new(name).unwrap()
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(seed: u8) -> PublicKey {
    PublicKey(key(seed).verifying_key().to_bytes())
}

fn sign(seed: u8, bytes: &[u8]) -> SignatureBytes {
    SignatureBytes(key(seed).sign(bytes).to_bytes())
}

/// A root with these keys, signed by its own and by that of the root before.
pub(super) fn root_file(version: u32, root: u8, release: u8, before: u8) -> Vec<u8> {
    let role = |seed| Role::new(1, &[public(seed)]).unwrap();
    let new = Root::new(version, 0, role(root), Role::new(1, &[public(release)]).unwrap());
    let mut buffer = [0; MAX_ROOT_BYTES];
    let bytes = new.to_bytes(&mut buffer);
    let signatures = [(Signer::Before(0), sign(before, bytes)), (Signer::This(0), sign(root, bytes))];
    let mut buffer = [0; MAX_FILE_BYTES];
    RootFile::new(new, &signatures).unwrap().to_bytes(&mut buffer).to_vec()
}

pub(super) fn first_root() -> Vec<u8> {
    root_file(1, ROOT_KEY, RELEASE_KEY, ROOT_KEY)
}

/// An image of this version.
pub(super) fn image(major: u16) -> Vec<u8> {
    let program: Vec<u8> = (0..30_000 - HEADER_BYTES as u32).map(|at| (at / 7) as u8).collect();
    let header = Header { length: 0, version: version(major), trial_s: 180, built: BUILT, flaw: Flaw::None };
    [&header.to_bytes(&program)[..], &program].concat()
}

/// A release.
#[derive(Clone)]
pub(super) struct Release {
    manifest: Manifest,
    pub(super) signed: Vec<u8>,
    pub(super) list: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl Release {
    pub(super) fn new(major: u16) -> Self {
        Self::of_image(major, image(major))
    }

    /// This image, released as this version.
    pub(super) fn of_image(major: u16, bytes: Vec<u8>) -> Self {
        let list: Vec<u8> = gatepost_link::update::list(&bytes).collect();
        let manifest = Manifest {
            product: label("companion"),
            board: label("test"),
            version: version(major),
            floor: Version::default(),
            size: bytes.len() as u32,
            image: Digest::of(&bytes),
            block: 4096,
            blocks: Digest::of(&list),
            expires: NOW + 1_000_000,
        };
        Self { manifest, signed: vec![], list, bytes }.signed_by(RELEASE_KEY)
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Manifest)) -> Self {
        change(&mut self.manifest);
        self.signed_by(RELEASE_KEY)
    }

    pub(super) fn signed_by(mut self, seed: u8) -> Self {
        let signature = sign(seed, &self.manifest.to_bytes());
        let mut buffer = [0; MAX_SIGNED_BYTES];
        self.signed = Signed::new(self.manifest, &[(0, signature)]).unwrap().to_bytes(&mut buffer).to_vec();
        self
    }

    pub(super) fn image(&self) -> ImageId {
        image_id(&self.manifest.image)
    }
}

//! Releases of companions' firmware, signed with keys whose seeds everybody knows.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result};
use ed25519_dalek::{Signer as _, SigningKey};
use gatepost_link::{
    Digest,
    decision::SignatureBytes,
    update::{
        BLOCK_BYTES, ImageId, Label, Manifest, Signed, Version, image_id, package::MAGIC, rule::PRODUCT,
        signed::MAX_SIGNED_BYTES,
    },
};
use tempfile::TempDir;

/// In the year 2100.
const EXPIRES: u64 = 4_102_444_800;

/// A release.
#[derive(Debug, Clone)]
pub struct Release {
    manifest: Manifest,
    list: Vec<u8>,
    image: Vec<u8>,
}

impl Release {
    /// An image as a version for a board.
    ///
    /// # Errors
    /// The board's name is none, or the image is longer than any flash.
    pub fn new(board: &str, version: Version, image: Vec<u8>) -> Result<Self> {
        let list: Vec<u8> = gatepost_link::update::list(&image).collect();
        let manifest = Manifest {
            product: PRODUCT,
            board: Label::new(board).context("a board")?,
            version,
            floor: Version::default(),
            size: u32::try_from(image.len())?,
            image: Digest::of(&image),
            block: u32::try_from(BLOCK_BYTES)?,
            blocks: Digest::of(&list),
            expires: EXPIRES,
        };
        Ok(Self { manifest, list, image })
    }

    /// The manifest, signed by the key of this seed.
    ///
    /// # Errors
    /// It cannot be signed once.
    pub fn signed(&self, seed: [u8; 32]) -> Result<Signed> {
        Signed::new(self.manifest, &[(0, sign(seed, &self.manifest.to_bytes()))]).context("one signature")
    }

    /// Writes its file into a folder, signed by the key of this seed.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, folder: &TempDir, seed: [u8; 32]) -> Result<PathBuf> {
        let mut buffer = [0; MAX_SIGNED_BYTES];
        let signed = self.signed(seed)?;
        let signed = signed.to_bytes(&mut buffer);
        let Manifest { board, version, .. } = self.manifest;
        let file = folder.path().join(format!("{board}-{version}-{}.gpu", seed[0]));
        fs::write(&file, [MAGIC, &[0], signed, &self.list, &self.image].concat())?;
        Ok(file)
    }

    /// What it is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.manifest.version
    }

    /// The list of the blocks' hashes.
    pub fn list(&self) -> &[u8] {
        &self.list
    }

    /// The image.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// What frames call its image.
    pub fn image_id(&self) -> ImageId {
        image_id(&self.manifest.image)
    }
}

/// Signs with the key of this seed.
pub fn sign(seed: [u8; 32], bytes: &[u8]) -> SignatureBytes {
    SignatureBytes(SigningKey::from_bytes(&seed).sign(bytes).to_bytes())
}

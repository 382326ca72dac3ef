//! The board's firmware, as the repository's own chore builds it, and releases that are made of it.
//!
//! One program is built. A release is that program behind another header: its version, how it fails, how large it is. All are
//! signed by the development root's key, which is made of a public seed: firmware that trusts it says so at each start.

use std::{fs, path::PathBuf, sync::OnceLock};

use anyhow::{Context as _, Result, anyhow};
use ed25519_dalek::{Signer as _, SigningKey};
use gatepost_build::development::RELEASE_SEED;
use gatepost_companion::slots::flat::{Flaw, HEADER_BYTES, Header};
use gatepost_link::{
    Digest,
    decision::SignatureBytes,
    update::{
        BLOCK_BYTES, ImageId, Label, Manifest, Signed, Version, image_id, rule::PRODUCT,
        signed::MAX_SIGNED_BYTES,
    },
};

/// In the year 2100.
const EXPIRES: u64 = 4_102_444_800;
/// A trial is given up after so many seconds.
const TRIAL_S: u16 = 180;

/// What a board is started with.
pub struct Firmware {
    /// What QEMU starts.
    pub loader: PathBuf,
    /// What the loader starts, from a slot of the flash.
    pub image: Vec<u8>,
}

impl Firmware {
    /// The firmware, built if it is not.
    ///
    /// # Errors
    /// It does not build.
    pub fn built() -> Result<&'static Self> {
        static BUILT: OnceLock<Result<Firmware, String>> = OnceLock::new();
        let build = || {
            let image = super::super::chore(&["firmware", "qemu-virt"])?;
            Ok(Self { loader: image.with_file_name("gatepost-qemu-boot"), image: fs::read(image)? })
        };
        BUILT
            .get_or_init(|| build().map_err(|error: anyhow::Error| format!("{error:#}")))
            .as_ref()
            .map_err(|error| anyhow!("{error}"))
    }

    /// What its image's header says.
    ///
    /// # Errors
    /// It has none.
    pub fn header(&self) -> Result<Header> {
        let header = self.image.first_chunk::<HEADER_BYTES>().and_then(Header::from_bytes);
        header.context("the image begins with its header")
    }
}

/// A release of the firmware.
#[derive(Debug, Clone)]
pub struct Release {
    manifest: Manifest,
    signed: Vec<u8>,
    list: Vec<u8>,
    image: Vec<u8>,
}

/// How a release differs from what runs.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    /// How it fails.
    pub flaw: Flaw,
    /// After so many seconds a trial of it is given up.
    pub trial_s: u16,
    /// Its image is filled up to so many bytes, with what no block has twice.
    pub bytes: usize,
}

impl Default for Made {
    fn default() -> Self {
        Self { flaw: Flaw::None, trial_s: TRIAL_S, bytes: 0 }
    }
}

impl Release {
    /// The release after what is built, made so.
    ///
    /// # Errors
    /// The firmware does not build.
    pub fn after_built(made: Made) -> Result<Self> {
        let Made { flaw, trial_s, bytes } = made;
        let built = Firmware::built()?;
        let before = built.header()?;
        let version = Version { minor: before.version.minor + 1, ..before.version };
        let mut program = built.image[HEADER_BYTES..].to_vec();
        let fill = |at: usize| (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0];
        program.extend((program.len()..bytes.saturating_sub(HEADER_BYTES)).map(fill));
        let header = Header { length: program.len() as u32, version, trial_s, flaw, ..before };
        let image = [&header.to_bytes(&program)[..], &program].concat();
        Self::signed(version, image)
    }

    fn signed(version: Version, image: Vec<u8>) -> Result<Self> {
        let list: Vec<u8> = gatepost_link::update::list(&image).collect();
        let manifest = Manifest {
            product: PRODUCT,
            board: Label::new("qemu-virt").context("it is short")?,
            version,
            floor: Version::default(),
            size: image.len() as u32,
            image: Digest::of(&image),
            block: BLOCK_BYTES as u32,
            blocks: Digest::of(&list),
            expires: EXPIRES,
        };
        let signature = sign(&SigningKey::from_bytes(&RELEASE_SEED), &manifest.to_bytes());
        let mut buffer = [0; MAX_SIGNED_BYTES];
        let signed = Signed::new(manifest, &[(0, signature)]).context("one signature")?;
        Ok(Self { manifest, signed: signed.to_bytes(&mut buffer).to_vec(), list, image })
    }

    /// What it is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The manifest with its signature, as it travels.
    pub fn signed_manifest(&self) -> &[u8] {
        &self.signed
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
    pub fn id(&self) -> ImageId {
        image_id(&self.manifest.image)
    }
}

fn sign(key: &SigningKey, bytes: &[u8]) -> SignatureBytes {
    SignatureBytes(key.sign(bytes).to_bytes())
}

//! The board's firmware, as the repository's own chore builds it, and releases that are made of it.
//!
//! One program is built. A release is that program behind another header: its version, how it fails, how large it is. The board
//! takes it if the development root's key signed it, which is made of a public seed: firmware that trusts it says so at each start.

use std::{fs, path::PathBuf, sync::OnceLock};

use anyhow::{Context as _, Result, anyhow};
use gatepost_companion::slots::flat::{Flaw, HEADER_BYTES, Header};
use gatepost_link::update::Version;

use crate::release::Release;

/// The board, as releases call it.
const BOARD: &str = "qemu-virt";
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

/// The release after what is built, made so.
///
/// # Errors
/// The firmware does not build.
pub fn release_after_built(made: Made) -> Result<Release> {
    let Made { flaw, trial_s, bytes } = made;
    let built = Firmware::built()?;
    let before = built.header()?;
    let version = Version { minor: before.version.minor + 1, ..before.version };
    let mut program = built.image[HEADER_BYTES..].to_vec();
    let fill = |at: usize| (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0];
    program.extend((program.len()..bytes.saturating_sub(HEADER_BYTES)).map(fill));
    let header = Header { length: program.len() as u32, version, trial_s, flaw, ..before };
    let image = [&header.to_bytes(&program)[..], &program].concat();
    Release::new(BOARD, version, image)
}

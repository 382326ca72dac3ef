//! Releases of companions' firmware, signed with keys that everybody knows, and a companion that says by a script what it runs.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use ed25519_dalek::SigningKey;
use gatepost_companion::Keys;
use gatepost_link::{
    decision::PublicKey,
    envelope::VERSION,
    frame::{Down, Part, Progress, Running, State, Up},
    update::{
        FETCH_BYTES, Label, Signed, Version,
        root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Role, Root, RootFile, Signer},
    },
};
use tempfile::TempDir;

use super::{Impostor, TestHub, eventually};
use crate::release::{Release, sign};

/// The seed of the key that signs roots.
const ROOT_SEED: [u8; 32] = [1; 32];
/// The seed of the key that signs releases.
pub const RELEASE_SEED: [u8; 32] = [2; 32];

/// The board of the companions here.
pub const BOARD: &str = "esp32c3";

/// A release of this version for a board.
///
/// # Errors
/// These are no names.
pub fn release(board: &str, version: &str) -> Result<Release> {
    let version = Version::new(version).context("a version")?;
    let image = (0..20_000_u32).map(|at| (at * 7 % 251) as u8 ^ version.minor as u8).collect();
    Release::new(board, version, image)
}

/// Writes the root whose releases a hub takes into a folder.
///
/// # Errors
/// The disk's.
pub fn write_root(folder: &TempDir) -> Result<PathBuf> {
    let role = |seed| PublicKey(SigningKey::from_bytes(&seed).verifying_key().to_bytes());
    let (roots, releases) = (Role::new(1, &[role(ROOT_SEED)]), Role::new(1, &[role(RELEASE_SEED)]));
    let root = Root::new(1, 0, roots.context("a key")?, releases.context("a key")?);
    let signature = sign(ROOT_SEED, root.to_bytes(&mut [0; MAX_ROOT_BYTES]));
    let file = RootFile::new(root, &[(Signer::This(0), signature)]).context("one signature")?;
    let path = folder.path().join("root.1");
    fs::write(&path, file.to_bytes(&mut [0; MAX_FILE_BYTES]))?;
    Ok(path)
}

/// A companion that says by a script what it runs.
pub struct Scripted {
    keys: Keys,
    link: Impostor,
    board: Label,
    version: Version,
}

impl Scripted {
    /// Registers one of this name that has the first version of the firmware, and says so.
    ///
    /// # Errors
    /// The hub is stopped, or refused it.
    pub async fn join(hub: &TestHub, name: &str, board: &str) -> Result<Self> {
        let (keys, link) = hub.join_outdated(name, VERSION).await?;
        let (board, version) =
            (Label::new(board).context("a board")?, Version { major: 1, minor: 0, patch: 0 });
        let one = Self { keys, link, board, version };
        one.begins(State::Settled)?;
        Ok(one)
    }

    /// The first words of a session.
    ///
    /// # Errors
    /// There is none.
    pub fn begins(&self, state: State) -> Result<()> {
        let Self { board, version, .. } = *self;
        self.link.say(&Up::Display { works: true })?;
        self.link.say(&Up::Running(Running { board, version, floor: Version::default(), root: 1, state }))
    }

    /// It restarts, and runs this version then.
    ///
    /// # Errors
    /// The hub has no session for it.
    pub fn restarts(self, hub: &TestHub, version: Version, state: State) -> Result<Self> {
        let Self { keys, link, board, .. } = self;
        drop(link);
        let link = hub.scripted(&keys)?;
        let one = Self { keys, link, board, version };
        one.begins(state)?;
        Ok(one)
    }

    /// Says something in its session.
    ///
    /// # Errors
    /// There is none.
    pub fn say(&self, up: &Up) -> Result<()> {
        self.link.say(up)
    }

    /// Says how far it is.
    ///
    /// # Errors
    /// There is no session.
    pub fn reports(&self, release: &Release, progress: Progress) -> Result<()> {
        self.say(&Up::Update { image: release.image_id(), progress })
    }

    /// How many manifests came in its session.
    pub fn manifests(&self) -> usize {
        self.link.frames(|frame| matches!(frame, Down::Manifest { .. }))
    }

    /// How often it was told that nothing is offered.
    pub fn no_updates(&self) -> usize {
        self.link.frames(|frame| matches!(frame, Down::NoUpdate))
    }

    /// How many blocks came in its session.
    pub fn blocks(&self) -> usize {
        self.link.frames(|frame| matches!(frame, Down::Block { .. }))
    }

    /// Waits until the release is offered, for the so-manyth time in its session.
    ///
    /// # Errors
    /// It was not, or it was another one.
    pub fn is_offered(&self, release: &Release, times: usize) -> Result<()> {
        eventually("the release is offered", || Ok((self.manifests() >= times).then_some(())))?;
        let signed = self.link.heard(|frame| match frame {
            Down::Manifest { signed, .. } => Signed::from_bytes(signed),
            _ => None,
        });
        let expected = release.signed(RELEASE_SEED)?;
        ensure!(signed.last() == Some(&expected), "another release was offered");
        Ok(())
    }

    /// Fetches all of the release, and reports how far it is, until a person is asked.
    ///
    /// # Errors
    /// What came is not the release.
    pub fn takes(&self, release: &Release) -> Result<()> {
        for (part, whole) in [(Part::List, release.list()), (Part::Image, release.image())] {
            let mut had = 0;
            while had < whole.len() {
                let length = (whole.len() - had).min(FETCH_BYTES);
                let block = self.fetch(part, u32::try_from(had)?, u16::try_from(length)?)?;
                ensure!(block == whole[had..had + length], "the block at {had} is another one");
                had += length;
            }
        }
        let of = release.manifest().size;
        self.reports(release, Progress::Taking { done: of, of })?;
        self.reports(release, Progress::Asking)
    }

    fn fetch(&self, part: Part, offset: u32, length: u16) -> Result<Vec<u8>> {
        self.say(&Up::FetchBlock { part, offset, length })?;
        let came = || {
            self.link.heard(|frame| match frame {
                Down::Block { part: of, offset: at, bytes } if (of, at) == (part, offset) => {
                    Some(bytes.to_vec())
                }
                _ => None,
            })
        };
        eventually("a block comes", || Ok(came().pop()))
    }
}

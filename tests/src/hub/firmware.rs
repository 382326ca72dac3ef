//! Releases of companions' firmware, signed with keys that everybody knows, and a companion that says by a script what it runs.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use ed25519_dalek::{Signer as _, SigningKey};
use gatepost_companion::Keys;
use gatepost_link::{
    Digest,
    decision::{PublicKey, SignatureBytes},
    envelope::VERSION,
    frame::{Down, Part, Progress, Running, State, Up},
    update::{
        FETCH_BYTES, ImageId, Label, Manifest, Signed, Version, image_id,
        package::MAGIC,
        root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Role, Root, RootFile, Signer},
        rule::PRODUCT,
        signed::MAX_SIGNED_BYTES,
    },
};
use tempfile::TempDir;

use super::{Impostor, TestHub, eventually};

/// The seed of the key that signs roots, and of the one that signs releases.
const ROOT_SEED: u8 = 1;
/// The same of releases.
pub const RELEASE_SEED: u8 = 2;

/// The board of the companions here.
pub const BOARD: &str = "esp32c3";

/// A release of firmware.
pub struct Release {
    manifest: Manifest,
    image: Vec<u8>,
}

impl Release {
    /// One of this version for a board.
    ///
    /// # Errors
    /// These are no names.
    pub fn new(board: &str, version: &str) -> Result<Self> {
        let version = Version::new(version).context("a version")?;
        let image: Vec<u8> = (0..20_000_u32).map(|at| (at * 7 % 251) as u8 ^ version.minor as u8).collect();
        let manifest = Manifest {
            product: PRODUCT,
            board: Label::new(board).context("a board")?,
            version,
            floor: Version::default(),
            size: u32::try_from(image.len())?,
            image: Digest::of(&image),
            block: 4_096,
            blocks: Digest::of(&list(&image)),
            expires: 4_000_000_000,
        };
        Ok(Self { manifest, image })
    }

    /// The name of its image.
    pub fn image_id(&self) -> ImageId {
        image_id(&self.manifest.image)
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.manifest.version
    }

    /// Writes its file into a folder, signed by the key of this seed.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, folder: &TempDir, seed: u8) -> Result<PathBuf> {
        let signature = sign(seed, &self.manifest.to_bytes());
        let signed = Signed::new(self.manifest, &[(0, signature)]).context("one signature")?;
        let mut buffer = [0; MAX_SIGNED_BYTES];
        let signed = signed.to_bytes(&mut buffer);
        let file =
            folder.path().join(format!("{}-{}-{seed}.gpu", self.manifest.board, self.manifest.version));
        fs::write(&file, [MAGIC, &[0], signed, &list(&self.image), &self.image].concat())?;
        Ok(file)
    }
}

/// Writes the root whose releases a hub takes into a folder.
///
/// # Errors
/// The disk's.
pub fn write_root(folder: &TempDir) -> Result<PathBuf> {
    let role = |seed| PublicKey(key(seed).verifying_key().to_bytes());
    let (roots, releases) = (Role::new(1, &[role(ROOT_SEED)]), Role::new(1, &[role(RELEASE_SEED)]));
    let root = Root::new(1, 0, roots.context("a key")?, releases.context("a key")?);
    let signature = sign(ROOT_SEED, root.to_bytes(&mut [0; MAX_ROOT_BYTES]));
    let file = RootFile::new(root, &[(Signer::This(0), signature)]).context("one signature")?;
    let path = folder.path().join("root.1");
    fs::write(&path, file.to_bytes(&mut [0; MAX_FILE_BYTES]))?;
    Ok(path)
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn sign(seed: u8, bytes: &[u8]) -> SignatureBytes {
    SignatureBytes(key(seed).sign(bytes).to_bytes())
}

fn list(image: &[u8]) -> Vec<u8> {
    gatepost_link::update::list(image).collect()
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
        let expected =
            Signed::new(release.manifest, &[(0, sign(RELEASE_SEED, &release.manifest.to_bytes()))]);
        ensure!(signed.last() == expected.as_ref(), "another release was offered");
        Ok(())
    }

    /// Fetches all of the release, and reports how far it is, until a person is asked.
    ///
    /// # Errors
    /// What came is not the release.
    pub fn takes(&self, release: &Release) -> Result<()> {
        for (part, whole) in [(Part::List, &list(&release.image)), (Part::Image, &release.image)] {
            let mut had = 0;
            while had < whole.len() {
                let length = (whole.len() - had).min(FETCH_BYTES);
                let block = self.fetch(part, u32::try_from(had)?, u16::try_from(length)?)?;
                ensure!(block == whole[had..had + length], "the block at {had} is another one");
                had += length;
            }
        }
        let of = release.manifest.size;
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

//! `release`: signs firmware.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use gatepost_link::update::{
    Version,
    package::Package,
    rule::{self, Device},
};
use gatepost_sign::{
    date,
    image::{Board, SLOT_BYTES},
    minisign::Public,
    release::{self, Chain, Plan, Release as Prepared, ReleaseError},
};

use super::{Signing, files, terminal, words};

/// Most bytes that are read of an image or a release: four times the flash of a board, so that a file that is too large is
/// told by what it is.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Debug, Subcommand)]
pub(super) enum Release {
    /// Sign an image for a board, and write the release with the roots that lead to its keys.
    ///
    /// What a device would refuse is not signed.
    Sign(Sign),
    /// Add the signature of a second release key, if the root wants two.
    AddSignature(AddSignature),
    /// Say what a release is, who has signed it, and whether a device would take it.
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(super) struct Sign {
    /// The image, as it goes into a slot.
    #[arg(long, value_name = "firmware.bin")]
    image: PathBuf,
    /// The board: esp32c3, esp32c6 or qemu-virt.
    #[arg(long)]
    board: Board,
    /// The version that the image says that it is, such as 1.4.0.
    #[arg(long)]
    version: Version,
    /// A device that runs it takes nothing below this version afterwards.
    #[arg(long, value_name = "VERSION")]
    floor: Version,
    /// The day from which it is not taken any more, such as 2027-11-26.
    #[arg(long, value_name = "DATE", value_parser = date::parse)]
    expires: u64,
    /// All roots, from the first to the one whose keys sign, in any order.
    #[arg(long = "root", value_name = "root.N", required = true, num_args = 1..)]
    roots: Vec<PathBuf>,
    #[command(flatten)]
    signing: Signing,
    /// The file to write.
    #[arg(short, long, value_name = "FILE.gpu")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct AddSignature {
    /// The release; its file is replaced by one with the signature.
    #[arg(value_name = "FILE.gpu")]
    file: PathBuf,
    #[command(flatten)]
    signing: Signing,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The release.
    #[arg(value_name = "FILE.gpu")]
    file: PathBuf,
    /// The root that you trust, such as the one that devices have from their factory.
    #[arg(long, value_name = "root.1")]
    root: PathBuf,
    /// Ask for a device of this board; without it, for one of the release's board.
    #[arg(long, value_name = "BOARD")]
    for_board: Option<Board>,
    /// Ask for a device that runs this version; without it, for one that runs something older.
    #[arg(long, value_name = "VERSION")]
    running: Option<Version>,
}

impl Release {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::Sign(command) => command.run(),
            Self::AddSignature(command) => command.run(),
            Self::Verify(command) => command.run(),
        }
    }
}

/// What is to be signed, in words.
fn words(title: &str, release: &Prepared<'_>, now: u64) -> String {
    let (root, manifest) = (release.root(), words::manifest(release.manifest(), now));
    let (threshold, keys) = (root.release().threshold(), root.release().keys().len());
    let (version, expires) = (root.version(), words::expiry(root.expires()));
    let mut text = format!(
        "{title}\n{manifest}  root     version {version}, expires {expires}; {threshold} of {keys} release keys must sign\n"
    );
    for warning in release.warnings(now) {
        text += &format!("Warning: {warning}.\n");
    }
    text
}

/// What was written, and what is missing.
fn written(path: &Path, release: &Prepared<'_>) -> Result<()> {
    let name = path.display();
    let next = match release.missing() {
        0 => format!("It is signed by enough keys. Try: gatepost-sign release verify {name} --root root.1"),
        missing => {
            format!("Signatures missing: {missing}. gatepost-sign release add-signature {name} --key K.key")
        }
    };
    terminal::say(&format!("Written to {name}. {next}\n"))
}

impl Sign {
    fn run(self) -> Result<()> {
        files::ensure_free(&self.output)?;
        let image = files::read(&self.image, MAX_BYTES)?;
        let Self { board, version, floor, expires, .. } = self;
        let roots: Result<_> = self.roots.iter().map(|path| files::read_root(path)).collect();
        let now = date::now();
        let plan = Plan { board, version, floor, expires, image: &image };
        let mut release = Prepared::new(&plan, Chain::new(roots?)?, now)?;
        let title = format!("To be signed, a release of companion firmware, {}:", self.image.display());
        let secret = self.signing.secret(&words(&title, &release, now))?;
        release.sign(&secret)?;
        files::create(&self.output, &release.to_file()?, false)?;
        written(&self.output, &release)
    }
}

impl AddSignature {
    fn run(self) -> Result<()> {
        let (file, now) = (files::read(&self.file, MAX_BYTES)?, date::now());
        let mut release = Prepared::read(&file, now).with_context(|| self.file.display().to_string())?;
        let title = format!("To be signed too, a release of companion firmware, {}:", self.file.display());
        let secret = self.signing.secret(&words(&title, &release, now))?;
        release.sign(&secret)?;
        files::replace(&self.file, &release.to_file()?)?;
        written(&self.file, &release)
    }
}

impl Verify {
    fn run(self) -> Result<()> {
        let (file, now) = (files::read(&self.file, MAX_BYTES)?, date::now());
        let known = files::read_root(&self.root)?;
        let known = known.unverified();
        let name = self.file.display();
        let package = Package::read(&file).with_context(|| name.to_string())?;
        let (root, verified) = package.verified(known).with_context(|| {
            let keys: Vec<String> =
                known.release().keys().iter().map(|key| Public::of(*key).to_string()).collect();
            format!("{name}, by root version {} with the release keys {}", known.version(), keys.join(", "))
        })?;
        let manifest = verified.manifest();
        let title = format!("{name} is a release of companion firmware:");
        let (version, mut by) = (root.version(), String::new());
        for key in release::signers(&package, &root) {
            by += &format!("Signed by {}\n", Public::of(key));
        }
        let lead = if version == known.version() {
            String::new()
        } else {
            format!(", to which root version {} leads", known.version())
        };
        by += &format!(
            "These are enough release keys of root version {version}{lead}; the image is what they signed.\n"
        );
        terminal::say(&format!("{title}\n{}{by}", words::manifest(manifest, now)))?;
        if let Some(board) = Board::of(&manifest.board) {
            let (found, version) = (board.check(package.image())?, manifest.version);
            if found != version {
                bail!("no device takes it: {}", ReleaseError::OtherVersion { found, version });
            }
        }
        let board = self.for_board.map_or(manifest.board, Board::label);
        let (running, floor) = (self.running.unwrap_or_default(), Version::default());
        let runs = self.running.map_or("something older".to_owned(), |version| version.to_string());
        let device = Device { board, running, floor, slot: SLOT_BYTES, built: 0 };
        if let Err(unfit) = rule::admit(manifest, &root, &device, now) {
            bail!("a device {board} that runs {runs} refuses it: {unfit}");
        }
        terminal::say(&format!("A device {board} that runs {runs} takes it.\n"))
    }
}

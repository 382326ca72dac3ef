//! A release: everything that it consists of, in one folder. `RELEASING.md` is the way from a commit to a release.
//!
//! `cargo xtask release VERSION` makes what needs no key, and says what is to be signed elsewhere, on a machine without a network
//! ([gatepost-sign](../../../../shared/sign/README.md)). With `--finish` it checks what came back, and writes or checks `SHA256SUMS`.
//!
//! Whatever goes wrong, what is there stays: `--only` makes the rest, or one part anew.

mod archive;
mod commit;
mod contents;
mod finish;
mod notes;
mod sbom;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_build::release::ROOT;

use super::{
    VERSION, apt,
    deb::{self, Architecture, said},
    firmware, root,
};

/// The boards whose firmware is released.
const BOARDS: [firmware::Board; 2] = [firmware::Board::Esp32c3, firmware::Board::Esp32c6];

/// What is to be made.
#[derive(Debug, clap::Args)]
pub(crate) struct Wanted {
    /// The version, which is the workspace's, and has a tag vVERSION and a part of CHANGELOG.md.
    version: String,
    /// Check what was signed elsewhere, and end the release.
    #[arg(long)]
    finish: bool,
    /// With --finish: the root whose keys signed the firmware.
    #[arg(long, value_name = "FILE", requires = "finish")]
    root: Option<PathBuf>,
    /// With --finish: the public key that signed SHA256SUMS, as minisign has it.
    #[arg(long, value_name = "FILE", requires = "finish")]
    key: Option<PathBuf>,
    /// The folder: release/VERSION.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Only these parts; the others stay as they are.
    #[arg(long, value_name = "PART", num_args = 1.., conflicts_with = "finish")]
    only: Vec<Part>,
    /// Only the parts that need no compiler, of a tree that may be any: the source archive, the list of parts (SBOM) and the notes.
    #[arg(long, conflicts_with_all = ["finish", "only"])]
    sources: bool,
    /// Try the way of a release on a tree that may be any, with what lies in FOLDER in place of what takes long: the source archive,
    /// the images of the boards, and the hub's programs as gatepost-ARCHITECTURE.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["finish", "sources"])]
    rehearse: Option<PathBuf>,
}

/// What can be made by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// What changed, from CHANGELOG.md.
    Notes,
    /// The source archive, with the crates that it needs.
    Archive,
    /// The list of parts (SBOM).
    Sbom,
    /// The Debian packages, and the repository for apt.
    Packages,
    /// The images of the boards.
    Firmware,
}

impl Part {
    const ALL: [Self; 5] = [Self::Notes, Self::Archive, Self::Sbom, Self::Packages, Self::Firmware];

    fn name(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Archive => "source archive: some minutes",
            Self::Sbom => "list of parts",
            Self::Packages => "Debian packages: ten minutes and more for each processor",
            Self::Firmware => "images of the boards",
        }
    }
}

impl Wanted {
    /// What is there already in place of this file.
    fn stand_in(&self, name: &str) -> Option<PathBuf> {
        let file = root().join(self.rehearse.as_ref()?).join(name);
        file.is_file().then_some(file)
    }

    /// Whether the tree may be any.
    fn is_trial(&self) -> bool {
        self.sources || self.rehearse.is_some()
    }

    fn parts(&self) -> Vec<Part> {
        match (self.sources, self.only.is_empty()) {
            (true, _) => vec![Part::Notes, Part::Archive, Part::Sbom],
            (_, true) => Part::ALL.to_vec(),
            _ => self.only.clone(),
        }
    }
}

/// Makes the release, or ends it.
pub(crate) fn release(wanted: &Wanted) -> Result<()> {
    let version = &*wanted.version;
    let folder = wanted.into.clone().unwrap_or_else(|| Path::new("release").join(version));
    let folder = root().join(folder);
    ensure!(version == VERSION, "the workspace is version {VERSION}: RELEASING.md says where to change it");
    if wanted.finish {
        return finish::finish(&folder, version, wanted.root.as_deref(), wanted.key.as_deref());
    }
    if !wanted.is_trial() {
        is_tagged(version)?;
        has_root_of_its_own()?;
    }
    if !wanted.is_trial() {
        commit::is_that_of(&folder, !wanted.only.is_empty())?;
    }
    fs::create_dir_all(&folder)?;
    let parts = wanted.parts();
    for (at, part) in parts.iter().enumerate() {
        println!("==> {} of {}: {}", at + 1, parts.len(), part.name());
        let began = Instant::now();
        part.make(wanted, &folder)
            .with_context(|| format!("what is made stays; then: cargo xtask release {version} --only …"))?;
        println!("    done, {} s", began.elapsed().as_secs());
    }
    if !wanted.sources {
        println!("{}", to_sign(&folder, version));
    }
    Ok(())
}

impl Part {
    fn make(self, wanted: &Wanted, folder: &Path) -> Result<()> {
        let version = &*wanted.version;
        match self {
            Self::Notes => {
                let notes = notes::of(&fs::read_to_string(root().join("CHANGELOG.md"))?, version);
                let notes = match notes {
                    None if wanted.is_trial() => String::new(),
                    notes => notes.with_context(|| format!("CHANGELOG.md has no part \"## {version}\""))?,
                };
                fs::write(folder.join(contents::NOTES), notes)?;
            }
            Self::Archive => {
                let name = contents::archive(version);
                match wanted.stand_in(&name) {
                    Some(archive) => drop(fs::copy(archive, folder.join(name))?),
                    None => drop(archive::make(folder, version)?),
                }
            }
            Self::Sbom => drop(sbom::make(folder, version)?),
            Self::Packages => packages(wanted, &folder.join("apt"))?,
            Self::Firmware => images(wanted, folder)?,
        }
        Ok(())
    }
}

fn packages(wanted: &Wanted, into: &Path) -> Result<()> {
    // A signature of the repository before would be none of this one.
    for stale in ["InRelease", "Packages", "Packages.gz", "Release"] {
        let _ = fs::remove_file(into.join(stale));
    }
    for architecture in Architecture::ALL {
        let program = wanted.stand_in(&format!("gatepost-{}", architecture.name()));
        deb::build(architecture, program, &wanted.version, into)?;
    }
    apt::index(into)
}

/// What is written to a board by cable, and what is signed and sent to one; and the root that they trust, by which others can build
/// the same bytes.
fn images(wanted: &Wanted, folder: &Path) -> Result<()> {
    let version = &*wanted.version;
    type Make = fn(firmware::Board) -> Result<PathBuf>;
    for board in BOARDS {
        let kinds: [(String, Make); 2] = [
            (contents::flash(board, version), firmware::image),
            (contents::image(board, version), firmware::ota_image),
        ];
        for (name, make) in kinds {
            let image = match wanted.stand_in(&name) {
                Some(image) => image,
                None => make(board)?,
            };
            fs::copy(&image, folder.join(&name)).with_context(|| image.display().to_string())?;
        }
    }
    let trusted = env::var_os(ROOT).map_or_else(gatepost_build::development::path, PathBuf::from);
    fs::copy(&trusted, folder.join(contents::root(version)))
        .with_context(|| trusted.display().to_string())?;
    Ok(())
}

/// Checks that not everybody can sign for what is released.
fn has_root_of_its_own() -> Result<()> {
    let file = env::var_os(ROOT).with_context(|| {
        format!("{ROOT}=FILE names the root whose keys sign firmware: hubs and companions of this release trust it")
    })?;
    let bytes = fs::read(&file).with_context(|| format!("{ROOT}: {}", Path::new(&file).display()))?;
    let root = gatepost_link::update::root::RootFile::from_bytes(&bytes);
    let root = root.as_ref().and_then(gatepost_link::update::root::RootFile::signed_by_itself);
    let root = root.with_context(|| {
        format!("{ROOT}: it is no root that enough of its own keys signed: make one with gatepost-sign")
    })?;
    ensure!(
        !gatepost_build::development::has_public_key(root),
        "{ROOT}: everybody has keys of the development root: make one of your own with gatepost-sign"
    );
    Ok(())
}

/// Checks that the tree is the commit of the tag, and nothing else.
fn is_tagged(version: &str) -> Result<()> {
    let git = |arguments: &[&str]| said(Command::new("git").args(arguments).current_dir(root()));
    let changed = git(&["status", "--porcelain"])?;
    ensure!(changed.is_empty(), "commit or take back what was changed:\n{changed}");
    let tag = format!("v{version}");
    let head = git(&["rev-parse", "HEAD"])?;
    let tagged = git(&["rev-parse", "--verify", &format!("{tag}^{{commit}}")])
        .with_context(|| format!("there is no tag {tag}: git tag -s {tag}"))?;
    ensure!(head == tagged, "{tag} is {tagged}, and this is {head}");
    Ok(())
}

/// What comes next, in words.
fn to_sign(folder: &Path, version: &str) -> String {
    let folder = folder.display();
    let mut text = format!(
        "{folder} has all that needs no key. Take it to the machine with the keys, and in it there:\n"
    );
    for board in BOARDS {
        text += &format!(
            "  gatepost-sign release sign --image {} --board {} --version {version} \\\n    \
             --floor VERSION --expires DATE --root root.1 … --key release.key -o {}\n",
            contents::image(board, version),
            board.name(),
            contents::signed(board, version)
        );
    }
    text += "  gpg --clearsign --output apt/InRelease apt/Release\n  gpg --export --output apt/key.gpg KEY\n";
    text + &format!("Bring it back, and go on with: cargo xtask release {version} --finish --root root.1")
}

/// The files of a release, beneath its folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    deb::list(folder, Path::new(""), &mut all)
        .with_context(|| format!("{}: make the release first, without --finish", folder.display()))?;
    let mut all: Vec<PathBuf> = all.into_iter().map(|(path, _)| path).collect();
    all.sort();
    Ok(all)
}

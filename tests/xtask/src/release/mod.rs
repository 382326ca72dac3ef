//! A release: everything that it consists of, in one folder.
//!
//! `cargo xtask release VERSION` makes what needs no key, and says what is to be signed elsewhere, on a machine without a network
//! ([gatepost-sign](../../../../shared/sign/README.md)). With `--finish` it checks what came back, and writes or checks `SHA256SUMS`.

mod archive;
mod finish;
mod notes;
mod sbom;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use super::{
    VERSION, apt,
    deb::{self, Architecture, said},
    firmware, root,
};

/// The boards whose firmware is released.
const BOARDS: [firmware::Board; 1] = [firmware::Board::Esp32c3];

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
    /// Only the parts that need no compiler, of a tree that may be any: the source archive, the list of parts (SBOM) and the notes.
    #[arg(long, conflicts_with = "finish")]
    sources: bool,
}

/// Makes the release, or ends it.
pub(crate) fn release(wanted: &Wanted) -> Result<()> {
    let folder = wanted.into.clone().unwrap_or_else(|| Path::new("release").join(&wanted.version));
    let folder = root().join(folder);
    ensure!(wanted.version == VERSION, "the workspace is version {VERSION}");
    if wanted.finish {
        return finish::finish(&folder, &wanted.version, wanted.root.as_deref(), wanted.key.as_deref());
    }
    if !wanted.sources {
        is_tagged(&wanted.version)?;
    }
    fs::create_dir_all(&folder)?;
    let notes = match notes::of(&fs::read_to_string(root().join("CHANGELOG.md"))?, &wanted.version) {
        None if wanted.sources => String::new(),
        notes => notes.with_context(|| format!("CHANGELOG.md has no part \"## {}\"", wanted.version))?,
    };
    fs::write(folder.join("NOTES.md"), notes)?;
    archive::make(&folder, &wanted.version)?;
    sbom::make(&folder, &wanted.version)?;
    if wanted.sources {
        return Ok(());
    }
    let packages = folder.join("apt");
    for architecture in Architecture::ALL {
        deb::build(architecture, &wanted.version, &packages)?;
    }
    apt::index(&packages)?;
    for board in BOARDS {
        let image = firmware::ota_image(board)?;
        let name = image.file_name().context("an image has a name")?;
        fs::copy(&image, folder.join(name))?;
    }
    println!("{}", to_sign(&folder, &wanted.version));
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
    let mut text =
        format!("{folder} has all that needs no key. Take it to the machine with the keys, and there:\n");
    for board in BOARDS {
        let board = board.name();
        text += &format!(
            "  gatepost-sign release sign --image gatepost-{board}.ota.bin --board {board} --version {version} \\\n    \
             --floor VERSION --expires DATE --root root.N --key release.key -o gatepost-{board}-{version}.gpu\n"
        );
    }
    text += "  gpg --clearsign --output apt/InRelease apt/Release\n";
    text + &format!("Bring it back, and go on with: cargo xtask release {version} --finish --root root.N")
}

/// The files of a release, beneath its folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    deb::list(folder, Path::new(""), &mut all)?;
    let mut all: Vec<PathBuf> = all.into_iter().map(|(path, _)| path).collect();
    all.sort();
    Ok(all)
}

//! The packages that the tests install: of the program that all tests run, without its names.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use gatepost_tests::{
    hub::program::{flasher, program},
    peers::chore,
};
use tempfile::TempDir;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: &str = "amd64";
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: &str = "arm64";
/// The packages of two versions, in a folder.
pub(crate) struct Packages {
    program: PathBuf,
    pub(crate) old: PathBuf,
    pub(crate) new: PathBuf,
    _folder: TempDir,
}

static PACKAGES: LazyLock<Result<Packages, String>> =
    LazyLock::new(|| Packages::make().map_err(|error| format!("{error:#}")));

impl Packages {
    pub(crate) fn get() -> Result<&'static Self> {
        PACKAGES.as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// The processor that they are for, as Debian calls it.
    pub(crate) fn architecture(&self) -> &'static str {
        ARCHITECTURE
    }

    /// The program in them. The one that writes boards is beside it.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    fn make() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let bare = folder.path().join("gatepost");
        for (bare, program) in [(&bare, program()?), (&bare.with_file_name("gatepost-flash"), flasher()?)] {
            let stripped = Command::new("strip").arg("-o").args([bare, program]).status()?;
            ensure!(stripped.success(), "strip: {stripped}");
        }
        let package = |version: &str| packaged(&bare, version, folder.path());
        let (old, new) = (package("0.1.0")?, package("0.2.0")?);
        Ok(Self { program: bare, old, new, _folder: folder })
    }
}

/// The same, with the rights that new files get from this umask.
pub(crate) fn packaged_under(umask: &str, program: &Path, version: &str, into: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ended = Command::new("sh")
        .args(["-c", "umask \"$0\" && exec \"$@\"", umask])
        .arg(cargo)
        .arg("xtask")
        .args(["deb", ARCHITECTURE, "--version", version, "--program"])
        .arg(program)
        .arg("--into")
        .arg(into)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()?;
    ensure!(ended.status.success(), "umask {umask}: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(into.join(format!("gatepost_{version}-1_{ARCHITECTURE}.deb")))
}

pub(crate) fn packaged(program: &Path, version: &str, into: &Path) -> Result<PathBuf> {
    let text = |path: &Path| path.to_str().map(str::to_owned).context("UTF-8");
    let (program, into) = (text(program)?, text(into)?);
    chore(&["deb", ARCHITECTURE, "--program", &program, "--version", version, "--into", &into])
}

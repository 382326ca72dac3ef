//! The repository for apt: read, installed from, upgraded from, and refused once somebody has changed it.
//!
//! Installed by `tests/run --setup-only`: Debian 12, GnuPG.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::peers::{chore, debian::Debian};
use tempfile::TempDir;

use super::made::Packages;

/// Who signs the repository.
pub(crate) struct Signer {
    home: TempDir,
}

impl Signer {
    pub(crate) fn new() -> Result<Self> {
        let signer = Self { home: tempfile::tempdir()? };
        signer.gpg(&[
            "--passphrase",
            "",
            "--quick-gen-key",
            "Test <test@gatepost.invalid>",
            "ed25519",
            "sign",
            "never",
        ])?;
        Ok(signer)
    }

    fn gpg(&self, arguments: &[&str]) -> Result<()> {
        let mut gpg = Command::new("gpg");
        gpg.arg("--homedir").arg(self.home.path()).args([
            "--batch",
            "--quiet",
            "--yes",
            "--pinentry-mode",
            "loopback",
        ]);
        let ended = gpg.args(arguments).output().context("cannot run gpg")?;
        ensure!(ended.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        Ok(())
    }

    /// Signs the repository in a folder, and writes the public key beside it.
    pub(crate) fn sign(&self, folder: &Path) -> Result<()> {
        let path = |name: &str| folder.join(name).to_str().map(str::to_owned).context("UTF-8");
        self.gpg(&["--output", &path("key.gpg")?, "--export"])?;
        self.gpg(&["--output", &path("InRelease")?, "--clearsign", &path("Release")?])
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        // The agent that gpg has started ends with its home.
        let _ =
            Command::new("gpgconf").arg("--homedir").arg(self.home.path()).args(["--kill", "all"]).status();
    }
}

/// Adds a package to the repository, indexes it and signs it.
fn publish(folder: &Path, package: &Path, signer: &Signer) -> Result<()> {
    fs::copy(package, folder.join(package.file_name().context("a file")?))?;
    chore(&["apt", folder.to_str().context("UTF-8")?])?;
    signer.sign(folder)
}

#[test]
fn apt_installs_and_upgrades_from_the_repository_and_refuses_a_changed_one() -> Result<()> {
    if !Debian::may_be() {
        println!("left out: it takes root");
        return Ok(());
    }
    let (packages, signer) = (Packages::get()?, Signer::new()?);
    let debian = Debian::fresh()?;
    let folder: PathBuf = debian.root().join("srv/apt");
    fs::create_dir_all(&folder)?;
    publish(&folder, &packages.old, &signer)?;
    fs::write(
        debian.root().join("etc/apt/sources.list"),
        "deb [signed-by=/srv/apt/key.gpg] file:/srv/apt ./\n",
    )?;
    let installed = || -> Result<String> {
        debian.run(&["apt-get", "-q", "update"])?.well()?;
        debian.run(&["apt-get", "-qy", "install", "--no-install-recommends", "gatepost"])?.well()?;
        debian.run(&["dpkg-query", "--show", "--showformat=${Version}", "gatepost"])?.well()
    };
    ensure!(installed()? == "0.1.0-1");
    publish(&folder, &packages.new, &signer)?;
    ensure!(installed()? == "0.2.0-1");

    let list = fs::read_to_string(folder.join("Packages"))?;
    fs::write(folder.join("Packages"), list.replace("Installed-Size: ", "Installed-Size: 1"))?;
    fs::remove_file(folder.join("Packages.gz"))?;
    fs::remove_dir_all(debian.root().join("var/lib/apt/lists"))?;
    let changed = debian.run(&["apt-get", "-q", "update"])?;
    ensure!(changed.status != 0, "apt takes a list that was changed: {changed:?}");
    Ok(())
}

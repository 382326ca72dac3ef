//! Who signs the repository for apt.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::peers::chore;
use tempfile::TempDir;

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
pub(crate) fn publish(folder: &Path, package: &Path, signer: &Signer) -> Result<()> {
    fs::copy(package, folder.join(package.file_name().context("a file")?))?;
    chore(&["apt", folder.to_str().context("UTF-8")?])?;
    signer.sign(folder)
}

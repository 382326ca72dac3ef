//! The source archive: the tree of the commit with the crates that it needs, from which a build needs no network.
//!
//! `yocto/` is left out, for its recipe has the archive's own checksum. The same tree makes the same bytes
//! (<https://reproducible-builds.org/docs/archives/>).

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use super::{
    super::{cargo, root},
    contents, said,
};

/// Makes it, and returns where it is.
pub(super) fn make(folder: &Path, version: &str) -> Result<PathBuf> {
    let name = format!("gatepost-{version}");
    let temporary = tempfile::tempdir()?;
    let tree = temporary.path().join(&name);
    unpack(temporary.path(), &name)?;
    vendor(&tree)?;
    let epoch = said(
        Command::new("git").args(["log", "-1", "--format=%ct", "--", ".", ":!yocto"]).current_dir(root()),
    )?;
    let file = folder.join(contents::archive(version));
    let packed = Command::new("tar")
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw,a-s"])
        .args(["--format=posix", "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"])
        .arg(format!("--mtime=@{epoch}"))
        .args(["--use-compress-program=xz -T1 -6", "--create", "--file"])
        .arg(&file)
        .arg("--directory")
        .args([temporary.path(), Path::new(&name)])
        .status()
        .context("cannot run tar")?;
    ensure!(packed.success(), "tar: {packed}");
    println!("{}: {} bytes", file.display(), fs::metadata(&file)?.len());
    Ok(file)
}

/// The files of the commit, as they are there.
fn unpack(into: &Path, name: &str) -> Result<()> {
    let mut archive = Command::new("git")
        .args(["archive", "--format=tar", &format!("--prefix={name}/"), "HEAD", "--", ".", ":!yocto"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run git")?;
    let stdout = archive.stdout.take().context("git writes")?;
    let unpacked = Command::new("tar").args(["--extract", "--directory"]).arg(into).stdin(stdout).status()?;
    let archived = archive.wait()?;
    ensure!(unpacked.success() && archived.success(), "git archive: {archived}, tar: {unpacked}");
    Ok(())
}

/// Puts the crates beside the tree, and has its cargo take them from there.
fn vendor(tree: &Path) -> Result<()> {
    let told = said(
        cargo().args(["vendor", "--quiet", "--locked", "--versioned-dirs", "vendor"]).current_dir(tree),
    )?;
    let config = tree.join(".cargo/config.toml");
    let own = fs::read_to_string(&config)?;
    fs::write(
        &config,
        format!("{own}\n# The crates of this release, so that a build needs no network.\n{told}\n"),
    )?;
    Ok(())
}

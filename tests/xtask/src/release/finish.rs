//! The end of a release: what was signed elsewhere is checked, and the checksums of all of it are written, to be signed in their turn.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use super::{
    super::{cargo, run},
    BOARDS,
    contents::{self, SIGNATURE, SUMS},
    files,
};

/// Checks the release in a folder. Without its checksums it writes them, and says that they are to be signed.
pub(super) fn finish(folder: &Path, version: &str, trusted: Option<&Path>, key: Option<&Path>) -> Result<()> {
    contents::check(&files(folder)?, version)?;
    let trusted = trusted
        .context("name the first root, which signed the firmware or leads to who did: --root root.1")?;
    for board in BOARDS {
        let release = folder.join(contents::signed(board, version));
        let image = folder.join(contents::image(board, version));
        ensure!(
            fs::read(&release)?.ends_with(&fs::read(&image)?),
            "{} is of another image than {}: sign it again",
            release.display(),
            image.display()
        );
        sign(
            &["release", "verify"],
            &[&release],
            &[("--root", trusted), ("--for-board", board.name().as_ref())],
        )?;
    }
    repository(&folder.join("apt"))?;
    let sums = sums(folder)?;
    let file = folder.join(SUMS);
    if !folder.join(SIGNATURE).exists() {
        fs::write(&file, sums)?;
        bail!(
            "not yet: {} is written. Sign it with gatepost-sign file sign {SUMS} --key release.key, and run this again \
             with --key release.pub",
            file.display()
        );
    }
    ensure!(
        fs::read_to_string(&file)? == sums,
        "{SUMS} is not what is in {}: take {SIGNATURE} away, and run this again",
        folder.display()
    );
    let key = key.context("name the public key that signed SHA256SUMS: --key release.pub")?;
    sign(&["file", "verify"], &[&file], &[("--pub", key)])?;
    println!("{} is complete", folder.display());
    Ok(())
}

/// Checks that the repository for apt is signed as it is, by the key that it names.
fn repository(folder: &Path) -> Result<()> {
    let signed = folder.join("InRelease");
    ensure!(
        cleared(&fs::read_to_string(&signed)?) == fs::read_to_string(folder.join("Release"))?,
        "apt/InRelease is not apt/Release, signed: gpg --clearsign --output apt/InRelease apt/Release"
    );
    let mut gpgv = Command::new("gpgv");
    gpgv.args(["--quiet", "--keyring"]).arg(folder.join("key.gpg")).arg(&signed);
    run(&mut gpgv)
        .context("apt/key.gpg did not sign apt/InRelease, or gpgv is not here: apt-get install gpgv")
}

fn sign(command: &[&str], files: &[&Path], options: &[(&str, &Path)]) -> Result<()> {
    let mut sign = cargo();
    sign.args(["run", "--quiet", "--locked", "--package", "gatepost-sign", "--"]).args(command).args(files);
    for (name, value) in options {
        sign.arg(name).arg(value);
    }
    run(&mut sign)
}

/// The lines that a clear signature is of (RFC 9580, 7.1).
fn cleared(text: &str) -> String {
    let signed = text.split_once("\n\n").map_or("", |(_, rest)| rest);
    let signed = signed.split_once("-----BEGIN PGP SIGNATURE-----").map_or("", |(signed, _)| signed);
    signed.lines().map(|line| format!("{}\n", line.strip_prefix("- ").unwrap_or(line))).collect()
}

/// The checksums of all files, as `sha256sum --check` reads them.
fn sums(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for path in files(folder)? {
        if [PathBuf::from(SUMS), PathBuf::from(SIGNATURE)].contains(&path) {
            continue;
        }
        let hash = Sha256::digest(fs::read(folder.join(&path))?);
        text += &format!("{hash:x}  {}\n", path.display());
    }
    ensure!(!text.is_empty(), "{}: there is nothing in it", folder.display());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_clear_signature_is_of_is_read_without_its_frame() {
        let signed = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nOrigin: Gatepost\n- - a line\n\
                      -----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n";
        assert_eq!(cleared(signed), "Origin: Gatepost\n- a line\n");
        assert_eq!(cleared("nothing"), "");
    }

    #[test]
    fn checksums_are_of_everything_but_themselves() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("apt")).unwrap();
        for name in ["b", "apt/a", SUMS, SIGNATURE] {
            fs::write(folder.path().join(name), "abc").unwrap();
        }
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums(folder.path()).unwrap(), format!("{hash}  apt/a\n{hash}  b\n"));
    }
}

//! The end of a release: what was signed elsewhere is checked, and the checksums of all of it are written, to be signed in their turn.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use super::{
    super::{cargo, run},
    BOARDS, files,
};

const SUMS: &str = "SHA256SUMS";
const SIGNATURE: &str = "SHA256SUMS.minisig";

/// Checks the release in a folder. Without its checksums it writes them, and says that they are to be signed.
pub(super) fn finish(folder: &Path, version: &str, trusted: Option<&Path>, key: Option<&Path>) -> Result<()> {
    for board in BOARDS {
        let release = folder.join(format!("gatepost-{}-{version}.gpu", board.name()));
        ensure!(release.exists(), "{} is missing: sign it with gatepost-sign", release.display());
        let trusted = trusted.context("name the root that the firmware was signed by: --root root.N")?;
        sign(&["release", "verify"], &[&release], &[("--root", trusted)])?;
    }
    let repository = folder.join("apt");
    ensure!(repository.join("InRelease").exists(), "apt/InRelease is missing: gpg --clearsign apt/Release");
    ensure!(
        cleared(&fs::read_to_string(repository.join("InRelease"))?)
            == fs::read_to_string(repository.join("Release"))?,
        "apt/InRelease is not apt/Release, signed"
    );
    let sums = sums(folder)?;
    let file = folder.join(SUMS);
    if !folder.join(SIGNATURE).exists() {
        fs::write(&file, sums)?;
        bail!(
            "wrote {}: sign it with gatepost-sign file sign, and run this again with --key",
            file.display()
        );
    }
    ensure!(fs::read_to_string(&file)? == sums, "{SUMS} is not what is in {}", folder.display());
    let key = key.context("name the public key that signed SHA256SUMS: --key FILE")?;
    sign(&["file", "verify"], &[&file], &[("--key", key)])?;
    println!("{} is complete", folder.display());
    Ok(())
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

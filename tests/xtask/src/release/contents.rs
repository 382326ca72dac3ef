//! What a release consists of, by the names of its files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

use super::BOARDS;
use crate::{
    deb::{self, Architecture},
    firmware::Board,
};

pub(super) const NOTES: &str = "NOTES.md";
pub(super) const SUMS: &str = "SHA256SUMS";
pub(super) const SIGNATURE: &str = "SHA256SUMS.minisig";

pub(super) fn archive(version: &str) -> String {
    format!("gatepost-{version}.tar.xz")
}

pub(super) fn sbom(version: &str) -> String {
    format!("gatepost-{version}.cdx.json")
}

/// The root that the programs of this release trust.
pub(super) fn root(version: &str) -> String {
    format!("gatepost-{version}.root")
}

/// The whole flash of a board.
pub(super) fn flash(board: Board, version: &str) -> String {
    format!("gatepost-{}-{version}.bin", board.name())
}

/// The firmware of a board, as it lies in a slot.
pub(super) fn image(board: Board, version: &str) -> String {
    format!("gatepost-{}-{version}.ota.bin", board.name())
}

/// The same, signed.
pub(super) fn signed(board: Board, version: &str) -> String {
    format!("gatepost-{}-{version}.gpu", board.name())
}

/// Everything but the checksums and their signature.
fn all(version: &str) -> BTreeSet<PathBuf> {
    let mut all: BTreeSet<PathBuf> = [NOTES.into(), archive(version), sbom(version), root(version)]
        .into_iter()
        .map(PathBuf::from)
        .collect();
    for board in BOARDS {
        all.extend([flash(board, version), image(board, version), signed(board, version)].map(PathBuf::from));
    }
    let repository = Path::new("apt");
    all.extend(Architecture::ALL.map(|of| repository.join(deb::file_name(of, version))));
    all.extend(
        ["Packages", "Packages.gz", "Release", "InRelease", "key.gpg"].map(|name| repository.join(name)),
    );
    all
}

/// Checks that these files are all that there should be, and no others: what is forgotten, and what should never leave its machine.
/// A bundle for RAUC may be among them, which `bitbake` makes elsewhere.
pub(super) fn check(files: &[PathBuf], version: &str) -> Result<()> {
    let wanted = all(version);
    let is_more = |file: &&PathBuf| {
        let is_sum = [Path::new(SUMS), Path::new(SIGNATURE)].contains(&file.as_path());
        !wanted.contains(*file) && !is_sum && file.extension().is_none_or(|end| end != "raucb")
    };
    let missing = wanted.iter().filter(|file| !files.contains(file));
    let missing = missing.map(|file| format!("{} is missing: {}", file.display(), remedy(file)));
    let more = files
        .iter()
        .filter(is_more)
        .map(|file| format!("{} is not of a release: take it away", file.display()));
    let wrong: Vec<String> = missing.chain(more).collect();
    ensure!(wrong.is_empty(), "the release is not whole:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// How a file that is missing is made.
fn remedy(file: &Path) -> &'static str {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name {
        "InRelease" => "gpg --clearsign --output apt/InRelease apt/Release",
        "key.gpg" => "gpg --export --output apt/key.gpg KEY",
        NOTES => "cargo xtask release VERSION --only notes",
        _ if name.ends_with(".gpu") => "sign the image with gatepost-sign release sign",
        _ if name.ends_with(".tar.xz") => "cargo xtask release VERSION --only archive",
        _ if name.ends_with(".cdx.json") => "cargo xtask release VERSION --only sbom",
        _ if file.starts_with("apt") => "cargo xtask release VERSION --only packages",
        _ => "cargo xtask release VERSION --only firmware",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_and_what_is_too_much_are_named_with_what_to_do() {
        let mut files: Vec<PathBuf> = all("1.2.3").into_iter().collect();
        check(&files, "1.2.3").unwrap();
        files.extend([SUMS, SIGNATURE, "gatepost-rpi4.raucb"].map(PathBuf::from));
        check(&files, "1.2.3").unwrap();
        files.push("release.key".into());
        let said = check(&files, "1.2.3").unwrap_err().to_string();
        assert!(said.contains("release.key is not of a release"), "{said}");
        for (name, remedy) in [
            ("apt/InRelease", "--clearsign"),
            ("gatepost-esp32c3-1.2.3.gpu", "release sign"),
            (NOTES, "--only notes"),
        ] {
            let without: Vec<PathBuf> =
                files.iter().filter(|file| **file != Path::new(name)).cloned().collect();
            let said = check(&without, "1.2.3").unwrap_err().to_string();
            assert!(said.contains(&format!("{name} is missing")) && said.contains(remedy), "{said}");
        }
    }
}

//! `cargo xtask yocto-check`: what the Yocto layer says in two places is the same in both, and it holds no key.
//!
//! Nobody builds the layer here: bitbake fetches hundreds of sources. What can drift apart without a build is compared instead:
//! versions, licences, files that the recipe installs, numbers of partitions, and the release's archive with the recipe.
//! `oelint-adv` and kas judge the rest (`tests/tests/guides/yocto.rs`).

mod layer;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::VERSION;
use layer::Layer;

const DISTRO: &str = "conf/distro/gatepost-os.conf";
const IMAGE: &str = "recipes-core/images/gatepost-image.bb";
const SYSTEM: &str = "recipes-gatepost/gatepost-system/files";
const BOOT_SCRIPT: &str = "dynamic-layers/raspberrypi/recipes-bsp/rpi-u-boot-scr/files/boot.cmd.in";
const RAUC: &str = "dynamic-layers/rauc/recipes-core/rauc/files/raspberrypi4-64/system.conf";

/// What is compared.
#[derive(clap::Args)]
pub(crate) struct Wanted {
    /// The release's source archive: the recipe has its name and its checksum, and it has what the recipe wants of it.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

/// Fails with everything that does not fit.
pub(crate) fn check(root: &Path, wanted: &Wanted) -> Result<()> {
    let layer = Layer::read(root)?;
    let mut wrong = problems(root, &layer)?;
    if let Some(archive) = &wanted.archive {
        wrong.extend(archive_problems(&layer, archive)?);
    }
    ensure!(wrong.is_empty(), "the layer does not fit:\n{}", wrong.join("\n"));
    println!("yocto/meta-gatepost: {} files fit", layer.len());
    Ok(())
}

fn recipe() -> PathBuf {
    format!("recipes-gatepost/gatepost/gatepost_{VERSION}.bb").into()
}

fn problems(root: &Path, layer: &Layer) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    versions(layer, &mut wrong)?;
    sources(root, layer, &mut wrong)?;
    as_the_hub_is_built(root, layer, &mut wrong)?;
    partitions(layer, &mut wrong)?;
    wrong.extend(layer.unbound_appends());
    wrong.extend(layer.missing_files());
    wrong.extend(layer.keys());
    Ok(wrong)
}

fn versions(layer: &Layer, wrong: &mut Vec<String>) -> Result<()> {
    for other in layer.named("recipes-gatepost/gatepost/gatepost_").filter(|path| **path != recipe()) {
        wrong.push(format!("{}: the workspace's version is {VERSION}", other.display()));
    }
    layer.expect(DISTRO, &format!("DISTRO_VERSION = \"{VERSION}\"\n"), wrong)
}

/// What the recipe takes: one archive, its licences as they are, and files that there are.
fn sources(root: &Path, layer: &Layer, wrong: &mut Vec<String>) -> Result<()> {
    let recipe = recipe();
    layer.expect(&recipe, "\nSRC_URI = \"${GATEPOST_RELEASES}/${BP}.tar.xz\"\n", wrong)?;
    let more = layer
        .text(&recipe)?
        .lines()
        .filter(|line| line.starts_with("SRC_URI:") || line.starts_with("SRC_URI +"));
    wrong.extend(more.map(|line| format!("{}: more than the release's archive: {line}", recipe.display())));
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        layer.expect(&recipe, &format!("file://{name};md5={}", md5(&root.join(name))?), wrong)?;
    }
    for path in layer.installed(&recipe)?.into_iter().filter(|path| !root.join(path).is_file()) {
        wrong.push(format!("{}: installs {path}, which is not in the repository", recipe.display()));
    }
    Ok(())
}

/// The flags of `cargo xtask hub`.
fn as_the_hub_is_built(root: &Path, layer: &Layer, wrong: &mut Vec<String>) -> Result<()> {
    let hub = fs::read_to_string(root.join("tests/xtask/src/hub.rs")).context("hub.rs")?;
    for name in ["CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "CARGO_PROFILE_RELEASE_LTO"] {
        let value = hub.split_once(&format!("\"{name}\", \"")).and_then(|(_, rest)| rest.split('"').next());
        let value = value.with_context(|| format!("hub.rs does not set {name} any more"))?;
        layer.expect(recipe(), &format!("export {name} = \"{value}\"\n"), wrong)?;
    }
    let flag = "-Cforce-unwind-tables=no";
    ensure!(hub.contains(flag), "hub.rs does not say {flag} any more");
    layer.expect(recipe(), flag, wrong)
}

/// The numbers of the partitions follow from their order in the description of the card.
fn partitions(layer: &Layer, wrong: &mut Vec<String>) -> Result<()> {
    let card = layer.partitions("files/wic/gatepost-rpi.wks.in")?;
    let of =
        |label: &str| card(label).with_context(|| format!("gatepost-rpi.wks.in has no partition {label}"));
    let (boot, data) = (of("boot")?, of("data")?);
    for (label, slot) in [("root-a", "A"), ("root-b", "B")] {
        let number = of(label)?;
        layer.expect(
            BOOT_SCRIPT,
            &format!("env set slot {slot}\n    env set partition {number}\n"),
            wrong,
        )?;
        layer.expect(RAUC, &format!("device=/dev/mmcblk0p{number}\ntype=ext4\nbootname={slot}\n"), wrong)?;
    }
    layer.expect(format!("{SYSTEM}/boot.mount"), &format!("What=/dev/mmcblk0p{boot}\n"), wrong)?;
    layer.expect(IMAGE, &format!("OVERLAYFS_ETC_DEVICE:rpi = \"/dev/mmcblk0p{data}\"\n"), wrong)?;

    let disk = layer.partitions("files/wic/gatepost-qemu.wks.in")?;
    let of =
        |label: &str| disk(label).with_context(|| format!("gatepost-qemu.wks.in has no partition {label}"));
    layer.expect(IMAGE, &format!("OVERLAYFS_ETC_DEVICE:qemuarm64 = \"/dev/vda{}\"\n", of("data")?), wrong)?;
    layer.expect(IMAGE, &format!("QB_KERNEL_ROOT:qemuarm64 = \"/dev/vda{} ro\"\n", of("root")?), wrong)
}

/// The release's archive is the one that the recipe names, with all that it wants of it.
fn archive_problems(layer: &Layer, archive: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let (recipe, folder) = (recipe(), format!("gatepost-{VERSION}"));
    let name = format!("{folder}.tar.xz");
    if !archive.ends_with(&name) {
        wrong.push(format!("{}: the recipe wants {name}", archive.display()));
    }
    let mut digest = Sha256::new();
    let mut file = fs::File::open(archive).with_context(|| archive.display().to_string())?;
    std::io::copy(&mut file, &mut digest)?;
    let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    layer.expect(&recipe, &format!("SRC_URI[sha256sum] = \"{digest}\"\n"), &mut wrong)?;

    let listed = Command::new("tar").arg("-tf").arg(archive).output().context("cannot start tar")?;
    ensure!(listed.status.success(), "tar: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).context("names in the archive")?;
    let mut needed = layer.installed(&recipe)?;
    needed.extend(["LICENSE-MIT", "LICENSE-APACHE", "Cargo.lock", ".cargo/config.toml"].map(String::from));
    for path in needed {
        if !listed.lines().any(|line| line.strip_prefix(&*folder) == Some(&format!("/{path}"))) {
            wrong.push(format!("{}: {folder}/{path} is missing", archive.display()));
        }
    }
    let has = |name: &str| listed.lines().any(|line| line.starts_with(&format!("{folder}/{name}/")));
    if !has("vendor") {
        wrong.push(format!("{}: {folder}/vendor is missing", archive.display()));
    }
    if has("yocto") {
        wrong.push(format!(
            "{}: {folder}/yocto is in it, and would have to hold its checksum",
            archive.display()
        ));
    }
    Ok(wrong)
}

/// Bitbake compares licences by MD5. Coreutils know it; no crate here does.
fn md5(file: &Path) -> Result<String> {
    let output = Command::new("md5sum").arg(file).output().context("cannot start md5sum")?;
    ensure!(output.status.success(), "md5sum: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().next().context("md5sum said nothing")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    /// What is wrong with the layer if `from` is `to` in one of its files.
    fn wrong_with(file: impl AsRef<Path>, from: &str, to: &str) -> Vec<String> {
        let mut layer = Layer::read(&root()).expect("the layer is readable");
        layer.replace(file.as_ref(), from, to);
        problems(&root(), &layer).expect("what it is compared with is readable")
    }

    #[test]
    fn the_layer_fits_the_repository() {
        check(&root(), &Wanted { archive: None }).expect("it fits");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let fits = wrong_with(recipe(), "", "");
        let version = format!("\"{VERSION}\"");
        let append = "recipes-kernel/linux/linux-yocto_%.bbappend";
        for (file, from, to) in [
            (PathBuf::from(DISTRO), &*version, "\"9.9.9\""),
            (recipe(), "md5=2ccb", "md5=0000"),
            (recipe(), "LTO = \"fat\"", "LTO = \"thin\""),
            (recipe(), "systemd/gatepost.service ${D}", "systemd/nothing.service ${D}"),
            (recipe(), "inherit cargo", "SRC_URI:append = \" file://a.patch\"\ninherit cargo"),
            (append.into(), "SRC_URI:append:gatepost-os", "SRC_URI:append"),
            (append.into(), "file://gatepost.cfg", "file://nothing.cfg"),
            (RAUC.into(), "/dev/mmcblk0p3", "/dev/mmcblk0p2"),
            (BOOT_SCRIPT.into(), "partition 2", "partition 1"),
            (IMAGE.into(), "/dev/mmcblk0p4", "/dev/mmcblk0p5"),
            (RAUC.into(), "[keyring]", "-----BEGIN CERTIFICATE-----\n[keyring]"),
        ] {
            let wrong = wrong_with(&file, from, to);
            assert!(wrong.iter().any(|line| !fits.contains(line)), "{}: {to} is not noticed", file.display());
        }
    }

    #[test]
    fn an_archive_has_the_recipes_name_checksum_and_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = folder.path().join("other.tar.xz");
        let tar =
            Command::new("tar").arg("-cJf").arg(&archive).arg("-C").arg(root()).arg("LICENSE-MIT").status();
        assert!(tar.expect("tar is there").success());
        let wrong =
            archive_problems(&Layer::read(&root()).expect("the layer"), &archive).expect("it is read");
        let wrong = wrong.join("\n");
        for part in
            [".tar.xz", "sha256sum", "LICENSE-MIT is missing", "vendor is missing", "gatepost.service"]
        {
            assert!(wrong.contains(part), "{part} is not in:\n{wrong}");
        }
    }
}

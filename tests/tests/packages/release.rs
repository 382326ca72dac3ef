//! A release from its first command to its last: made, signed elsewhere, ended, and looked at by a stranger who has the public keys
//! and nothing else. What takes long to build has stand-ins; names, lists, signatures and refusals are those of every release.
//!
//! Installed by `tests/run --setup-only`: GnuPG, minisign, CycloneDX's library.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::update::Version;
use gatepost_sign::image::Board;
use gatepost_tests::peers;
use tempfile::TempDir;

use super::{made::Packages, signer::Signer};

/// The longest that a judge may take.
const LONGEST: Duration = Duration::from_secs(60);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A release that is being made, and the machine with the keys.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Result<Self> {
        let desk = Self { folder: tempfile::tempdir()? };
        fs::create_dir(desk.path("built"))?;
        let program = Packages::get()?.program();
        for architecture in ["amd64", "arm64", "armhf"] {
            fs::copy(program, desk.path(&format!("built/gatepost-{architecture}")))?;
        }
        fs::copy(program.with_file_name("gatepost-flash"), desk.path("built/gatepost-flash"))?;
        fs::write(desk.path(&format!("built/gatepost-{VERSION}.tar.xz")), "the source")?;
        let version = Version::new(VERSION).context("the workspace's version")?;
        for board in Board::ALL {
            let image = board.image_with(version, b"firmware");
            fs::write(desk.path(&format!("built/gatepost-{}-{VERSION}.ota.bin", board.name())), image)?;
            fs::write(desk.path(&format!("built/gatepost-{}-{VERSION}.bin", board.name())), "the flash")?;
        }
        Ok(desk)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn release(&self) -> PathBuf {
        self.path("release")
    }

    /// `cargo xtask release`, in the repository.
    fn chore(&self, arguments: &[&str]) -> Result<Output> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["xtask", "release", VERSION, "--into"]).arg(self.release()).args(arguments);
        Ok(cargo.current_dir(root).env_remove("GATEPOST_ROOT").output()?)
    }

    fn make(&self, arguments: &[&str]) -> Result<()> {
        let built = self.path("built");
        let made = self.chore(&[&["--rehearse", built.to_str().context("UTF-8")?], arguments].concat())?;
        ensure!(made.status.success(), "{}", said(&made));
        Ok(())
    }

    /// `--finish`, which is to refuse, and to say this.
    fn refuses(&self, because: &str) -> Result<()> {
        let ended = self.finish()?;
        ensure!(!ended.status.success() && said(&ended).contains(because), "{because}: {}", said(&ended));
        Ok(())
    }

    fn finish(&self) -> Result<Output> {
        let path = |name: &str| self.path(name).to_str().map(str::to_owned).context("UTF-8");
        self.chore(&["--finish", "--root", &path("root.1")?, "--key", &path("release.pub")?])
    }

    /// `gatepost-sign` with these words, in the folder of keys.
    fn sign(&self, words: &str) -> Result<()> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/sign/Cargo.toml");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["run", "--quiet", "--locked", "--manifest-path"]).arg(manifest).arg("--");
        let signed = cargo.args(words.split(' ')).current_dir(self.folder.path()).output()?;
        ensure!(signed.status.success(), "gatepost-sign {words}: {}", said(&signed));
        Ok(())
    }

    fn keys_and_root(&self) -> Result<()> {
        for name in ["root", "release"] {
            self.sign(&format!("key new {name}.key --no-password"))?;
        }
        self.sign(
            "root new --root-key root.pub --threshold 1 --release-key release.pub --release-threshold 1 -o root.1",
        )?;
        self.sign("root sign root.1 --key root.key --yes")
    }

    /// Signs each image that is there.
    fn sign_firmware(&self) -> Result<()> {
        for board in Board::ALL.map(Board::name) {
            let name = format!("release/gatepost-{board}-{VERSION}");
            if !self.path(&format!("{name}.ota.bin")).exists() {
                continue;
            }
            self.sign(&format!(
                "release sign --image {name}.ota.bin --board {board} --version {VERSION} --floor {VERSION} \
                 --expires 2099-01-01 --root root.1 --key release.key --yes -o {name}.gpu"
            ))?;
        }
        Ok(())
    }

    /// Whether a program of a stranger's is content, in the folder of the release.
    fn stranger(&self, program: &str, arguments: &[&str]) -> Result<bool> {
        let mut program = Command::new(program);
        let ended = program.args(arguments).current_dir(self.release()).output();
        Ok(ended.context("run `tests/run --setup-only`")?.status.success())
    }
}

fn said(output: &Output) -> String {
    [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat()
}

#[test]
fn a_release_is_made_signed_elsewhere_ended_and_verified_by_a_stranger() -> Result<()> {
    let desk = Desk::new()?;
    desk.refuses("make the release first")?;
    desk.make(&[])?;
    desk.refuses("apt/InRelease is missing: gpg --clearsign")?;
    desk.refuses(".gpu is missing: sign the image")?;

    desk.keys_and_root()?;
    desk.sign_firmware()?;
    let signer = Signer::new()?;
    signer.sign(&desk.release().join("apt"))?;
    // A key that went along by mistake stays no secret: the release is not ended with it.
    fs::copy(desk.path("release.key"), desk.release().join("release.key"))?;
    desk.refuses("release.key is not of a release")?;
    fs::remove_file(desk.release().join("release.key"))?;
    desk.refuses("gatepost-sign file sign SHA256SUMS")?;
    desk.sign("file sign release/SHA256SUMS --key release.key --yes")?;
    let ended = desk.finish()?;
    ensure!(ended.status.success() && said(&ended).contains("is complete"), "{}", said(&ended));

    let public = desk.path("release.pub");
    let verify = ["-Vm", "SHA256SUMS", "-p", public.to_str().context("UTF-8")?];
    let check = ["--check", "--strict", "--quiet", "SHA256SUMS"];
    ensure!(desk.stranger("minisign", &verify)? && desk.stranger("sha256sum", &check)?);

    // One byte more anywhere, and nobody takes it.
    let archive = desk.release().join(format!("gatepost-{VERSION}.tar.xz"));
    fs::write(&archive, "the source.")?;
    ensure!(!desk.stranger("sha256sum", &check)?);
    desk.refuses("SHA256SUMS is not what is in")?;
    desk.make(&["--only", "archive"])?;
    ensure!(desk.finish()?.status.success(), "one part made anew is the same part");
    let sums = fs::read_to_string(desk.release().join("SHA256SUMS"))?;
    fs::write(desk.release().join("SHA256SUMS"), sums + "\n")?;
    ensure!(!desk.stranger("minisign", &verify)?);
    Ok(())
}

#[test]
fn a_release_of_a_tree_without_its_tag_or_without_a_root_is_refused_with_what_to_do() -> Result<()> {
    let desk = Desk { folder: tempfile::tempdir()? };
    let refused = desk.chore(&["--only", "notes"])?;
    let said = said(&refused);
    let reasons = ["commit or take back", "there is no tag", "and this is", "GATEPOST_ROOT=FILE names"];
    ensure!(!refused.status.success() && reasons.iter().any(|reason| said.contains(reason)), "{said}");
    ensure!(!desk.release().exists(), "something was made all the same");
    Ok(())
}

/// What CycloneDX's own library says of a list of parts, by the strict schema of 1.6.
fn judge(sbom: &Path) -> Result<String> {
    let mut judge = Command::new(peers::python()?);
    peers::step(judge.arg(peers::file("sbom-check.py")).arg(sbom), LONGEST)
}

#[test]
fn cyclonedx_takes_the_list_of_parts_by_its_strict_schema_and_would_refuse_another() -> Result<()> {
    let desk = Desk::new()?;
    desk.make(&["--only", "sbom"])?;
    let sbom = desk.release().join(format!("gatepost-{VERSION}.cdx.json"));
    let text = fs::read_to_string(&sbom)?;
    judge(&sbom)?;
    desk.make(&["--only", "sbom"])?;
    ensure!(fs::read_to_string(&sbom)? == text, "two lists of one tree differ");
    for (from, to) in [
        ("\"bomFormat\"", "\"bomFormats\""),
        ("\"alg\": \"SHA-256\"", "\"alg\": \"SHA256\""),
        ("urn:uuid:", "uuid:"),
    ] {
        ensure!(text.contains(from), "{from} is not there");
        fs::write(&sbom, text.replacen(from, to, 1))?;
        ensure!(judge(&sbom).is_err(), "{to} is taken");
    }
    Ok(())
}

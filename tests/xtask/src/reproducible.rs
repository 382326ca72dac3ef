//! The repository in two folders of other names and lengths, with another `CARGO_HOME`: the same bytes come of both.
//!
//! The gate compares QEMU's image as it is, and the hub unoptimised: paths, times and the order of files show there too, in minutes and
//! not in half an hour. Of the two folders one is where the tests have built them anyway. Before a release, `--release` compares the very
//! programs that are released, built in two copies.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};

use super::{
    ROOT,
    deb::{epoch, said},
    root,
};

/// What is compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Wanted {
    /// The hub for a PC as it is released, and the images of the boards that are: half an hour.
    #[arg(long)]
    release: bool,
}

/// What is built in each folder, by chores that say last where it is. The gate's are those that the tests start.
const IN_THE_GATE: [&[&str]; 2] = [&["firmware", "qemu-virt"], &["hub", "armv7", "--unoptimized"]];
const RELEASED: [&[&str]; 3] =
    [&["firmware", "qemu-virt"], &["image", "esp32c3", "--ota"], &["hub", "x86-64"]];

/// The repository in a folder.
struct Place {
    folder: PathBuf,
    /// Where it is built.
    target: PathBuf,
    /// Its `CARGO_HOME`; nothing where that is left as it is.
    home: Option<PathBuf>,
}

/// Builds everything twice, and fails with the first that differs.
pub(crate) fn compare(wanted: &Wanted) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let tree = tree()?;
    let copy = |name: &str| Place::copy(&temporary.path().join(name), &tree);
    let first = if wanted.release { copy("one")? } else { Place::here() };
    let second = copy("another one/in a folder of another name")?;
    let builds: &[&[&str]] = if wanted.release { &RELEASED } else { &IN_THE_GATE };
    for build in builds {
        let began = Instant::now();
        let [one, other] = [first.build(build)?, second.build(build)?];
        same(build, &one, &other)?;
        println!("{}: the same bytes twice, {} s", build.join(" "), began.elapsed().as_secs());
    }
    Ok(())
}

/// What git has of the tree as it is: the commit, or what is changed beside it. What git does not know yet is left out.
fn tree() -> Result<String> {
    let git = |arguments: &[&str]| said(Command::new("git").args(arguments).current_dir(root()));
    let changed = git(&["stash", "create"]).context("it takes a clone, not the source archive")?;
    if changed.is_empty() { git(&["rev-parse", "HEAD"]) } else { Ok(changed) }
}

impl Place {
    /// The checkout itself.
    fn here() -> Self {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        Self { folder: root(), target: root().join(target), home: None }
    }

    /// A copy of it, with a `CARGO_HOME` of its own.
    fn copy(within: &Path, tree: &str) -> Result<Self> {
        let (folder, home) = (within.join("gatepost"), within.join("home"));
        let copy = Self { target: folder.join("target"), folder, home: Some(home) };
        fs::create_dir_all(&copy.folder)?;
        let mut archive = Command::new("git")
            .args(["archive", "--format=tar", tree])
            .current_dir(root())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run git")?;
        let stdout = archive.stdout.take().context("git writes")?;
        let unpacked = Command::new("tar")
            .args(["--extract", "--directory"])
            .arg(&copy.folder)
            .stdin(stdout)
            .status()?;
        let archived = archive.wait()?;
        ensure!(unpacked.success() && archived.success(), "git archive: {archived}, tar: {unpacked}");
        copy.furnish()?;
        Ok(copy)
    }

    /// Its `CARGO_HOME`, with what was fetched already.
    fn furnish(&self) -> Result<()> {
        let Some(home) = &self.home else { return Ok(()) };
        fs::create_dir_all(home)?;
        let Some(ours) = super::paths::cargo_home() else { return Ok(()) };
        for entry in fs::read_dir(&ours).into_iter().flatten() {
            let entry = entry?;
            symlink(entry.path(), home.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// Has a chore done here, and returns what it says last: where the program is.
    fn build(&self, chore: &[&str]) -> Result<PathBuf> {
        let made = Command::new(env::current_exe()?)
            .args(chore)
            .env(ROOT, &self.folder)
            .envs(self.home.as_ref().map(|home| ("CARGO_HOME", home)))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0")
            .env("SOURCE_DATE_EPOCH", epoch()?)
            .stderr(Stdio::inherit())
            .output()?;
        let printed = String::from_utf8(made.stdout)?;
        ensure!(made.status.success(), "cargo xtask {}: {}\n{printed}", chore.join(" "), made.status);
        Ok(printed.lines().next_back().context("it says last what it made")?.into())
    }
}

/// Fails if two programs differ, and keeps both for whoever looks for the reason.
fn same(build: &[&str], one: &Path, other: &Path) -> Result<()> {
    let (first, second) = (fs::read(one)?, fs::read(other)?);
    if first == second {
        return Ok(());
    }
    let kept = root().join("target/reproducible");
    fs::create_dir_all(&kept)?;
    let name = one.file_name().context("a file")?.to_string_lossy();
    let [one, other] = ["1", "2"].map(|which| kept.join(format!("{name}.{which}")));
    fs::write(&one, &first)?;
    fs::write(&other, &second)?;
    let at = first.iter().zip(&second).position(|(a, b)| a != b).unwrap_or(first.len().min(second.len()));
    anyhow::bail!(
        "{}: {} and {} bytes that differ from byte {at} on: diffoscope {} {}",
        build.join(" "),
        first.len(),
        second.len(),
        one.display(),
        other.display()
    )
}

//! Chores of this repository: `cargo xtask --help`.

mod apt;
mod deb;
mod firmware;
mod fuzz;
mod hub;
mod new_channel;
mod notices;
mod paths;
mod release;
mod reproducible;
mod tests;
mod toolchain;
#[cfg(test)]
mod version;
mod yocto;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;

/// Chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Write the companion's golden screens and images, and the link's wire fixtures, anew. Look at them before you commit.
    Golden,
    /// Write `daemon/docs/configuration.md` anew, from the tables of keys.
    ConfigurationMd,
    /// Write `daemon/openapi.json` anew, from what the handlers say.
    Openapi,
    /// Build the companion's firmware for a board, and compare its size with the budget.
    Firmware {
        /// The board.
        board: firmware::Board,
    },
    /// Look for mistakes in a board's runner with clippy; warnings are errors.
    Lint {
        /// The board.
        board: firmware::Board,
    },
    /// Build the image of a board's whole flash.
    Image {
        /// The board.
        board: firmware::Board,
        /// The firmware alone, for an update over the air.
        #[arg(long)]
        ota: bool,
    },
    /// Try random inputs on everything that reads bytes from outside: each fuzz target for some seconds.
    Fuzz(fuzz::Wanted),
    /// Begin a channel: its folder in `daemon/src/channels`, and its line in the registry.
    NewChannel {
        /// Its name, as in targets: lower-case letters and digits.
        name: String,
    },
    /// Run all tests of the workspace: several test programs at a time, then what measures, alone. `tests/run` installs what they need.
    Test(tests::Wanted),
    /// Build the hub's program for another machine, and compare its size with the budget.
    Hub(hub::Wanted),
    /// Make a Debian package of the hub, with the service's files, man pages and completions.
    Deb(deb::Wanted),
    /// Make a repository for apt of the Debian packages in a folder. `Release` is to be signed elsewhere.
    Apt {
        /// The folder.
        folder: PathBuf,
    },
    /// Make everything that a release consists of, up to where keys are needed; and check what was signed.
    Release(release::Wanted),
    /// Build the hub and QEMU's image in two folders, and compare their bytes.
    Reproducible(reproducible::Wanted),
    /// Compare the Yocto layer with the repository, and with the release's source archive.
    YoctoCheck(yocto::Wanted),
}

/// What everything in this repository is released as.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The variable with the folder of another copy of the repository, in which to work.
const ROOT: &str = "XTASK_ROOT";

fn main() -> Result<()> {
    paths::become_rustc()?;
    match Chore::parse() {
        Chore::Golden => golden(),
        Chore::ConfigurationMd => configuration_md(),
        Chore::Openapi => openapi(),
        Chore::Firmware { board } => firmware::build(board).map(|_| ()),
        Chore::Lint { board } => firmware::lint(board),
        Chore::Image { board, ota: false } => firmware::image(board).map(|_| ()),
        Chore::Image { board, ota: true } => firmware::ota_image(board).map(|_| ()),
        Chore::Fuzz(wanted) => fuzz::fuzz(&wanted),
        Chore::NewChannel { name } => {
            println!("{}", new_channel::new_channel(&root(), &name)?);
            Ok(())
        }
        Chore::Test(wanted) => tests::run(&wanted),
        Chore::Hub(wanted) => hub::make(&wanted),
        Chore::Deb(wanted) => deb::make(&wanted).map(|_| ()),
        Chore::Apt { folder } => apt::index(&root().join(folder)),
        Chore::Release(wanted) => release::release(&wanted),
        Chore::Reproducible(wanted) => reproducible::compare(&wanted),
        Chore::YoctoCheck(wanted) => yocto::check(&root(), &wanted),
    }
}

fn golden() -> Result<()> {
    write_anew(&["--package", "gatepost-companion", "--lib", "golden"])?;
    write_anew(&["--package", "gatepost-link", "--lib", "wire"])?;
    show_changes(&["firmware/core/tests/golden", "shared/link/fixtures"])
}

fn configuration_md() -> Result<()> {
    write_anew(&["--package", "gatepost", "--lib", "the_guide_to_the_configuration"])?;
    show_changes(&["daemon/docs/configuration.md"])
}

fn openapi() -> Result<()> {
    write_anew(&["--package", "gatepost", "--lib", "the_document_is_what_the_handlers_say"])?;
    show_changes(&["daemon/openapi.json"])
}

/// Has tests write what they compare, then has them compare it. The first run fails on purpose, the second must not.
fn write_anew(tests: &[&str]) -> Result<()> {
    let written =
        cargo().arg("test").args(tests).env("GATEPOST_GOLDEN", "write").current_dir(root()).output()?;
    ensure!(!written.status.success(), "{tests:?} did not write: has GATEPOST_GOLDEN another name?");
    run(cargo().arg("test").args(tests))
}

fn show_changes(paths: &[&str]) -> Result<()> {
    run(Command::new("git").args(["--no-pager", "status", "--short", "--"]).args(paths))
}

/// Does this to all of them, begun in their order, so many at a time; what came of each, in the order in which they were done.
fn several<T: Send, R: Send>(all: Vec<T>, at_once: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let (waiting, done) = (Mutex::new(all.into_iter()), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(one) = next() {
                    let result = work(one);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.current_dir(root()).status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_xtask(&mut cargo);
    cargo
}

/// What the cargo that runs xtask says of xtask, build scripts of other packages would take for news about theirs: *ring* and all that
/// stands on it would be compiled anew.
fn forget_xtask(cargo: &mut Command) {
    const OF_A_PACKAGE: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if OF_A_PACKAGE.iter().any(|prefix| told.starts_with(prefix)) {
            cargo.env_remove(&name);
        }
    }
}

/// The repository: where this program was built, or another copy, which `reproducible` names.
fn root() -> PathBuf {
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it is in the tree").into();
    std::env::var_os(ROOT).map_or_else(here, PathBuf::from)
}

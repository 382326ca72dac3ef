//! Chores of this repository: `cargo xtask --help`.

mod firmware;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;

/// The stripped daemon, all channels: DESIGN's budget is for aarch64; a native build is close enough to warn early.
const DAEMON_BUDGET: u64 = 16 * 1024 * 1024;

/// Chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Write the companion's golden screens and images, and the link's wire fixtures, anew. Look at them before you commit.
    Golden,
    /// Build the companion's firmware for a board, and compare its size with the budget.
    Firmware {
        /// The board.
        board: firmware::Board,
    },
    /// Build the image of a board's whole flash.
    Image {
        /// The board.
        board: firmware::Board,
    },
    /// Build the stripped daemon and compare its size with the budget.
    Size,
}

fn main() -> Result<()> {
    match Chore::parse() {
        Chore::Golden => golden(),
        Chore::Firmware { board } => firmware::build(board).map(|_| ()),
        Chore::Image { board } => firmware::image(board).map(|_| ()),
        Chore::Size => size(),
    }
}

/// The tests that write fail on purpose; those that compare afterwards must not.
fn golden() -> Result<()> {
    for (package, tests) in [("gatepost-companion", "golden"), ("gatepost-link", "wire")] {
        let tests = ["test", "--package", package, "--lib", tests];
        let written = cargo().args(tests).env("GATEPOST_GOLDEN", "write").current_dir(root()).output()?;
        ensure!(!written.status.success(), "{package} did not write: has GATEPOST_GOLDEN another name?");
        run(cargo().args(tests))?;
    }
    let folders = ["firmware/core/tests/golden", "shared/link/fixtures"];
    run(Command::new("git").args(["--no-pager", "status", "--short", "--"]).args(folders))
}

fn size() -> Result<()> {
    run(cargo().args(["build", "--release", "--package", "gatepost", "--locked"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = target.join("release/gatepost");
    let bytes = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    println!("{bytes} bytes of {DAEMON_BUDGET}, {} %", bytes * 100 / DAEMON_BUDGET);
    ensure!(bytes <= DAEMON_BUDGET, "over the budget: look at it with cargo bloat, or say why it must grow");
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.current_dir(root()).status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

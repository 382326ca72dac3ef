//! Chores of this repository: `cargo xtask --help`.

mod firmware;
mod fuzz;
mod hub;
mod toolchain;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;

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
    /// Look for mistakes in a board's runner with clippy; warnings are errors.
    Lint {
        /// The board.
        board: firmware::Board,
    },
    /// Build the image of a board's whole flash.
    Image {
        /// The board.
        board: firmware::Board,
    },
    /// Try random inputs on everything that reads bytes from outside: each fuzz target for some seconds.
    Fuzz(fuzz::Wanted),
    /// Build the hub's program for another machine, and compare its size with the budget.
    Hub {
        /// The machine.
        machine: hub::Machine,
    },
}

fn main() -> Result<()> {
    match Chore::parse() {
        Chore::Golden => golden(),
        Chore::Firmware { board } => firmware::build(board).map(|_| ()),
        Chore::Lint { board } => firmware::lint(board),
        Chore::Image { board } => firmware::image(board).map(|_| ()),
        Chore::Fuzz(wanted) => fuzz::fuzz(&wanted),
        Chore::Hub { machine } => hub::build(machine).map(|_| ()),
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

//! The companion's firmware for one board: built, measured, and refused if it has grown over its budget.
//!
//! The boards are workspaces of their own, for a processor without a standard library. Whoever has rustup's target
//! builds with that; elsewhere Debian's compiler builds the library from its own source, as `tests/no-std` does.

mod size;
mod toolchain;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use clap::ValueEnum;

use super::{root, run};
use size::Size;

/// The largest image: what fits a slot of the partition table twice, with room to grow.
const FLASH_BUDGET: u64 = 1024 * 1024;
/// The most static RAM, heap included and the stack not: an ESP32-C3 has 400 KB, half of which its radio and its caches
/// may take.
const RAM_BUDGET: u64 = 200 * 1024;

/// What a companion runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Board {
    /// QEMU's riscv32 board `virt`.
    QemuVirt,
}

impl Board {
    fn folder(self) -> &'static str {
        match self {
            Self::QemuVirt => "qemu-virt",
        }
    }

    fn target(self) -> &'static str {
        match self {
            Self::QemuVirt => "riscv32imc-unknown-none-elf",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::QemuVirt => "gatepost-qemu-virt",
        }
    }

    /// Where its RAM begins and ends.
    fn ram(self) -> &'static [(u64, u64)] {
        match self {
            // memory.x
            Self::QemuVirt => &[(0x8010_0000, 0x8014_0000)],
        }
    }
}

/// Builds a board's firmware, prints its size, and returns where it is.
pub(crate) fn build(board: Board) -> Result<PathBuf> {
    let manifest = root().join("firmware").join(board.folder()).join("Cargo.toml");
    // Not in a board's own folder: one place for all that was built. Not in target/ itself: another compiler.
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let target = std::path::absolute(root().join(target).join("firmware"))?;
    let mut cargo: Command = toolchain::cargo(board.target())?;
    cargo.args(["build", "--release", "--locked", "--target", board.target(), "--manifest-path"]);
    cargo.arg(manifest).arg("--target-dir").arg(&target);
    run(&mut cargo)?;
    let program = target.join(board.target()).join("release").join(board.program());
    check(&program, board)?;
    println!("{}", program.display());
    Ok(program)
}

fn check(program: &Path, board: Board) -> Result<()> {
    let Size { flash, ram } = Size::of(program, board.ram())?;
    for (what, bytes, budget) in [("flash", flash, FLASH_BUDGET), ("RAM and heap", ram, RAM_BUDGET)] {
        println!("{}: {what} {bytes} bytes of {budget}, {} %", board.folder(), bytes * 100 / budget);
    }
    let over = "over the budget: look at it with a size profiler, or say why it must grow";
    ensure!(flash <= FLASH_BUDGET && ram <= RAM_BUDGET, over);
    Ok(())
}

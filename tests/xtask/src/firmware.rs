//! The companion's firmware for one board: built, measured, and refused if it has grown over its budget.
//!
//! The boards are workspaces of their own, for a processor without a standard library. Whoever has rustup's target
//! builds with that; elsewhere Debian's compiler builds the library from its own source, as `tests/no-std` does.

mod espflash;
mod flat;
mod image;
#[cfg(test)]
mod lines;
mod size;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use gatepost_build::release::{ROOT, TIME};

use super::{paths, root, run, toolchain};
use size::Size;

/// The largest image: what fits a slot of the partition table twice, with room to grow.
const FLASH_BUDGET: u64 = 1024 * 1024;
/// The largest loader of ours.
const LOADER_BUDGET: u64 = 16 * 1024;
/// What a companion runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Board {
    /// QEMU's riscv32 board `virt`.
    QemuVirt,
    /// An ESP32-C3 with 4 MB of flash.
    Esp32c3,
    /// An ESP32-C6 with 4 MB of flash.
    Esp32c6,
}

impl Board {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::QemuVirt => "qemu-virt",
            Self::Esp32c3 => "esp32c3",
            Self::Esp32c6 => "esp32c6",
        }
    }

    /// Its runner, in `firmware`.
    fn runner(self) -> &'static str {
        match self {
            Self::QemuVirt => "qemu-virt",
            Self::Esp32c3 | Self::Esp32c6 => "esp32",
        }
    }

    fn features(self) -> &'static [&'static str] {
        match self {
            Self::QemuVirt | Self::Esp32c3 => &[],
            Self::Esp32c6 => &["--no-default-features", "--features", "esp32c6,rgb"],
        }
    }

    fn target(self) -> &'static str {
        match self {
            Self::QemuVirt | Self::Esp32c3 => "riscv32imc-unknown-none-elf",
            Self::Esp32c6 => "riscv32imac-unknown-none-elf",
        }
    }

    /// The chip's number in its programs' headers (esp_chip_id_t).
    fn chip(self) -> u16 {
        match self {
            Self::QemuVirt => 0xffff,
            Self::Esp32c3 => 5,
            Self::Esp32c6 => 13,
        }
    }

    /// The most static RAM, heap included, the stack and code in RAM not.
    fn ram_budget(self) -> u64 {
        match self {
            // Of its 400 KB the radio's code takes 40 and the cache 16. The emulated board keeps to it.
            Self::QemuVirt | Self::Esp32c3 => 200 * 1024,
            // Of its 512 KB the radio's code takes 60; the radio has 8 KB more of data than on a C3.
            Self::Esp32c6 => 208 * 1024,
        }
    }

    /// Where its RAM begins and ends.
    fn ram(self) -> &'static [(u64, u64)] {
        match self {
            // memory.x
            Self::QemuVirt => &[(0x8010_0000, 0x8014_0000)],
            // The technical reference manuals' memory maps: the C3 has one RAM at two addresses, for data and for code.
            Self::Esp32c3 => &[(0x3fc8_0000, 0x3fce_0000), (0x4037_c000, 0x403e_0000)],
            Self::Esp32c6 => &[(0x4080_0000, 0x4088_0000)],
        }
    }
}

/// Where boards' firmware is built. Not in a board's own folder: one place for all of it. Not in target/ itself: another compiler.
fn target_folder() -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(std::path::absolute(root().join(target).join("firmware"))?)
}

/// A cargo with this subcommand on a board's runner, and where it builds.
fn cargo(board: Board, subcommand: &[&str]) -> Result<(Command, PathBuf)> {
    let manifest = root().join("firmware").join(board.runner()).join("Cargo.toml");
    let target = target_folder()?;
    let mut cargo: Command = toolchain::cargo(board.target(), "core,alloc", None)?;
    cargo.args(subcommand).args(["--locked", "--target", board.target(), "--manifest-path"]);
    cargo.arg(manifest).arg("--target-dir").arg(&target).args(board.features());
    release(&mut cargo);
    paths::hide(&mut cargo, board.target(), &target, &[], "")?;
    paths::hide_from_ids(&mut cargo)?;
    Ok((cargo, target))
}

/// What a build reads from the environment, so that the same commit is the same image: the time of the commit, unless another was
/// given. Without a root of its own it says so.
fn release(cargo: &mut Command) {
    if env::var_os(TIME).is_none()
        && let Some(time) =
            toolchain::ask("git", &["-C", &root().to_string_lossy(), "log", "-1", "--format=%ct"])
    {
        cargo.env(TIME, time);
    }
    if env::var_os(ROOT).is_none() {
        println!("DEV KEYS: anybody can sign for this firmware; {ROOT}=FILE gives it a root of your own");
    }
}

/// Builds a board's firmware, prints its size, and returns where it is. For the emulated board that is the image for a slot of
/// its flash; its loader is beside it.
pub(crate) fn build(board: Board) -> Result<PathBuf> {
    let (mut cargo, target) = cargo(board, &["build", "--release"])?;
    run(&mut cargo)?;
    let program = target.join(board.target()).join("release").join(format!("gatepost-{}", board.runner()));
    check(&program, board)?;
    let made = if board == Board::QemuVirt {
        check_loader(&program.with_file_name("gatepost-qemu-boot"))?;
        let image = flat::make(&program)?;
        paths::are_hidden(&image, &target)?;
        image
    } else {
        program
    };
    println!("{}", made.display());
    Ok(made)
}

fn check_loader(program: &Path) -> Result<()> {
    let Size { flash, .. } = Size::of(program, &[])?;
    println!("qemu-virt: loader {flash} bytes of {LOADER_BUDGET}");
    ensure!(flash <= LOADER_BUDGET, "the loader is over its budget");
    Ok(())
}

/// Looks at a board's runner with the lints of the compiler that builds it.
pub(crate) fn lint(board: Board) -> Result<()> {
    let (mut cargo, _) = cargo(board, &["clippy", "--release"])?;
    run(cargo.args(["--", "-D", "warnings"]))
        .context("see above; if there is no clippy, Debian has it as rust-web-clippy")
}

/// Makes the image of a board's firmware alone, as it lies in a slot: what is signed and sent to devices in the field. Returns where
/// it is.
pub(crate) fn ota_image(board: Board) -> Result<PathBuf> {
    ensure!(board != Board::QemuVirt, "QEMU takes the program as it is: cargo xtask firmware qemu-virt");
    let program = build(board)?;
    let image = program.with_file_name(format!("gatepost-{}.ota.bin", board.name()));
    let mut espflash = espflash::espflash()?;
    espflash.args(["save-image", "--chip", board.name(), "--flash-size", "4mb"]).arg(&program).arg(&image);
    run(&mut espflash).context("espflash makes the image")?;
    let bytes = fs::read(&image).with_context(|| image.display().to_string())?;
    let image::Application { length, version, built } = image::application(&bytes, board.chip())
        .with_context(|| format!("{} would not start", image.display()))?;
    ensure!(
        length == bytes.len(),
        "{}: {} bytes are behind the firmware",
        image.display(),
        bytes.len() - length
    );
    ensure!(
        bytes.len() as u64 <= FLASH_BUDGET,
        "{} bytes are over the budget of {FLASH_BUDGET}",
        bytes.len()
    );
    println!(
        "{}: firmware {version}, built {built} UTC, {length} bytes; sign it with gatepost-sign",
        board.name()
    );
    paths::are_hidden(&image, &target_folder()?)?;
    println!("{}", image.display());
    Ok(image)
}

/// Makes the image of a board's whole flash: loader, partition table, and the firmware in the first slot. Returns where it
/// is.
pub(crate) fn image(board: Board) -> Result<PathBuf> {
    ensure!(
        board != Board::QemuVirt,
        "QEMU's flash is a file, which firmware/README.md says how to make: cargo xtask firmware qemu-virt"
    );
    let program = build(board)?;
    let image = program.with_file_name(format!("gatepost-{}.bin", board.name()));
    let mut espflash = espflash::espflash()?;
    espflash.args(["save-image", "--chip", board.name(), "--merge", "--skip-padding", "--flash-size", "4mb"]);
    let table = root().join("firmware/esp32/partitions.csv");
    espflash.arg("--partition-table").arg(&table);
    espflash.args(["--target-app-partition", "ota_0"]).arg(&program).arg(&image);
    run(&mut espflash).context("espflash makes the image")?;
    let bytes = fs::read(&image).with_context(|| image.display().to_string())?;
    let firmware = image::check(&bytes, &fs::read_to_string(table)?, board.chip())
        .with_context(|| format!("{} would not start", image.display()))?;
    println!("{}: loader, table, and firmware of {firmware} bytes, as the chip reads them", board.name());
    println!("{}", image.display());
    Ok(image)
}

fn check(program: &Path, board: Board) -> Result<()> {
    let Size { flash, ram, code } = Size::of(program, board.ram())?;
    let ram_budget = board.ram_budget();
    for (what, bytes, budget) in [("flash", flash, FLASH_BUDGET), ("RAM and heap", ram, ram_budget)] {
        println!("{}: {what} {bytes} bytes of {budget}, {} %", board.name(), bytes * 100 / budget);
    }
    if code > 0 {
        println!("{}: code in RAM {code} bytes, beside them", board.name());
    }
    let over = "over the budget: look at it with a size profiler, or say why it must grow";
    ensure!(flash <= FLASH_BUDGET && ram <= ram_budget, over);
    Ok(())
}

//! The hub's program for a board such as a Raspberry Pi: built here, measured, and refused if it has grown over its budget.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;

use super::{root, run, toolchain};

/// What a hub runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Machine {
    /// A Raspberry Pi 3 or newer, and most other small boards of these years.
    Aarch64,
    /// A PC.
    #[value(name = "x86-64")]
    X86_64,
}

impl Machine {
    fn target(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::X86_64 => "x86_64-unknown-linux-gnu",
        }
    }

    /// The C compiler, which links too: Debian's name for it.
    fn compiler(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64-linux-gnu-gcc",
            Self::X86_64 => "x86_64-linux-gnu-gcc",
        }
    }

    /// The most bytes of the stripped program, all channels.
    fn budget(self) -> u64 {
        match self {
            Self::Aarch64 => 16 * 1024 * 1024,
            // Its code is longer, and its disks are larger.
            Self::X86_64 => 20 * 1024 * 1024,
        }
    }
}

/// Builds the hub for a machine, prints its size, and returns where it is.
pub(crate) fn build(machine: Machine) -> Result<PathBuf> {
    let (target, compiler) = (machine.target(), machine.compiler());
    let folder = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    // Not in target/ itself: another compiler may have built it.
    let folder = std::path::absolute(root().join(folder).join("hub"))?;
    let mut cargo = toolchain::cargo(target, "std,panic_abort", Some(Path::new(compiler)))?;
    // What compiles C asks for it by the target's name.
    cargo.env(format!("CC_{}", target.replace('-', "_")), compiler);
    // What tells how to get back out of each function: a program that ends at a panic, and has no names, has no use for that
    // tenth of itself.
    let mut flags = String::from("-Cforce-unwind-tables=no");
    // Debian 12's own linker packs no relocations for this processor: a megabyte (daemon/build.rs).
    if let Some(folder) = toolchain::lld_for_c() {
        flags += &format!(" -Clink-arg=-fuse-ld=lld -Clink-arg=-B{}", folder.display());
    }
    cargo.env(format!("CARGO_TARGET_{}_RUSTFLAGS", target.replace('-', "_").to_uppercase()), flags);
    // A tenth smaller again, for a minute more of building.
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    // And again, for three minutes more: what several crates made of the same generic code is one.
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "fat");
    cargo.args(["build", "--release", "--locked", "--package", "gatepost", "--target", target]);
    run(cargo.arg("--target-dir").arg(&folder)).with_context(|| {
        format!(
            "it takes a C compiler for {target}: apt-get install gcc-{}",
            compiler.trim_end_matches("-gcc")
        )
    })?;
    let program = folder.join(target).join("release/gatepost");
    let bytes = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    let budget = machine.budget();
    println!("{target}: {bytes} bytes of {budget}, {} %", bytes * 100 / budget);
    ensure!(bytes <= budget, "over the budget: look at it with cargo bloat, or say why it must grow");
    println!("{}", program.display());
    Ok(program)
}

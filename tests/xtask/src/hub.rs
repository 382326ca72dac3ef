//! The hub's program for a board such as a Raspberry Pi: built here, measured, and refused if it has grown over its budget.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;

use super::{paths, root, run, toolchain};

/// The packages, which have a program each, of the same name.
const HUB: &str = "gatepost";
const FLASHER: &str = "gatepost-flash";

/// What a hub runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Machine {
    /// A Raspberry Pi 3 or newer, and most other small boards of these years.
    Aarch64,
    /// The same boards with a system of 32 bits, and a Raspberry Pi 2. Not a Pi 1 or the first Zero: those are `ARMv6`.
    Armv7,
    /// A PC.
    #[value(name = "x86-64")]
    X86_64,
}

impl Machine {
    /// Its name for Rust.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::Armv7 => "armv7-unknown-linux-gnueabihf",
            Self::X86_64 => "x86_64-unknown-linux-gnu",
        }
    }

    /// The C compiler, which links too: Debian's name for it.
    fn compiler(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64-linux-gnu-gcc",
            Self::Armv7 => "arm-linux-gnueabihf-gcc",
            Self::X86_64 => "x86_64-linux-gnu-gcc",
        }
    }

    /// What its C is compiled with beside what the crates say.
    fn c_flags(self) -> &'static str {
        match self {
            // Its C library counts seconds in 32 bits, to January 2038, where nobody asks for more. Rust's library asks.
            Self::Armv7 => "-D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64",
            Self::Aarch64 | Self::X86_64 => "",
        }
    }

    /// The most bytes of the stripped program, all channels.
    fn budget(self) -> u64 {
        match self {
            Self::Aarch64 | Self::Armv7 => 16 * 1024 * 1024,
            // Its code is longer, and its disks are larger.
            Self::X86_64 => 20 * 1024 * 1024,
        }
    }
}

/// What is to be built.
#[derive(Debug, clap::Args)]
pub(crate) struct Wanted {
    /// The machine.
    machine: Machine,
    /// Compile it as for a test, in a fraction of the time. Its size is compared with nothing.
    #[arg(long)]
    unoptimized: bool,
}

/// Builds it, prints its size, and where it is.
pub(crate) fn make(wanted: &Wanted) -> Result<()> {
    if !wanted.unoptimized {
        return build(wanted.machine).map(|_| ());
    }
    let (mut cargo, folder) = compiling(wanted.machine, HUB, &[])?;
    // The dependencies too, which the tests' own builds optimise.
    cargo.args(["--config", "profile.dev.debug=false", "--config", "profile.dev.strip=true"]);
    cargo.args(["--config", "profile.dev.package.'*'.opt-level=0"]);
    let program = compile(&mut cargo, wanted.machine, HUB, &folder, "debug")?;
    println!("{}", program.display());
    Ok(())
}

/// Builds the hub for a machine as it is released, prints its size, and returns where it is.
pub(crate) fn build(machine: Machine) -> Result<PathBuf> {
    let program = released(machine, HUB)?;
    let target = machine.target();
    let bytes = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    let budget = machine.budget();
    println!("{target}: {bytes} bytes of {budget}, {} %", bytes * 100 / budget);
    ensure!(bytes <= budget, "over the budget: look at it with cargo bloat, or say why it must grow");
    println!("{}", program.display());
    Ok(program)
}

/// Builds the program that writes boards, which the hub starts, as it is released; returns where it is.
pub(crate) fn build_flasher(machine: Machine) -> Result<PathBuf> {
    released(machine, FLASHER)
}

/// Builds a program for a machine as it is released.
fn released(machine: Machine, package: &str) -> Result<PathBuf> {
    // What tells how to get back out of each function: a program that ends at a panic, and has no names, has no use for that
    // tenth of itself. And the program's number is of what is in it, whatever the linker would take.
    let mut flags = ["-Cforce-unwind-tables=no", "-Clink-arg=-Wl,--build-id=sha1"].map(String::from).to_vec();
    // Debian 12's own linker packs no relocations for this processor: a megabyte (daemon/build.rs).
    if let Some(folder) = toolchain::lld_for_c() {
        flags.extend(["-Clink-arg=-fuse-ld=lld".to_owned(), format!("-Clink-arg=-B{}", folder.display())]);
    }
    let (mut cargo, folder) = compiling(machine, package, &flags)?;
    // A tenth smaller again, for a minute more of building.
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    // And again, for three minutes more: what several crates made of the same generic code is one.
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "fat");
    compile(cargo.arg("--release"), machine, package, &folder, "release")
}

/// A cargo that builds a package for a machine with these flags of rustc's, and the folder that it builds in.
fn compiling(machine: Machine, package: &str, flags: &[String]) -> Result<(Command, PathBuf)> {
    let (target, compiler) = (machine.target(), machine.compiler());
    let folder = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    // Not in target/ itself: another compiler may have built it.
    let folder = std::path::absolute(root().join(folder).join("hub"))?;
    let mut cargo = toolchain::cargo(target, "std,panic_abort", Some(Path::new(compiler)))?;
    // What compiles C asks for it by the target's name.
    cargo.env(format!("CC_{}", target.replace('-', "_")), compiler);
    paths::hide(&mut cargo, target, &folder, flags, machine.c_flags())?;
    cargo.args(["build", "--locked", "--package", package, "--target", target]);
    cargo.arg("--target-dir").arg(&folder);
    Ok((cargo, folder))
}

/// Runs it, and returns where the program is.
fn compile(
    cargo: &mut Command,
    machine: Machine,
    package: &str,
    folder: &Path,
    profile: &str,
) -> Result<PathBuf> {
    let compiler = machine.compiler().trim_end_matches("-gcc");
    run(cargo).with_context(|| {
        format!("it takes a C compiler for {}: apt-get install gcc-{compiler}", machine.target())
    })?;
    let program = folder.join(machine.target()).join(profile).join(package);
    paths::are_hidden(&program, folder)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever builds with containers gets a hub for the same machines.
    #[test]
    fn cross_builds_for_the_same_machines() {
        let file: toml::Table = fs::read_to_string(root().join("Cross.toml")).unwrap().parse().unwrap();
        let theirs: Vec<_> = file["target"].as_table().unwrap().keys().map(String::as_str).collect();
        let mut ours: Vec<_> = Machine::value_variants().iter().map(|machine| machine.target()).collect();
        ours.sort_unstable();
        assert_eq!(theirs, ours);
        assert_eq!(
            file.keys().collect::<Vec<_>>(),
            ["target"],
            "what cross is told beside its targets is not looked at here"
        );
    }
}

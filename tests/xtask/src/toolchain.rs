//! The compiler for another processor than this one: rustup's, if it has the target, else Debian's, which builds the
//! library from its own source.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use gatepost_build::release::ROOT;

const DEBIANS: &str = "/usr/bin";

/// A cargo that builds for `target`, to which the subcommand is still to be given. `library` are the parts of Rust's own
/// that the program stands on; it is linked by `linker`, or by one of Rust's own kind where there is none.
pub(crate) fn cargo(target: &str, library: &str, linker: Option<&Path>) -> Result<Command> {
    let linked_by = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    let installed = ask("rustc", &["--print", "target-libdir", "--target", target]);
    let mut cargo = if installed.is_some_and(|library| Path::new(&library).is_dir()) {
        Command::new("cargo")
    } else if debians_source().is_some_and(|source| source.is_dir()) {
        let mut cargo = Command::new(Path::new(DEBIANS).join("cargo"));
        let mut path = OsString::from(DEBIANS);
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        // By the environment, so that clippy's own cargo hears of it too.
        cargo.env("CARGO_UNSTABLE_BUILD_STD", library);
        // A rustup in PATH would otherwise answer for rustc. Unstable options are allowed for this build alone.
        cargo.env("PATH", path).env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
        if linker.is_none() {
            cargo.env(&linked_by, linker_here()?);
        }
        cargo
    } else {
        bail!(
            "no compiler here builds for {target}. Install one of these:\n  rustup target add {target}\n  \
             apt-get install rustc-web cargo-web rust-web-src lld-22"
        );
    };
    super::forget_xtask(&mut cargo);
    // What the cargo that runs this has set for its own compiler.
    for variable in ["LD_LIBRARY_PATH", "RUSTFLAGS", "CARGO", "CARGO_ENCODED_RUSTFLAGS"] {
        cargo.env_remove(variable);
    }
    if let Some(linker) = linker {
        cargo.env(linked_by, linker);
    }
    // Build scripts run in folders of their own.
    if let Some(file) = env::var_os(ROOT) {
        cargo.env(ROOT, std::path::absolute(file)?);
    }
    Ok(cargo)
}

fn debians_source() -> Option<PathBuf> {
    let sysroot = ask("/usr/bin/rustc", &["--print", "sysroot"])?;
    Some(Path::new(&sysroot).join("lib/rustlib/src/rust/library/core"))
}

/// Debian's compiler has no linker of its own: rustup's, or the newest LLVM's.
fn linker_here() -> Result<PathBuf> {
    let rustups = of_rustup("rust-lld");
    let version =
        |path: &PathBuf| -> Option<u32> { path.file_name()?.to_str()?.strip_prefix("ld.lld-")?.parse().ok() };
    let llvms = || {
        let programs = fs::read_dir(DEBIANS).ok()?;
        programs
            .flatten()
            .map(|program| program.path())
            .filter(|path| version(path).is_some())
            .max_by_key(version)
    };
    rustups.or_else(llvms).context("no linker for the board: apt-get install lld-22")
}

/// Where Rust's own linker is under the name by which a C compiler looks for it (`-fuse-ld=lld`); nowhere, if Rust came without.
pub(crate) fn lld_for_c() -> Option<PathBuf> {
    Some(of_rustup("gcc-ld/ld.lld")?.parent()?.into())
}

/// A program that came with Rust.
fn of_rustup(name: &str) -> Option<PathBuf> {
    let sysroot = ask("rustc", &["--print", "sysroot"])?;
    let hosts = fs::read_dir(Path::new(&sysroot).join("lib/rustlib")).ok()?;
    hosts.flatten().map(|host| host.path().join("bin").join(name)).find(|program| program.is_file())
}

/// What a program prints, if it is there and ends well.
pub(crate) fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let answer = Command::new(program).args(arguments).env_remove("LD_LIBRARY_PATH").output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    answer.status.success().then(|| text.trim().to_owned())
}

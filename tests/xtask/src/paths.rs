//! The same commit is the same program wherever it was built: no path of the computer that built it is in it.
//!
//! Panics name files, and so do the C compiler's assertions. Each folder that a build reads from has a name of its own instead, the
//! same everywhere (<https://doc.rust-lang.org/rustc/remap-source-paths.html>, <https://reproducible-builds.org/docs/build-path/>).
//! That a program holds none of these paths is checked whenever one is built. `cargo xtask reproducible` compares two builds.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use super::{root, toolchain::ask};

/// What the folders of a build are called in a program.
const CHECKOUT: &str = "/gatepost";
const CARGO: &str = "/cargo";
const TARGET: &str = "/target";

/// Has this cargo build for `target`, beneath the folder `built`, with these flags for rustc and the C compiler, and without any path
/// in the result.
pub(crate) fn hide(
    cargo: &mut Command,
    target: &str,
    built: &Path,
    flags: &[String],
    c_flags: &str,
) -> Result<()> {
    let folders = folders(&rustc(cargo), built)?;
    let remapped = folders.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    let flags: Vec<String> = flags.iter().cloned().chain(remapped).collect();
    // Takes the place of flags from everywhere else; a path may hold a space.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let mapped = folders.iter().map(|(from, to)| format!("'-ffile-prefix-map={from}={to}'"));
    let c_flags: Vec<String> = [c_flags.to_owned()].into_iter().chain(mapped).collect();
    cargo.env(format!("CFLAGS_{}", target.replace('-', "_")), c_flags.join(" "));
    // <https://docs.rs/cc/latest/cc/#external-configuration-via-environment-variables>
    cargo.env("CC_SHELL_ESCAPED_FLAGS", "1");
    Ok(())
}

/// The variable by which this program knows that it is to be the compiler of a cargo.
const AS_RUSTC: &str = "XTASK_AS_RUSTC";

/// Has this cargo name crates without the path of the checkout.
///
/// cargo takes the path of a crate outside of its workspace into the crate's id, rustc sorts functions by it, and a board's workspace
/// is its runner alone (`SourceId::stable_hash`, <https://github.com/rust-lang/cargo/blob/rust-1.95.0/src/cargo/core/source_id.rs>).
pub(crate) fn hide_from_ids(cargo: &mut Command) -> Result<()> {
    cargo.env("RUSTC_WRAPPER", env::current_exe()?).env(AS_RUSTC, std::path::absolute(root())?);
    Ok(())
}

/// Becomes the compiler, if cargo runs this program as one; returns if not.
pub(crate) fn become_rustc() -> Result<()> {
    let Some(checkout) = env::var_os(AS_RUSTC) else { return Ok(()) };
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let within = env::var_os("CARGO_MANIFEST_DIR")
        .is_some_and(|package| Path::new(&package).starts_with(normal(Path::new(&checkout))));
    if within && let Some(at) = arguments.iter().position(|word| word.starts_with("metadata=")) {
        let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
        arguments[at] = format!("metadata={}", id(&arguments, &version));
    }
    let (compiler, arguments) = arguments.split_first().context("cargo names the compiler")?;
    Err(Command::new(compiler).args(arguments).exec()).with_context(|| compiler.to_owned())
}

/// What a crate is known by, of what does not depend on where it lies: its name, version, kind and features.
fn id(arguments: &[String], version: &str) -> String {
    let mut hash = Sha256::new().chain_update(version);
    for pair in arguments.windows(2) {
        if ["--crate-name", "--crate-type", "--cfg", "--target"].contains(&pair[0].as_str()) {
            hash.update(format!("\n{} {}", pair[0], pair[1]));
        }
    }
    format!("{:x}", hash.finalize())[..16].to_owned()
}

/// Checks that a program holds no path of the folders that it was built from. One of a single name, such as `/src`, is not looked for:
/// it is part of others, and tells nothing.
pub(crate) fn are_hidden(program: &Path, built: &Path) -> Result<()> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    let folders = folders("rustc", built)?.into_iter().map(|(path, _)| path);
    for path in folders.filter(|path| Path::new(path).components().count() > 2) {
        if let Some(found) = around(&bytes, &path) {
            bail!(
                "{} holds a path of this computer, {found:?}: give it a name in tests/xtask/src/paths.rs",
                program.display()
            );
        }
    }
    Ok(())
}

/// The text around the first place where bytes have this path.
fn around(bytes: &[u8], path: &str) -> Option<String> {
    let at = bytes.windows(path.len()).position(|window| window == path.as_bytes())?;
    let rest = &bytes[at..bytes.len().min(at + path.len() + 60)];
    Some(String::from_utf8_lossy(rest).into_owned())
}

/// The compiler that a cargo runs.
fn rustc(cargo: &Command) -> String {
    let named = cargo.get_envs().find(|(name, _)| *name == OsStr::new("RUSTC")).and_then(|(_, value)| value);
    named.map_or_else(|| "rustc".to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Each folder that a build reads from, and what it is called. rustc and gcc take the last that fits, so the longest come last.
fn folders(rustc: &str, built: &Path) -> Result<Vec<(String, String)>> {
    let mut folders = vec![(root(), CHECKOUT.to_owned()), (built.to_owned(), TARGET.to_owned())];
    let cargo = cargo_home().context("neither CARGO_HOME nor HOME is set")?;
    // Caches are often links.
    folders.push((cargo.join("registry"), format!("{CARGO}/registry")));
    folders.push((cargo, CARGO.to_owned()));
    if let Some(library) = library(rustc) {
        folders.push(library);
    }
    let mut spelt = Vec::new();
    for (folder, name) in folders {
        // cargo takes paths as they are spelt, the compiler sometimes where they lead.
        let spelling = normal(&std::path::absolute(folder)?);
        let leads_to = spelling.canonicalize().unwrap_or_else(|_| spelling.clone());
        for path in [spelling, leads_to] {
            let path = path.to_str().with_context(|| format!("{}: not UTF-8", path.display()))?.to_owned();
            if !spelt.contains(&(path.clone(), name.clone())) {
                spelt.push((path, name.clone()));
            }
        }
    }
    spelt.sort_by_key(|(path, _)| path.len());
    Ok(spelt)
}

/// Where cargo keeps what it fetched (<https://doc.rust-lang.org/cargo/guide/cargo-home.html>).
pub(crate) fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// Rust's own source, if it is here: what was compiled from it elsewhere names it by the compiler's commit.
fn library(rustc: &str) -> Option<(PathBuf, String)> {
    let source = Path::new(&ask(rustc, &["--print", "sysroot"])?).join("lib/rustlib/src/rust");
    let version = ask(rustc, &["--version", "--verbose"])?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "))?;
    Some((source, format!("/rustc/{commit}")))
}

/// A path without `..`, as cargo spells it.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn an_id_is_of_what_a_crate_is_and_not_of_where_it_lies() {
        let id = |text: &str| id(&words(text), "0.1.0");
        let here = id(
            "rustc --crate-name link /a/link/src/lib.rs --crate-type lib --cfg feature=\"x\" -C metadata=1",
        );
        let there = id(
            "rustc --crate-name link /b/c/link/src/lib.rs --crate-type lib --cfg feature=\"x\" -C metadata=2",
        );
        assert_eq!(here, there);
        assert_eq!(here.len(), 16);
        for other in [
            "rustc --crate-name core /a/link/src/lib.rs --crate-type lib --cfg feature=\"x\"",
            "rustc --crate-name link /a/link/src/lib.rs --crate-type bin --cfg feature=\"x\"",
            "rustc --crate-name link /a/link/src/lib.rs --crate-type lib --cfg feature=\"y\"",
        ] {
            assert_ne!(id(other), here, "{other}");
        }
    }

    #[test]
    fn a_path_of_this_computer_is_found_in_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let (program, built) = (folder.path().join("program"), folder.path().join("built"));
        fs::write(&program, "\0/gatepost/daemon/src/main.rs\0/cargo/registry/src/a.rs\0").unwrap();
        are_hidden(&program, &built).unwrap();
        for path in [built.clone(), root().canonicalize().unwrap(), cargo_home().unwrap()] {
            fs::write(&program, format!("\0/gatepost/x.rs\0{}/src/secret.rs\0", path.display())).unwrap();
            let said = are_hidden(&program, &built).unwrap_err().to_string();
            assert!(said.contains("/src/secret.rs"), "{said}");
        }
    }

    #[test]
    fn of_two_folders_that_fit_the_inner_one_comes_last() {
        let built = root().join("target/inner");
        let folders = folders("rustc", &built).unwrap();
        let at = |name: &str| folders.iter().rposition(|(_, called)| called == name).unwrap();
        assert!(at(CHECKOUT) < at(TARGET), "{folders:?}");
        assert!(at(CARGO) < at("/cargo/registry"), "{folders:?}");
        assert!(folders.iter().all(|(path, _)| !path.contains("..")), "{folders:?}");
    }
}

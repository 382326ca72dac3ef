//! How the program is linked, and whose releases of companions' firmware it takes where the configuration does not say.

use std::{env, fs, path::Path};

/// The file of a root, as a hub finds it where `[updates] root` names none; or an empty one.
fn embed_root() {
    println!("cargo::rerun-if-env-changed=GATEPOST_ROOT");
    let into = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("update-root");
    let root = env::var_os("GATEPOST_ROOT").map_or_else(Vec::new, |file| {
        println!("cargo::rerun-if-changed={}", file.display());
        fs::read(&file).unwrap_or_else(|error| panic!("GATEPOST_ROOT: {}: {error}", file.display()))
    });
    fs::write(into, root).expect("cargo's folder can be written");
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    embed_root();
    // A megabyte of relocations becomes ten kilobytes, on disk and, as the loader reads them all, in memory. Needs glibc 2.36,
    // which has it since 2022; a linker that does not know it for a processor says so and goes on.
    let of = |name| env::var(name).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux"
        && of("CARGO_CFG_TARGET_ENV") == "gnu"
        && ["x86_64", "aarch64"].contains(&of("CARGO_CFG_TARGET_ARCH").as_str())
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

//! How the program is linked.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A megabyte of relocations becomes ten kilobytes, on disk and, as the loader reads them all, in memory. Needs glibc 2.36,
    // which has it since 2022; a linker that does not know it says so and goes on.
    let of = |name| env::var(name).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux"
        && of("CARGO_CFG_TARGET_ENV") == "gnu"
        && of("CARGO_CFG_TARGET_ARCH") == "x86_64"
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

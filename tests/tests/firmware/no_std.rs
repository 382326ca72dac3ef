//! What the companion's firmware stands on builds for the ESP32-C3's processor, where there is no standard library.
//!
//! Installed by `tests/run --setup-only`: Rust's library for riscv32imc.

use std::{
    path::Path,
    process::{Command, Output},
};

/// `tests/no-std`, as a developer calls it: without what cargo puts around a test.
fn no_std(packages: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("no-std");
    let mut command = Command::new(script);
    command
        .args(packages)
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("RUSTFLAGS")
        .env("CARGO_TERM_COLOR", "never");
    command.output().expect("tests/no-std can be run")
}

/// All that it printed.
fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

#[test]
fn splitter_link_and_companion_build_for_the_esp32() {
    let output = no_std(&[]);
    let said = said(&output);
    assert!(output.status.success(), "run `tests/run --setup-only` if no compiler is there:\n{said}");
    for package in ["gatepost-chunk", "gatepost-link", "gatepost-companion"] {
        assert!(said.lines().any(|line| line.contains(package) && line.ends_with(": built")), "{said}");
    }
}

#[test]
fn a_package_that_wants_a_standard_library_does_not_build() {
    let output = no_std(&["xtask"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(101), "{said}");
    assert!(said.contains("can't find crate for `std`"), "{said}");
}

//! schemathesis: reads what a hub says of its HTTP interface, and holds it to that with calls of its own making.
//!
//! `peers/schemathesis.toml` says what it leaves out, and why. Its dice are always the same.

use std::{fs, process::Command};

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::judged::run;

/// Holds the hub at `base` to what it says of itself, `described`. `fixture` is what the configuration asks for.
///
/// # Errors
/// The hub answered otherwise than it says; the error has the calls. Or schemathesis is not installed.
pub fn schemathesis(base: &str, described: &Value, fixture: &[(&str, &str)]) -> Result<()> {
    let program = super::python()?.with_file_name("st");
    if !program.exists() {
        bail!("schemathesis is missing: run `tests/run --setup-only`");
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("openapi.json");
    fs::write(&file, described.to_string())?;
    let mut judge = Command::new(program);
    judge
        .arg("--no-color")
        .arg("--config-file")
        .arg(super::file("schemathesis.toml"))
        .arg("run")
        .arg(file)
        .args(["--url", base])
        .envs(fixture.iter().copied());
    let (well, output) = run(&mut judge)?;
    ensure!(well, "the hub is not as it says:\n{output}");
    Ok(())
}

//! Runs the test programs of the workspace, several at a time.
//!
//! `cargo test` runs one program after the other, and most of them wait for servers and for time to pass more than they
//! compute. What measures time or memory runs afterwards, alone.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::{cargo, root, several};

/// What measures time or memory: nothing runs beside it.
const ALONE: [&str; 6] =
    ["torture", "overload", "pairing_interceptor", "link_faults", "qemu_latency", "qemu_update"];

/// What takes longest, longest first: if it began last, the others would be done long before it.
const LONGEST: [&str; 8] =
    ["packages", "channels", "intake", "gatepost", "firmware", "hub", "delivery", "gatepost_companion"];

/// How the tests are run.
#[derive(clap::Args)]
pub(crate) struct Wanted {
    /// Programs that run at once.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=16))]
    programs: u8,
}

/// A compiled test program.
struct Program {
    /// Of its target: `approval`, `gatepost`.
    name: String,
    /// How `cargo test` selects it alone.
    selection: String,
    executable: PathBuf,
    /// Where `cargo test` runs it.
    package: PathBuf,
}

/// How one ended.
struct Ended {
    selection: String,
    name: String,
    took: Duration,
    passed: bool,
}

/// Compiles the tests, runs all programs and then the tests in the documentation. Fails if one of them does, after all have run.
pub(crate) fn run(wanted: &Wanted) -> Result<()> {
    let (alone, mut beside): (Vec<Program>, Vec<Program>) =
        compiled()?.into_iter().partition(|program| ALONE.contains(&program.name.as_str()));
    beside.sort_by_key(|program| {
        LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len())
    });
    let mut ended = several(beside, wanted.programs.into(), one);
    ended.extend(several(alone, 1, one));
    let mut ended = ended.into_iter().collect::<Result<Vec<Ended>>>()?;
    let documentation =
        cargo().args(["test", "--workspace", "--locked", "--doc"]).current_dir(root()).status()?;

    let mut table = String::new();
    ended.sort_by_key(|program| std::cmp::Reverse(program.took));
    for Ended { name, took, .. } in ended.iter().filter(|program| program.took.as_secs() > 0) {
        writeln!(table, "{name:<28} {:>5} s", took.as_secs())?;
    }
    println!("\n{table}");
    let failed: Vec<&Ended> = ended.iter().filter(|program| !program.passed).collect();
    for Ended { selection, .. } in &failed {
        println!("error: test failed, to rerun pass `{selection}`");
    }
    ensure!(failed.is_empty(), "{} of {} test programs failed", failed.len(), ended.len());
    ensure!(documentation.success(), "the tests in the documentation failed");
    Ok(())
}

/// The test programs of the workspace, as cargo lists them when it has compiled them.
fn compiled() -> Result<Vec<Program>> {
    let output = cargo()
        .args(["test", "--workspace", "--locked", "--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the tests do not compile: the errors are above");
    let lines = String::from_utf8(output.stdout).context("cargo's messages")?;
    let programs: Vec<Program> = lines
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("cargo's message {line}")))
        .filter_map(|message| message.map(|message: Value| program(&message)).transpose())
        .collect::<Result<_>>()?;
    if programs.is_empty() {
        bail!("cargo named no test program");
    }
    Ok(programs)
}

/// The test program that a message of cargo's tells of, if it tells of one
/// (<https://doc.rust-lang.org/cargo/reference/external-tools.html#artifact-messages>).
fn program(message: &Value) -> Option<Program> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let executable = message["executable"].as_str().filter(|_| is_test)?;
    let (target, name) = (&message["target"], message["target"]["name"].as_str()?.to_owned());
    let package = Path::new(message["manifest_path"].as_str()?).parent()?;
    let of = message["package_id"].as_str().and_then(|id| package_name(id)).unwrap_or(&name).to_owned();
    let selection = match target["kind"][0].as_str()? {
        "test" => format!("-p {of} --test {name}"),
        "bin" => format!("-p {of} --bin {name}"),
        "example" => format!("-p {of} --example {name}"),
        _ => format!("-p {of} --lib"),
    };
    Some(Program { name, selection, executable: executable.into(), package: package.into() })
}

/// A package's name in its id: `path+file:///…/daemon#gatepost@0.1.0`, or `…/xtask#0.1.0` if the folder is called as it is.
fn package_name(id: &str) -> Option<&str> {
    let (path, fragment) = id.rsplit_once('#')?;
    match fragment.split_once('@') {
        Some((name, _)) => Some(name),
        None => path.rsplit('/').next(),
    }
}

/// Runs one, and shows what it printed in one piece once it has ended.
fn one(program: Program) -> Result<Ended> {
    let Program { name, selection, executable, package } = program;
    println!("     Running {name}");
    // A file and not a pipe: what a test leaves running would hold a pipe open.
    let printed = tempfile::NamedTempFile::new()?;
    // One of its own for both streams, so that they share its position.
    let file = printed.reopen()?;
    let began = Instant::now();
    let status = Command::new(&executable)
        .current_dir(&package)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .with_context(|| format!("cannot start {}", executable.display()))?;
    let took = began.elapsed();
    let mut shown = format!("\n==> {name} ({selection}), {} s\n", took.as_secs()).into_bytes();
    shown.extend(fs::read(printed.path())?);
    if !status.success() {
        writeln!(shown, "{name}: {status}")?;
    }
    std::io::stdout().lock().write_all(&shown)?;
    Ok(Ended { selection, name, took, passed: status.success() })
}

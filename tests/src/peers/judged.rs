//! The Model Context Protocol's own judges: the suite that its implementations are measured by, and the inspector that
//! people look at a server with.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::hub::program::ended;

/// The longest that one may take. The slowest, schemathesis, takes 35 s of a processor that it has to itself; beside other tests, several times
/// that.
const LONGEST: Duration = Duration::from_secs(360);

fn module(name: &str) -> Result<PathBuf> {
    let program = super::file("node_modules/@modelcontextprotocol").join(name);
    if !program.exists() {
        bail!("{} is missing: run `tests/run --setup-only`", program.display());
    }
    Ok(program)
}

/// Lets the protocol's suite look at a hub. What it fails is as `peers/mcp-expected.yml` says, no more and no less.
///
/// # Errors
/// It is not; the error has what it said. Or the suite is not installed.
pub fn mcp_conformance(port: u16, token: &str) -> Result<()> {
    let program = module("conformance/dist/index.js")?;
    let forwarder = Forwarder::start(port, token)?;
    let mut suite = Command::new("node");
    suite
        .arg(program)
        .args(["server", "--url", &format!("http://127.0.0.1:{}/mcp", forwarder.port)])
        .arg("--expected-failures")
        .arg(super::file("mcp-expected.yml"));
    let (well, output) = run(&mut suite)?;
    ensure!(well, "the suite sees something else than peers/mcp-expected.yml says:\n{output}");
    ensure!(output.contains("tools-list"), "the suite looked at nothing:\n{output}");
    Ok(())
}

/// Asks a hub's `/mcp` something with the inspector's command line, as JSON.
///
/// # Errors
/// The inspector is not installed, or was refused.
pub fn mcp_inspect(hub: &str, token: &str, arguments: &[&str]) -> Result<Value> {
    let mut inspector = Command::new("node");
    inspector
        .arg(module("inspector-cli/build/cli.js")?)
        .args(["--cli", &format!("{hub}/mcp"), "--transport", "http"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(arguments);
    let (well, output) = run(&mut inspector)?;
    ensure!(well, "the inspector, asked {arguments:?}: {output}");
    serde_json::from_str(&output)
        .with_context(|| format!("the inspector, asked {arguments:?}, said {output:?}"))
}

/// Passes requests on with a token, for the suite has no way to send one.
struct Forwarder {
    program: Child,
    port: u16,
}

impl Forwarder {
    fn start(port: u16, token: &str) -> Result<Self> {
        let mut program = Command::new("node")
            .arg(super::file("mcp-bearer.mjs"))
            .arg(port.to_string())
            .env("GATEPOST_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start node: run `tests/run --setup-only`")?;
        let mut line = String::new();
        BufReader::new(program.stdout.take().expect("its standard output is a pipe")).read_line(&mut line)?;
        let port = line.trim().parse().with_context(|| format!("the forwarder said {line:?}"))?;
        Ok(Self { program, port })
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Whether it ended well, and all that it said. What a program leaves behind goes with its folder.
pub(super) fn run(command: &mut Command) -> Result<(bool, String)> {
    let folder = tempfile::tempdir()?;
    run_within(command.current_dir(folder.path()), LONGEST)
}

/// Runs a step of a longer work, which must succeed within this time; what it said.
///
/// # Errors
/// It did not; the error has what it said. Or it is not installed.
pub fn step(command: &mut Command, longest: Duration) -> Result<String> {
    let (well, output) = run_within(command, longest)?;
    ensure!(well, "{command:?}:\n{output}");
    Ok(output)
}

fn run_within(command: &mut Command, longest: Duration) -> Result<(bool, String)> {
    let log = tempfile::NamedTempFile::new()?;
    let output = log.reopen()?;
    let mut child = command
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("cannot start {command:?}: run `tests/run --setup-only`"))?;
    let Some(status) = ended(&mut child, longest)? else {
        bail!("it did not end within {longest:?}:\n{}", std::fs::read_to_string(log.path())?);
    };
    Ok((status.success(), std::fs::read_to_string(log.path())?))
}

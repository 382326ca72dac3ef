//! The Model Context Protocol's own client, as an agent's runner would have it: `tests/peers/mcp-client.py`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::hub::{Client, program};

/// A client that is connected. It ends with this.
pub struct McpClient {
    program: Child,
    steps: Option<ChildStdin>,
    came: BufReader<ChildStdout>,
}

impl McpClient {
    /// One at a hub's HTTP interface.
    ///
    /// # Errors
    /// It cannot be started; `tests/run --setup-only` may mend that.
    pub fn at(hub: &str, token: &str) -> Result<Self> {
        Self::start(&["http", &format!("{hub}/mcp"), token], &[])
    }

    /// One at a hub's HTTP interface that opens no session, as 2026-07-28 has it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn modern_at(hub: &str, token: &str) -> Result<Self> {
        Self::start(&["http", &format!("{hub}/mcp"), token], &[("MCP_MODERN", "1")])
    }

    /// One that starts `gatepost mcp` itself, in this environment.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn starting(gatepost: &Path, environment: &[(&str, &str)]) -> Result<Self> {
        Self::starting_with(gatepost, &[], environment)
    }

    /// One that starts `gatepost mcp` with these options, in this environment.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn starting_with(gatepost: &Path, options: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        let gatepost = gatepost.display().to_string();
        Self::start(&[&["stdio", &gatepost, "mcp"], options].concat(), environment)
    }

    /// Two of the same agent, one at each interface; what it is called.
    ///
    /// # Errors
    /// One of them cannot be started.
    pub fn at_both_doors(agent: &Client) -> Result<[(&'static str, Self); 2]> {
        let environment = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", agent.token())];
        let over_http = Self::at(agent.base(), agent.token())?;
        Ok([("http", over_http), ("stdio", Self::starting(program()?, &environment)?)])
    }

    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self> {
        let mut program = Command::new(super::python()?)
            .arg(super::file("mcp-client.py"))
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .context("cannot start the MCP client")?;
        let steps = program.stdin.take();
        let came = BufReader::new(program.stdout.take().expect("its standard output is a pipe"));
        Ok(Self { program, steps, came })
    }

    /// Takes a step; what came of it.
    ///
    /// # Errors
    /// The client has ended, or said what is no JSON.
    pub fn step(&mut self, step: &Value) -> Result<Value> {
        let steps = self.steps.as_mut().context("its standard input is open")?;
        writeln!(steps, "{step}").context("the MCP client has ended")?;
        let mut line = String::new();
        self.came.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the MCP client said {line:?} to {step}"))
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        // It ends with its steps; what hangs is not waited for.
        drop(self.steps.take());
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

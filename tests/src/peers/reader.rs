//! Other people's clients (`tests/peers/readers`), which say what they read as lines of JSON.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// A Python or a Node with its libraries, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running client. It ends with its standard input, so it never outlives the test.
#[derive(Debug)]
pub struct Reader {
    child: Child,
    lines: Receiver<String>,
}

impl Reader {
    /// Starts this program of the folder, with these arguments.
    ///
    /// # Errors
    /// What runs it is not installed: `tests/run --setup-only` does that.
    pub fn start(program: &str, arguments: &[&str]) -> Result<Self> {
        let script = super::file("readers").join(program);
        let runs = if program.ends_with(".mjs") { "node".into() } else { super::python()? };
        let mut child = Command::new(runs)
            .arg(script)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}: run `tests/run --setup-only`"))?;
        let output = child.stdout.take().context("its output is a pipe")?;
        let (says, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if says.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// The next that it says.
    ///
    /// # Errors
    /// It says nothing, has ended, or says that something is wrong.
    pub fn says(&self) -> Result<Value> {
        let line = match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => bail!("the client says nothing"),
            Err(RecvTimeoutError::Disconnected) => bail!("the client has ended: its errors are above"),
        };
        let said: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        ensure!(said["kind"] != "wrong", "{said}");
        Ok(said)
    }

    /// Orders something, by a line of its input.
    ///
    /// # Errors
    /// It has ended.
    pub fn order(&mut self, order: &Value) -> Result<()> {
        let input = self.child.stdin.as_mut().context("its input is a pipe")?;
        Ok(writeln!(input, "{order}")?)
    }

    /// Ends it.
    ///
    /// # Errors
    /// It ended with an error.
    pub fn end(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "the client ended with {status}");
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A program on a terminal of its own, and somebody before it who reads the screen and presses keys:
//! `tests/peers/terminal/driven.py`.

use std::{
    ffi::{OsStr, OsString},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::hub::program;

/// Long enough to be a short press.
const TAP: f64 = 0.1;
/// Longer than the hold that approves.
const HOLD: f64 = 2.2;

/// A `gatepost` command on a terminal. It ends with this.
pub struct Terminal {
    driver: Child,
    steps: Option<ChildStdin>,
    came: BufReader<ChildStdout>,
}

/// How a program left its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// The exit status; negative where a signal ended it.
    pub status: i64,
    /// Whether the terminal is as it was before.
    pub restored: bool,
}

impl Terminal {
    /// Runs `gatepost` on a terminal of this kind, `plain` or `kitty`, and of so many rows and columns.
    ///
    /// # Errors
    /// It cannot be started; `tests/run --setup-only` may mend that.
    pub fn start<A: AsRef<OsStr>>(
        kind: &str,
        (rows, columns): (u16, u16),
        arguments: &[A],
        environment: &[(&str, &str)],
    ) -> Result<Self> {
        Self::start_in(Path::new("."), kind, (rows, columns), arguments, environment)
    }

    /// The same in this folder.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_in<A: AsRef<OsStr>>(
        folder: &Path,
        kind: &str,
        (rows, columns): (u16, u16),
        arguments: &[A],
        environment: &[(&str, &str)],
    ) -> Result<Self> {
        let mut command = Command::new(super::python()?);
        command.current_dir(folder);
        command.arg(super::file("terminal/driven.py")).arg(kind);
        command.args([rows.to_string(), columns.to_string()]).arg(program()?);
        command.args(arguments.iter().map(|argument| OsString::from(argument.as_ref())));
        for name in ["GATEPOST_CONFIG", "GATEPOST_HUB", "GATEPOST_TOKEN", "GATEPOST_LOG"] {
            command.env_remove(name);
        }
        let mut driver = command
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .context("cannot start a terminal")?;
        let steps = driver.stdin.take();
        let came = BufReader::new(driver.stdout.take().expect("its standard output is a pipe"));
        Ok(Self { driver, steps, came })
    }

    fn step(&mut self, step: &Value) -> Result<Value> {
        let steps = self.steps.as_mut().context("its standard input is open")?;
        writeln!(steps, "{step}").context("the terminal has ended")?;
        let mut line = String::new();
        self.came.read_line(&mut line)?;
        let came: Value =
            serde_json::from_str(&line).with_context(|| format!("the terminal said {line:?} to {step}"))?;
        match came["error"].as_str() {
            Some(error) => bail!("{step}: {error}"),
            None => Ok(came),
        }
    }

    /// Waits until this stands on the terminal, since the last mark; what was found, whole and in its groups.
    ///
    /// # Errors
    /// It does not come; the error shows what came instead.
    pub fn wait(&mut self, regex: &str) -> Result<Vec<String>> {
        let came = self.step(&json!({"wait": regex}))?;
        let found = came["found"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(found.iter().map(|group| group.as_str().unwrap_or_default().to_owned()).collect())
    }

    /// What follows is looked for from here on.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn mark(&mut self) -> Result<()> {
        self.step(&json!({"mark": true})).map(drop)
    }

    /// A short press of a key.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn tap(&mut self, key: char) -> Result<()> {
        self.press(key, TAP)
    }

    /// A hold that is long enough.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn hold(&mut self, key: char) -> Result<()> {
        self.press(key, HOLD)
    }

    /// Holds a key until this stands on the terminal, since the last mark. A hold ends if a busy machine brings the key's repeats
    /// late; a person then holds again.
    ///
    /// # Errors
    /// It does not come; the error shows what came instead.
    pub fn hold_until(&mut self, key: char, regex: &str) -> Result<()> {
        self.step(&json!({"hold": key, "until": regex})).map(drop)
    }

    /// A key, for so many seconds.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn press(&mut self, key: char, seconds: f64) -> Result<()> {
        self.step(&json!({"press": key, "seconds": seconds})).map(drop)
    }

    /// Text, at once; a line ends with `\r`.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn types(&mut self, text: &str) -> Result<()> {
        self.step(&json!({"type": text})).map(drop)
    }

    /// Makes the window another size.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn resize(&mut self, rows: u16, columns: u16) -> Result<()> {
        self.step(&json!({"resize": [rows, columns]})).map(drop)
    }

    /// Waits for so many seconds; what was written since the last mark.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn look(&mut self, seconds: f64) -> Result<String> {
        let came = self.step(&json!({"look": seconds}))?;
        Ok(came["seen"].as_str().unwrap_or_default().to_owned())
    }

    /// Tells the program that its terminal is gone.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn hang_up(&mut self) -> Result<()> {
        self.signal("SIGHUP")
    }

    /// Sends the program a signal, such as `SIGTERM`.
    ///
    /// # Errors
    /// The terminal has ended.
    pub fn signal(&mut self, name: &str) -> Result<()> {
        self.step(&json!({"signal": name})).map(drop)
    }

    /// Closes the terminal under the program, and waits for its end; its exit status.
    ///
    /// # Errors
    /// It does not end.
    pub fn close(mut self) -> Result<i64> {
        let came = self.step(&json!({"close": true}))?;
        came["status"].as_i64().context("an exit status")
    }

    /// Waits for the program's end.
    ///
    /// # Errors
    /// It does not end.
    pub fn end(&mut self) -> Result<Left> {
        let came = self.step(&json!({"end": true}))?;
        let status = came["status"].as_i64().context("an exit status")?;
        Ok(Left { status, restored: came["restored"] == true })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It ends with its steps, and its program with it; what hangs is not waited for.
        drop(self.steps.take());
        let _ = self.driver.wait();
    }
}

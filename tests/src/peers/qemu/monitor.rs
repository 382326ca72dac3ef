//! QEMU's monitor protocol (QMP): one JSON object a line, in both directions.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// How long QEMU may take for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Monitor {
    stream: BufReader<UnixStream>,
}

impl Monitor {
    pub(super) fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut monitor = Self { stream: BufReader::new(stream) };
        let greeting = monitor.line()?;
        ensure!(greeting.get("QMP").is_some(), "no greeting: {greeting}");
        monitor.tell("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    pub(super) fn key(&mut self, key: &str, down: bool) -> Result<()> {
        let event = json!({"type": "key", "data": {"down": down, "key": {"type": "qcode", "data": key}}});
        self.tell("input-send-event", &json!({"events": [event]}))
    }

    pub(super) fn screendump(&mut self, file: &Path) -> Result<()> {
        self.tell("screendump", &json!({"filename": file, "format": "png"}))
    }

    /// Whether QEMU closes the connection.
    pub(super) fn ends(&mut self) -> bool {
        let mut rest = String::new();
        while let Ok(count) = self.stream.read_line(&mut rest) {
            if count == 0 {
                return true;
            }
        }
        false
    }

    /// What QEMU answers to a command that is meant for people.
    pub(super) fn people(&mut self, command: &str) -> Result<String> {
        let answer = self.ask("human-monitor-command", &json!({"command-line": command}))?;
        Ok(answer.as_str().unwrap_or_default().to_owned())
    }

    fn tell(&mut self, what: &str, with: &Value) -> Result<()> {
        self.ask(what, with).map(drop)
    }

    fn ask(&mut self, what: &str, with: &Value) -> Result<Value> {
        let command = json!({"execute": what, "arguments": with});
        writeln!(self.stream.get_mut(), "{command}")?;
        loop {
            let mut answer = self.line()?;
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            // Everything else is news of its own.
            if answer.get("event").is_none() {
                bail!("QEMU does not {what}: {answer}");
            }
        }
    }

    fn line(&mut self) -> Result<Value> {
        let mut line = String::new();
        let count = self.stream.read_line(&mut line).context("QEMU does not answer")?;
        ensure!(count > 0, "QEMU is gone");
        Ok(serde_json::from_str(&line)?)
    }
}

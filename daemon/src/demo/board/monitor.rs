//! QEMU's monitor protocol (QMP): one JSON object a line, in both directions.
//! <https://www.qemu.org/docs/master/interop/qmp-spec.html>

use std::{io, path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::Mutex,
    time::timeout,
};

/// How long QEMU may take for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest answer that is read, in bytes.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// Why QEMU did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// It has ended.
    #[error("QEMU has ended")]
    Gone,
    /// It does not answer.
    #[error("QEMU does not answer within {} s", PATIENCE.as_secs())]
    Silent,
    /// It answers something else.
    #[error("QEMU does not do what it is told: {0}")]
    Refused(String),
}

impl From<io::Error> for MonitorError {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The monitor. One command at a time, whoever gives it.
pub(super) struct Monitor(Mutex<Pipes>);

struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Monitor {
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self(Mutex::new(Pipes { input, output: BufReader::new(output) }))
    }

    /// Hears the greeting and answers it: before that nothing is obeyed.
    pub(super) async fn greet(&self) -> Result<(), MonitorError> {
        let greeting = timeout(PATIENCE, async { self.0.lock().await.line().await });
        let greeting = greeting.await.map_err(|_| MonitorError::Silent)??;
        match greeting.get("QMP") {
            Some(_) => self.tell("qmp_capabilities", json!({})).await,
            None => Err(MonitorError::Refused(greeting.to_string())),
        }
    }

    /// Presses or releases a key.
    pub(super) async fn key(&self, key: &str, down: bool) -> Result<(), MonitorError> {
        let event = json!({"type": "key", "data": {"down": down, "key": {"type": "qcode", "data": key}}});
        self.tell("input-send-event", json!({"events": [event]})).await
    }

    /// Writes what the screen shows into a file, as PNG; QEMU can since version 7.1.
    pub(super) async fn picture(&self, file: &Path) -> Result<(), MonitorError> {
        self.tell("screendump", json!({"filename": file, "format": "png"})).await
    }

    async fn tell(&self, what: &str, with: Value) -> Result<(), MonitorError> {
        let mut pipes = self.0.lock().await;
        timeout(PATIENCE, pipes.tell(what, with)).await.map_err(|_| MonitorError::Silent)?
    }
}

impl Pipes {
    async fn tell(&mut self, what: &str, with: Value) -> Result<(), MonitorError> {
        let command = json!({"execute": what, "arguments": with});
        self.input.write_all(format!("{command}\n").as_bytes()).await?;
        loop {
            let answer = self.line().await?;
            if answer.get("return").is_some() {
                return Ok(());
            }
            // Everything else is news of its own.
            if answer.get("event").is_none() {
                return Err(MonitorError::Refused(format!("{what}: {answer}")));
            }
        }
    }

    async fn line(&mut self) -> Result<Value, MonitorError> {
        let mut line = Vec::new();
        match (&mut self.output).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await? {
            0 => Err(MonitorError::Gone),
            _ => serde_json::from_slice(&line)
                .map_err(|_| MonitorError::Refused(String::from_utf8_lossy(&line).into_owned())),
        }
    }
}

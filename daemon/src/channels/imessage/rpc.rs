//! One conversation with `imsg rpc`: a JSON object a line each way, JSON-RPC 2.0
//! (<https://github.com/openclaw/imsg/blob/main/docs/rpc.md>).
//!
//! The program is started for one piece of work, or to listen, and asked for its `status` first, so what fails before the answer to that has
//! done nothing. Its input stays open until the last answer is there: what it has taken it finishes. An answer is bounded in
//! size, and all of them together in time.

use std::{io, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout},
    task::JoinHandle,
    time::Instant,
};

use super::{
    answer::{self, CallError, short},
    program::{MAX_SAID, MAX_WRITTEN, Program, read},
};
use crate::{
    channels::Failure,
    lines::{self, Line},
    program::Running,
};

/// The method is not known (JSON-RPC 2.0 §5.1).
pub(super) const NO_METHOD: i64 = -32601;
/// The parameters are not right (JSON-RPC 2.0 §5.1).
pub(super) const INVALID_PARAMS: i64 = -32602;
/// What it may write beside an answer that is waited for, in bytes.
const MAX_BESIDE: u64 = 64 * 1024;

/// A running `imsg rpc`.
pub(super) struct Session {
    running: Running,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    said: Option<JoinHandle<io::Result<String>>>,
    until: Instant,
    next: u64,
    /// It has said something of its own accord since [`hear`](Self::hear) was asked.
    noticed: bool,
    /// What it says of itself; null, of one that is older than 0.14.0.
    pub(super) status: Value,
}

impl Session {
    /// Starts one, for at most this long.
    ///
    /// # Errors
    /// It did not start, or does not answer: nothing was done.
    pub(super) async fn open(program: &Program, longest: Duration) -> Result<Self, Failure> {
        let retry = |why: String| Failure::Retry(short(&why));
        let mut running = program.start(&["rpc".to_owned()]).map_err(retry)?;
        let (Some(to), Some(from), stderr) = running.pipes() else {
            return Err(retry("imsg has no pipes".into()));
        };
        let said = Some(tokio::spawn(read(stderr, MAX_SAID)));
        let (from, until) = (BufReader::new(from), Instant::now() + longest);
        let mut session =
            Self { running, to, from, said, until, next: 0, noticed: false, status: Value::Null };
        match session.call("status", json!({})).await {
            Ok(status) => session.status = status,
            // 0.13 and older.
            Err(CallError::Refused { code: NO_METHOD, .. }) => {}
            Err(error) => {
                let why = error.words();
                let hint = if program.ssh.is_empty() { "" } else { " (by ssh)" };
                return Err(retry(format!("imsg rpc does not answer{hint}: {why}")));
            }
        }
        Ok(session)
    }

    /// What follows has this long from now: a session may last.
    pub(super) fn within(&mut self, longest: Duration) {
        self.until = Instant::now() + longest;
    }

    /// Waits until it says something of its own accord, or has ended. What it says is only a sign, so half a line that nobody waits for any
    /// more is no loss.
    pub(super) async fn hear(&mut self) {
        let mut line = Vec::new();
        while !std::mem::take(&mut self.noticed) {
            match lines::read(&mut self.from, MAX_WRITTEN, &mut line).await {
                Ok(Line::Whole | Line::TooLong) => self.noticed = true,
                Ok(Line::End) | Err(_) => return,
            }
        }
    }

    /// Whether it says that a method can be used now.
    pub(super) fn has(&self, method: &str) -> bool {
        self.status["methods"].as_array().is_some_and(|methods| methods.iter().any(|one| one == method))
    }

    /// Calls a method.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Result<Value, CallError> {
        self.next += 1;
        let id = self.next;
        let mut request =
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        request.push('\n');
        let until = self.until;
        let exchange = async {
            // One that has ended already says so by what it has written.
            let _ = self.to.write_all(request.as_bytes()).await;
            let _ = self.to.flush().await;
            self.answer(id).await
        };
        match tokio::time::timeout_at(until, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::Gone("imsg did not answer in time".into())),
        }
    }

    /// The answer to a call; what else it writes is passed over.
    async fn answer(&mut self, id: u64) -> Result<Value, CallError> {
        let (mut line, mut passed_over) = (Vec::new(), 0);
        loop {
            match lines::read(&mut self.from, MAX_WRITTEN, &mut line).await {
                Ok(Line::Whole) => {}
                Ok(Line::TooLong) => return Err(CallError::TooLong),
                Ok(Line::End) => return Err(CallError::Gone(self.last_words().await)),
                Err(error) => return Err(CallError::Gone(error.to_string())),
            }
            passed_over += line.len() as u64;
            if passed_over > MAX_BESIDE + MAX_WRITTEN {
                return Err(CallError::Gone("imsg writes without an end".into()));
            }
            if let Some(answer) = answer::line(&line, id) {
                return answer;
            }
            self.noticed |=
                serde_json::from_slice::<Value>(&line).is_ok_and(|said| said["method"].is_string());
        }
    }

    /// Why it ended, as far as it says.
    async fn last_words(&mut self) -> String {
        let said = match self.said.take() {
            Some(said) => said.await.ok().and_then(Result::ok).unwrap_or_default(),
            None => String::new(),
        };
        let ended = self.running.ended().await.map(|status| status.to_string()).unwrap_or_default();
        short(&format!("it ended with {ended} {}", said.trim()))
    }
}

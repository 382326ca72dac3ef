//! signal-cli's stream of events, as it will be with ids (commit 13d603d,
//! <https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/http/SseEventBuffer.java>): it repeats what stands behind the
//! id that it is told, and all of it for one that it does not know. What nobody has heard yet Signal keeps (`--receive-mode=on-connection`).
//!
//! With dice it tells anything but the truth: it repeats, tells twice, breaks off in the midst of an event, and answers with errors.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    super::{Request, endpoint::has_gone},
    ACCOUNT,
};
use crate::torture::Dice;

/// What its ids begin with; a real one's do with the time of its start.
const RUN: &str = "1700000000000-";
/// How often it says that it is there (`HttpServerHandler.java`); one that lies does so more often, for more to go wrong.
const KEEPALIVE: Duration = Duration::from_secs(15);
const OFTEN: Duration = Duration::from_millis(50);
/// How often it looks whether there is something to tell.
const LOOK: Duration = Duration::from_millis(2);
/// One of so many questions for a stream, and one of so many events, goes wrong.
const WRONG: u64 = 3;
const SELDOM: u64 = 40;

/// The stream.
#[derive(Debug, Default)]
pub struct EventStream {
    dice: Option<Mutex<Dice>>,
    state: Mutex<State>,
    /// Where another one is that is handed through, as `127.0.0.1:PORT`.
    real: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Vec<u8>>,
    /// What was asked for, by the ids behind which.
    asked: Vec<String>,
    did: BTreeMap<&'static str, usize>,
    /// Each kind of wrong has its turn.
    turn: usize,
    /// Whether the last question was answered with an error: the next is not, for a client waits longer each time.
    was_wrong: bool,
}

impl State {
    fn count(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }
}

/// A message of somebody's, with these members of it and of its envelope.
pub fn message(uuid: &str, at: i64, data: &Value) -> Value {
    let mut whole = json!({"timestamp": at, "message": null, "expiresInSeconds": 0, "isExpirationUpdate": false, "viewOnce": false});
    for (name, value) in data.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    envelope(uuid, at, &json!({ "dataMessage": whole }))
}

/// Something else of somebody's.
pub fn envelope(uuid: &str, at: i64, content: &Value) -> Value {
    let now = gatepost::clock::now_ms();
    let mut envelope = json!({
        "source": uuid, "sourceNumber": null, "sourceUuid": uuid, "sourceName": "Ann", "sourceDevice": 1,
        "timestamp": at, "serverReceivedTimestamp": now, "serverDeliveredTimestamp": now,
    });
    for (name, value) in content.as_object().into_iter().flatten() {
        envelope[name] = value.clone();
    }
    json!({"account": ACCOUNT, "envelope": envelope})
}

impl EventStream {
    /// One that lies.
    pub fn lying(dice: Dice) -> Self {
        Self { dice: Some(Mutex::new(dice)), ..Self::default() }
    }

    /// From now on what another one says is handed through: that of the real program.
    pub fn hand_through(&self, address: &str) {
        *self.real.lock().unwrap_or_else(PoisonError::into_inner) = Some(address.to_owned());
    }

    /// Something happens. Its number.
    pub fn happens(&self, event: &Value) -> usize {
        self.says(event.to_string().as_bytes())
    }

    /// The same with any bytes for an event. Its number.
    pub fn says(&self, data: &[u8]) -> usize {
        let mut state = self.state();
        state.events.push(data.to_vec());
        state.events.len()
    }

    /// How many events are behind this id.
    pub fn passed(&self, id: &str) -> usize {
        id.strip_prefix(RUN).and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Behind which ids it was asked for, one each time.
    pub fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }

    /// What it did, and how often.
    pub fn did(&self) -> BTreeMap<&'static str, usize> {
        self.state().did.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number below `end`; of an honest one always the last.
    fn throw(&self, end: u64) -> u64 {
        let dice =
            self.dice.as_ref().map(|dice| dice.lock().unwrap_or_else(PoisonError::into_inner).below(end));
        dice.unwrap_or(end - 1)
    }

    /// Serves one who listens, until they are gone.
    pub(super) fn serve(&self, request: &Request, mut connection: &TcpStream) -> Result<()> {
        let last = request.header("last-event-id").to_owned();
        self.state().asked.push(last.clone());
        let of = format!("account={}", ACCOUNT.replace('+', "%2B"));
        if request.query != of {
            return Ok(connection.write_all(b"HTTP/1.1 400 x\r\nContent-Length: 0\r\n\r\n")?);
        }
        let real = self.real.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(real) = real {
            return hand_through(&real, connection);
        }
        if self.is_wrong(connection)? {
            return Ok(());
        }
        connection.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        )?;
        let mut next = self.passed(&last);
        if last.is_empty() || next > 0 && self.throw(6) == 0 {
            next = 0;
            self.state().count("all of it again");
        }
        let keepalive = if self.dice.is_some() { OFTEN } else { KEEPALIVE };
        let mut silent = Duration::ZERO;
        while !has_gone(connection) {
            let event = self.state().events.get(next).cloned();
            let Some(event) = event else {
                thread::sleep(LOOK);
                silent += LOOK;
                if silent >= keepalive {
                    silent = Duration::ZERO;
                    chunk(connection, b":\n")?;
                }
                continue;
            };
            next += 1;
            let id = format!("id:{RUN}{next}\nevent:receive\ndata:");
            let whole = [id.as_bytes(), &event, b"\n\n"].concat();
            if self.throw(SELDOM) == 0 {
                if self.lie(connection, &whole)? {
                    return Ok(());
                }
                next = next.saturating_sub(usize::try_from(self.throw(5)).unwrap_or(0));
                continue;
            }
            chunk(connection, &whole)?;
        }
        Ok(())
    }

    /// Answers with an error, if the dice say so.
    fn is_wrong(&self, mut connection: &TcpStream) -> Result<bool> {
        let thrown = self.dice.is_some() && self.throw(WRONG) == 0;
        let turn = {
            let mut state = self.state();
            let is_wrong = thrown && !state.was_wrong;
            state.was_wrong = is_wrong;
            state.turn += 1;
            is_wrong.then_some(state.turn % 4)
        };
        let Some(turn) = turn else { return Ok(false) };
        let (what, head) = match turn {
            0 => ("500", "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"),
            1 => ("429", "HTTP/1.1 429 x\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"),
            2 => (
                "no stream",
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            ),
            _ => ("no answer", ""),
        };
        self.state().count(what);
        connection.write_all(head.as_bytes())?;
        Ok(true)
    }

    /// Tells an event otherwise than once and whole; whether the stream is over then.
    fn lie(&self, connection: &TcpStream, whole: &[u8]) -> Result<bool> {
        let turn = {
            let mut state = self.state();
            state.turn += 1;
            state.turn % 4
        };
        let (what, ends) = match turn {
            0 => ("half an event", true),
            1 => ("twice", false),
            2 => ("told again", false),
            _ => ("cut off", true),
        };
        self.state().count(what);
        match turn {
            0 => chunk(connection, &whole[..whole.len() / 2])?,
            1 => chunk(connection, &[whole, whole].concat())?,
            _ => chunk(connection, whole)?,
        }
        if ends {
            connection.shutdown(Shutdown::Both)?;
        }
        Ok(ends)
    }
}

/// A piece of a body whose length nobody knows (RFC 9112 §7.1).
fn chunk(mut connection: &TcpStream, bytes: &[u8]) -> Result<()> {
    let head = format!("{:x}\r\n", bytes.len());
    Ok(connection.write_all(&[head.as_bytes(), bytes, b"\r\n"].concat())?)
}

/// What another one says, as it comes. It is asked for all of its accounts: it may have none.
fn hand_through(real: &str, mut connection: &TcpStream) -> Result<()> {
    let mut from = TcpStream::connect(real)?;
    from.write_all(
        format!("GET /api/v1/events HTTP/1.1\r\nHost: {real}\r\nAccept: text/event-stream\r\n\r\n")
            .as_bytes(),
    )?;
    let mut bytes = [0; 4096];
    loop {
        match from.read(&mut bytes)? {
            0 => return Ok(()),
            count => connection.write_all(&bytes[..count])?,
        }
    }
}

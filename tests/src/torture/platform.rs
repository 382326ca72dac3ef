//! A platform that records every request and answers as badly as it is told.
//!
//! It speaks as much of Matrix's client-server API as sending takes: the hub's adapter for it is the one with keys. An
//! account whose token is [`FORGETFUL`] is one without: what comes twice there is there twice. What is in a room by then
//! and what the client was told are two things, and only here are both known.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::Dice;
use crate::mocks::endpoint::{Port, has_gone};

/// The token of an account whose resent messages are not recognised.
pub const FORGETFUL: &str = "forgetful";
/// The token of an account that is told to come back in [`PATIENCE`], once.
pub const PATIENT: &str = "patient";
/// The token of an account whose requests are first answered when nobody waits any more.
pub const LATE: &str = "late";
/// What somebody else's system once cut to a minute. Seconds.
pub const PATIENCE: u64 = 6_775;

/// No request here is longer.
const MAX_REQUEST: usize = 256 * 1024;

/// How an answer goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// 429, with a time to come back.
    TooMany,
    /// 503, by which the platform says that nothing was done.
    Unavailable,
    /// 500, and nothing was done, which nobody knows.
    Error,
    /// The connection is closed, and nothing was done.
    ClosedBefore,
    /// It is done, and the connection is closed.
    ClosedAfter,
    /// It is done, and the answer is no answer.
    Garbage,
    /// It is done, and the answer comes when nobody waits for it any more.
    TooLate,
}

impl Fault {
    /// Whether the event is in the room all the same.
    pub const fn is_done(self) -> bool {
        matches!(self, Self::ClosedAfter | Self::Garbage | Self::TooLate)
    }

    /// Whether the client knows that nothing was done.
    pub const fn is_told(self) -> bool {
        matches!(self, Self::TooMany | Self::Unavailable)
    }
}

/// How badly it answers.
#[derive(Debug, Clone, Default)]
pub struct Behaviour {
    /// Up to so long before a request is done, and again before it is answered. Milliseconds.
    pub dawdles: u64,
    /// How many of a thousand requests go wrong, and how. Each request at most once so that it costs an
    /// attempt, and once otherwise.
    pub faults: Vec<(Fault, u64)>,
}

/// An event in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The token of the account that it came from.
    pub token: String,
    /// The request's transaction id.
    pub key: String,
    /// Its text.
    pub body: String,
}

#[derive(Default)]
struct Ledger {
    /// By room, in the order in which they came.
    rooms: BTreeMap<String, Vec<Event>>,
    /// By token and key.
    known: HashMap<(String, String), String>,
    /// How often each key was asked for.
    asked: HashMap<String, u64>,
    /// What went wrong, by key.
    went_wrong: Vec<(String, Fault)>,
    /// Keys that were answered when the client had gone.
    gone: HashSet<String>,
}

struct Shared {
    behaviour: Behaviour,
    dice: Mutex<Dice>,
    ledger: Mutex<Ledger>,
}

/// The platform. Stops listening when it is dropped.
pub struct Platform {
    port: Port,
    shared: Arc<Shared>,
}

impl Platform {
    /// Starts one.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn start(behaviour: Behaviour, dice: Dice) -> Result<Self> {
        let shared = Arc::new(Shared { behaviour, dice: Mutex::new(dice), ledger: Mutex::default() });
        let serving = Arc::clone(&shared);
        Ok(Self { port: Port::open(move |stream| serving.serve(stream))?, shared })
    }

    /// The account of this name, with the token in `folder`, for a hub's configuration.
    ///
    /// # Errors
    /// The file system's.
    pub fn account(&self, name: &str, folder: &std::path::Path) -> Result<String> {
        let file = folder.join(format!("token-{name}"));
        std::fs::write(&file, name)?;
        let keys = if name == FORGETFUL { "resend_minutes = 0\n" } else { "" };
        Ok(format!(
            "[channels.matrix.{name}]\nhomeserver = \"http://127.0.0.1:{}\"\ntoken = \"file:{}\"\nlimit = 200\n{keys}",
            self.port.port(),
            file.display()
        ))
    }

    /// The events in a room, in the order in which they came.
    pub fn room(&self, room: &str) -> Vec<Event> {
        self.shared.ledger().rooms.get(room).cloned().unwrap_or_default()
    }

    /// How many events there are in all rooms.
    pub fn events(&self) -> usize {
        self.shared.ledger().rooms.values().map(Vec::len).sum()
    }

    /// How often this key was asked for.
    pub fn asked(&self, key: &str) -> u64 {
        self.shared.ledger().asked.get(key).copied().unwrap_or(0)
    }

    /// How many keys were asked for more than once.
    pub fn asked_again(&self) -> usize {
        self.shared.ledger().asked.values().filter(|times| **times > 1).count()
    }

    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.shared.ledger().asked.values().sum()
    }

    /// What went wrong with this key.
    pub fn faults_of(&self, key: &str) -> Vec<Fault> {
        self.shared.ledger().went_wrong.iter().filter(|(of, _)| of == key).map(|(_, fault)| *fault).collect()
    }

    /// How often it went wrong, and how.
    pub fn faults(&self) -> BTreeMap<Fault, usize> {
        let mut faults = BTreeMap::new();
        for (_, fault) in &self.shared.ledger().went_wrong {
            *faults.entry(*fault).or_default() += 1;
        }
        faults
    }

    /// How many requests were answered when their client had gone.
    pub fn answered_nobody(&self) -> usize {
        self.shared.ledger().gone.len()
    }
}

/// A request: its path in segments.
pub(super) struct Request {
    method: String,
    pub(super) path: Vec<String>,
    token: String,
    pub(super) body: Vec<u8>,
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dice(&self, end: u64) -> u64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).below(end)
    }

    fn serve(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read(&mut reader)? {
            let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
            match (request.method.as_str(), path.as_slice()) {
                ("PUT", ["_matrix", "client", "v3", "rooms", room, "send", _, key]) => {
                    self.send(&stream, &request, room, key)?;
                }
                _ => {
                    answer(&stream, 404, &json!({"errcode": "M_NOT_FOUND", "error": "not here"}).to_string())?
                }
            }
        }
        Ok(())
    }

    fn send(&self, stream: &TcpStream, request: &Request, room: &str, key: &str) -> Result<()> {
        let fault = self.fault(&request.token, key);
        self.dawdle();
        if let Some(fault) = fault.filter(|fault| !fault.is_done()) {
            return match fault {
                Fault::TooMany if request.token == PATIENT => too_many(stream, PATIENCE * 1_000),
                Fault::TooMany => too_many(stream, 200 + self.dice(400)),
                Fault::Unavailable => {
                    answer(stream, 503, &json!({"errcode": "M_UNKNOWN", "error": "later"}).to_string())
                }
                Fault::Error => {
                    answer(stream, 500, &json!({"errcode": "M_UNKNOWN", "error": "oh"}).to_string())
                }
                _ => Ok(stream.shutdown(Shutdown::Both)?),
            };
        }
        let body: Value = serde_json::from_slice(&request.body)?;
        let body = body["body"].as_str().context("an event without a body")?.to_owned();
        let id = self.put(&request.token, room, key, body);
        match fault {
            Some(Fault::ClosedAfter) => return Ok(stream.shutdown(Shutdown::Both)?),
            Some(Fault::Garbage) => return answer(stream, 200, "<html>It works!</html>"),
            // The adapter waits for 30 s.
            Some(Fault::TooLate) => thread::sleep(Duration::from_secs(33)),
            _ => self.dawdle(),
        }
        if has_gone(stream) {
            self.ledger().gone.insert(key.to_owned());
        }
        answer(stream, 200, &json!({"event_id": id}).to_string())
    }

    /// Puts an event into its room, unless it is known there; its id.
    fn put(&self, token: &str, room: &str, key: &str, body: String) -> String {
        let mut ledger = self.ledger();
        let known = (token.to_owned(), key.to_owned());
        if token != FORGETFUL
            && let Some(id) = ledger.known.get(&known)
        {
            return id.clone();
        }
        let event = Event { token: token.to_owned(), key: key.to_owned(), body };
        let events = ledger.rooms.entry(room.to_owned()).or_default();
        events.push(event);
        let id = format!("${}-{}", events.len(), key);
        ledger.known.insert(known, id.clone());
        id
    }

    fn fault(&self, token: &str, key: &str) -> Option<Fault> {
        let mut thrown = self.dice(1_000);
        let mut ledger = self.ledger();
        *ledger.asked.entry(key.to_owned()).or_default() += 1;
        let first = ledger.asked.get(key) == Some(&1);
        let fault = if token == PATIENT {
            first.then_some(Fault::TooMany)
        } else if token == LATE {
            first.then_some(Fault::TooLate)
        } else {
            self.behaviour.faults.iter().find_map(|(fault, share)| {
                let hit = thrown < *share;
                thrown = thrown.saturating_sub(*share);
                hit.then_some(*fault)
            })
        };
        // More than one of those that cost an attempt would cost half a minute, and then two.
        let costs = |fault: Fault| fault != Fault::TooMany;
        let fault = fault.filter(|fault| {
            !ledger.went_wrong.iter().any(|(of, was)| of == key && costs(*was) == costs(*fault))
        });
        if let Some(fault) = fault {
            ledger.went_wrong.push((key.to_owned(), fault));
        }
        fault
    }

    fn dawdle(&self) {
        if self.behaviour.dawdles > 0 {
            thread::sleep(Duration::from_millis(self.dice(self.behaviour.dawdles)));
        }
    }
}

pub(super) fn read(reader: &mut BufReader<TcpStream>) -> Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().context("a method")?.to_owned(), words.next().context("a path")?);
    let path = path.trim_matches('/').split('/').map(|part| part.replace("%21", "!").replace("%3A", ":"));
    let mut request = Request { method, path: path.collect(), token: String::new(), body: vec![] };
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                request.token = value.trim_start_matches("Bearer ").to_owned();
            }
            Some(_) => {}
        }
    }
    if length > MAX_REQUEST {
        bail!("a request of {length} bytes");
    }
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn too_many(stream: &TcpStream, milliseconds: u64) -> Result<()> {
    let body = json!({"errcode": "M_LIMIT_EXCEEDED", "error": "slow down", "retry_after_ms": milliseconds});
    answer(stream, 429, &body.to_string())
}

pub(super) fn answer(mut stream: &TcpStream, status: u16, body: &str) -> Result<()> {
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Ok(stream.write_all((head + body).as_bytes())?)
}

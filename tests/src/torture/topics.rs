//! An ntfy that answers badly: it ends streams in their midst, tells what is new before what it had kept, and answers with errors,
//! in an order that comes again with its dice.
//!
//! Of <https://docs.ntfy.sh/subscribe/api/> it keeps one promise: what was published is told to whoever goes on at a time that is not
//! later. Its clock is [`STEP`] seconds further with each message, so that a time says which message it is.

use std::{
    collections::BTreeMap,
    io::{BufReader, Write as _},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    Dice,
    platform::{Request, answer, read},
};
use crate::mocks::endpoint::{Port, has_gone};

/// Between two messages, in seconds: more than a client goes back.
pub const STEP: i64 = 100;
/// How long ago its clock began: what is told is of today.
const AGO: i64 = 50_000;
/// How often it says that it is there (`keepalive-interval` of <https://docs.ntfy.sh/config/>); one that lies does so more often, for more
/// to go wrong.
const ALIVE: Duration = Duration::from_secs(45);
const OFTEN: Duration = Duration::from_millis(100);
/// How often it looks whether there is something to tell.
const LOOK: Duration = Duration::from_millis(5);
/// One of so many requests for a stream is answered with an error, and one of so many lines is the last of its stream.
const WRONG: u64 = 3;
const CUT: u64 = 6;

/// The server. Stops listening when it is dropped.
pub struct Topics {
    port: Port,
    shared: Arc<Shared>,
}

struct Shared {
    dice: Option<Mutex<Dice>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When its clock began.
    began: i64,
    /// Every line, with its time.
    lines: Vec<(i64, String)>,
    /// What the hub published: topic and text.
    sent: Vec<(String, String)>,
    did: BTreeMap<&'static str, usize>,
    errors: u64,
    /// Whether the last stream was none, or was cut off: the next is whole, for a client waits longer each time.
    was_wrong: bool,
}

impl Topics {
    /// Starts one; an honest one without dice.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn start(dice: Option<Dice>) -> Result<Self> {
        let state = State { began: gatepost::clock::now_ms() / 1000 - AGO, ..State::default() };
        let shared = Arc::new(Shared { dice: dice.map(Mutex::new), state: Mutex::new(state) });
        let serving = Arc::clone(&shared);
        Ok(Self { port: Port::open(move |stream| serving.serve(stream))?, shared })
    }

    /// The account that reads these topics, as a configuration.
    pub fn account(&self, topics: &[String]) -> String {
        let port = self.port.port();
        format!(
            "[channels.ntfy.home]\nurl = \"http://127.0.0.1:{port}\"\nreceive = true\ntopics = {topics:?}\n"
        )
    }

    /// Tells this line, with a time and an id unless it has its own. Its time.
    pub fn tell(&self, line: Value) -> i64 {
        self.shared.tell(line)
    }

    /// What the hub has published to a topic.
    pub fn sent(&self, topic: &str) -> Vec<String> {
        let state = self.shared.state();
        state.sent.iter().filter(|(to, _)| to == topic).map(|(_, text)| text.clone()).collect()
    }

    /// What it did, and how often.
    pub fn did(&self) -> BTreeMap<&'static str, usize> {
        self.shared.state().did.clone()
    }
}

impl State {
    fn now(&self) -> i64 {
        self.began + STEP * i64::try_from(self.lines.len()).unwrap_or(0)
    }

    fn count(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the dice say so: never those of an honest one.
    fn falls(&self, one_of: u64) -> bool {
        let throw =
            |dice: &Mutex<Dice>| dice.lock().unwrap_or_else(PoisonError::into_inner).below(one_of) == 0;
        self.dice.as_ref().is_some_and(throw)
    }

    fn tell(&self, mut line: Value) -> i64 {
        let mut state = self.state();
        let (time, id) = (state.now(), format!("id{:010}", state.lines.len()));
        for (name, value) in [("id", json!(id)), ("time", json!(time))] {
            if line.is_object() && line.get(name).is_none() {
                line[name] = value;
            }
        }
        state.lines.push((time, line.to_string()));
        time
    }

    fn serve(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read(&mut reader)? {
            let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
            match path.as_slice() {
                ["v1", "health"] => answer(&stream, 200, "{\"healthy\":true}")?,
                [""] => self.publish(&stream, &request)?,
                [_, end] if end.starts_with("json") => return self.stream(&stream, end),
                _ => answer(&stream, 404, "{\"code\":40401,\"http\":404,\"error\":\"page not found\"}")?,
            }
        }
        Ok(())
    }

    /// Takes a message, and tells it before it answers, as a server does.
    fn publish(&self, stream: &TcpStream, request: &Request) -> Result<()> {
        let told: Value = serde_json::from_slice(&request.body)?;
        let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        let (topic, message) = (text("topic"), text("message"));
        let id = format!("own{:09}", self.state().sent.len());
        self.state().sent.push((topic.clone(), message.clone()));
        self.tell(
            json!({"id": id, "event": "message", "topic": topic, "title": text("title"), "message": message}),
        );
        thread::sleep(Duration::from_millis(20));
        answer(stream, 200, &json!({ "id": id, "event": "message" }).to_string())
    }

    fn stream(&self, mut stream: &TcpStream, end: &str) -> Result<()> {
        let is_whole = std::mem::take(&mut self.state().was_wrong);
        if !is_whole && self.falls(WRONG) {
            self.state().was_wrong = true;
            self.say_no(stream)?;
            return Ok(stream.shutdown(Shutdown::Both)?);
        }
        let since =
            end.split_once("since=").map(|(_, since)| since.parse::<i64>().context("a time")).transpose()?;
        let (first, open) = {
            let state = self.state();
            let to_come = state.lines.iter().position(|(time, _)| since.is_some_and(|since| *time >= since));
            let open = json!({"id": "open", "time": state.now() - STEP, "event": "open", "topic": "all"});
            (to_come.unwrap_or(state.lines.len()), open)
        };
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n{open}\n"
        )?;
        let kept = self.state().lines[first..].to_vec();
        if self.falls(2)
            && let Some((_, newest)) = kept.last()
        {
            writeln!(stream, "{newest}")?;
            self.state().count("the newest first");
        }
        let mut at = first;
        while !has_gone(stream) {
            let next = self.state().lines.get(at).cloned();
            match next {
                Some((_, line)) => {
                    stream.write_all(format!("{line}\n").as_bytes())?;
                    at += 1;
                    if !is_whole && self.falls(CUT) {
                        self.state().was_wrong = true;
                        self.state().count("cut off");
                        return Ok(stream.shutdown(Shutdown::Both)?);
                    }
                }
                None => {
                    writeln!(
                        stream,
                        "{}",
                        json!({"id": "alive", "time": 1, "event": "keepalive", "topic": "all"})
                    )?;
                    let (said, alive) = (Instant::now(), if self.dice.is_some() { OFTEN } else { ALIVE });
                    while self.state().lines.len() == at && said.elapsed() < alive && !has_gone(stream) {
                        thread::sleep(LOOK);
                    }
                }
            }
        }
        Ok(())
    }

    /// Answers with an error.
    fn say_no(&self, mut stream: &TcpStream) -> Result<()> {
        let turn = {
            let mut state = self.state();
            state.errors += 1;
            state.errors % 4
        };
        let what = match turn {
            0 => {
                let body = "{\"code\":42901,\"http\":429,\"error\":\"limit reached\"}";
                let length = body.len();
                write!(stream, "HTTP/1.1 429 x\r\nretry-after: 1\r\ncontent-length: {length}\r\n\r\n{body}")?;
                "429"
            }
            1 => {
                answer(stream, 500, "{\"error\":\"internal server error\"}")?;
                "500"
            }
            2 => {
                answer(stream, 200, "<html>It works!</html>")?;
                "no stream"
            }
            _ => "no answer",
        };
        self.state().count(what);
        Ok(())
    }
}

//! Discord's Gateway on loopback, as strict as its pages are (<https://docs.discord.com/developers/events/gateway> and
//! <https://docs.discord.com/developers/events/gateway-events>): what they forbid is a fault, and closes the connection as
//! they say.
//!
//! Each connection follows a script of its own. Whatever the script is at, heartbeats are answered, and asked for.

mod rules;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{CloseFrame, Role, frame::coding::CloseCode},
    },
};

use crate::channels::kit::websocket::accepting;

/// What happens on a connection, one after the other.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels) enum Step {
    /// It says hello, with this many milliseconds between two heartbeats.
    Hello(u64),
    /// Waits for an Identify, and is ready.
    Ready,
    /// Waits for a Resume of the session, and has resumed it.
    Resumed,
    /// Waits for a Resume of the session from any number on, tells again what came after it, and has resumed it.
    Replays,
    /// Waits for an Identify or a Resume, and calls the session invalid: it may be resumed, or not.
    Invalid(bool),
    /// Waits for a change of status.
    Shows,
    /// Asks for a heartbeat, and waits for it.
    Beat,
    /// Says that something happened.
    Dispatch(&'static str),
    /// Asks to connect anew, and waits for that.
    Reconnect,
    /// Answers no heartbeat any more, and waits until that is noticed.
    Deaf,
    /// Waits for an Identify, and closes with this code.
    Refuse(u16),
    /// Closes with this code.
    Close(u16),
    /// Sends this as it is.
    Raw(&'static str),
    /// Says that something happened, in more than this many bytes.
    Long(usize),
    /// Says as much of a server, and goes on.
    LongServer(usize),
    /// Hangs up.
    HangUp,
    /// Goes on for as long as the other side does.
    Stay,
}

/// The bot's id, and that of its session.
pub(in crate::channels) const BOT: &str = "1986";
pub(in crate::channels) const SESSION: &str = "5e551011";

/// The Gateway, and the two requests beside it that lead to it.
pub(in crate::channels) struct Mock {
    /// Where it listens on 127.0.0.1.
    pub(in crate::channels) port: u16,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    token: String,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    /// What came over its connections: the opcode and the data.
    heard: Vec<(u64, Value)>,
    /// Requests beside them: the first line and the body.
    requests: Vec<(String, Value)>,
    /// What was forbidden.
    faults: Vec<String>,
    /// The number of the last dispatch.
    seq: u64,
    /// How many sessions may still begin.
    remaining: u64,
    /// All that was told, by its number.
    told: Vec<(u64, Value)>,
    /// What else is answered to requests with this line, one after the other; the last one stays.
    answers: HashMap<&'static str, VecDeque<(u16, String)>>,
    /// Whether a session was begun in which something is heard.
    receives: bool,
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Mock {
    /// Starts one that takes this token, whose connections go so; those after them are hung up at once.
    pub(in crate::channels) fn start(token: &str, script: &[&'static [Step]]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (listener, port) = {
            let port = listener.local_addr().unwrap().port();
            (TcpListener::from_std(listener).unwrap(), port)
        };
        let notes = Mutex::new(Notes { remaining: 999, ..Notes::default() });
        let shared = Arc::new(Shared { token: token.into(), notes });
        let (mut script, of) = (VecDeque::from(script.to_vec()), shared.clone());
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Some((stream, path, key)) = of.answer(stream, port).await else { continue };
                let Some(steps) = script.pop_front() else { continue };
                tokio::spawn(upgraded(stream, path, key, steps, port, of.clone()));
            }
        });
        Self { port, shared, server }
    }

    /// The data of all that came with this opcode.
    pub(in crate::channels) fn heard(&self, op: u64) -> Vec<Value> {
        let notes = self.shared.notes();
        notes.heard.iter().filter(|(of, _)| *of == op).map(|(_, d)| d.clone()).collect()
    }

    /// Requests beside its connections.
    pub(in crate::channels) fn requests(&self) -> Vec<(String, Value)> {
        self.shared.notes().requests.clone()
    }

    /// What was forbidden so far.
    pub(in crate::channels) fn faults(&self) -> Vec<String> {
        self.shared.notes().faults.clone()
    }

    /// Requests with this line are answered so, one after the other.
    pub(in crate::channels) fn answers(&self, line: &'static str, answers: &[(u16, &str)]) {
        let answers = answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
        self.shared.notes().answers.insert(line, answers);
    }

    /// So many sessions may still begin.
    pub(super) fn has_left(&self, sessions: u64) {
        self.shared.notes().remaining = sessions;
    }

    /// Waits until so many have come with this opcode.
    pub(in crate::channels) async fn until(&self, op: u64, count: usize) {
        let heard = async {
            while self.heard(op).len() < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(20), heard).await.unwrap_or_else(|_| {
            panic!("no {count} with the opcode {op}, but {:?}, faults {:?}", self.heard(op), self.faults())
        });
    }
}

impl Notes {
    fn answer(&mut self, line: &str) -> (u16, String) {
        match self.answers.get_mut(line) {
            Some(answers) if answers.len() > 1 => answers.pop_front(),
            Some(answers) => answers.front().cloned(),
            None => None,
        }
        .unwrap_or((204, String::new()))
    }
}

impl Shared {
    fn notes(&self) -> std::sync::MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, what: impl Into<String>) {
        self.notes().faults.push(what.into());
    }

    /// Answers a request, or gives it back with its path and its key where it wants a WebSocket.
    async fn answer(&self, mut stream: TcpStream, port: u16) -> Option<(TcpStream, String, String)> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).ok()?;
        let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
        let header = |name: &str| {
            let named = |line: &str| line.to_ascii_lowercase().starts_with(&format!("{name}: "));
            head.lines().find(|line| named(line)).and_then(|line| Some(line.split_once(": ")?.1.to_owned()))
        };
        if header("upgrade").as_deref() == Some("websocket") {
            // RFC 6455 §4.1, and <https://docs.discord.com/developers/events/gateway#connecting>.
            let path = line.strip_prefix("GET ")?.to_owned();
            let is_one = path.ends_with("?v=10&encoding=json")
                && header("connection").is_some_and(|value| value.eq_ignore_ascii_case("upgrade"))
                && header("sec-websocket-version").as_deref() == Some("13")
                // Nobody but Discord's own interface is told the token in a header.
                && header("authorization").is_none();
            if !is_one {
                self.fault(format!("not a request for a WebSocket of the Gateway: {head}"));
            }
            return Some((stream, path, header("sec-websocket-key")?));
        }
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        let known = header("authorization") == Some(format!("Bot {}", self.token));
        let (status, answer) = match line.as_str() {
            line if !line.contains(" /api/") => {
                if header("authorization").is_some() {
                    self.fault("the token was told to who keeps files");
                }
                self.notes().answer(line)
            }
            _ if !known => (401, r#"{"message":"401: Unauthorized","code":0}"#.to_owned()),
            // <https://docs.discord.com/developers/events/gateway#get-gateway-bot>.
            "GET /api/v10/gateway/bot" => {
                let remaining = self.notes().remaining;
                let limit = json!({"total": 1000, "remaining": remaining, "reset_after": 14_400_000, "max_concurrency": 1});
                let url = format!("ws://127.0.0.1:{port}/first");
                (200, json!({"url": url, "shards": 1, "session_start_limit": limit}).to_string())
            }
            "GET /api/v10/users/@me" => (200, json!({"id": BOT, "username": "hub"}).to_string()),
            line => self.notes().answer(line),
        };
        self.notes().requests.push((line, serde_json::from_slice(&body).unwrap_or_default()));
        let head =
            format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
        let _ = stream.write_all((head + &answer).as_bytes()).await;
        None
    }
}

async fn upgraded(
    mut stream: TcpStream,
    path: String,
    key: String,
    steps: &'static [Step],
    port: u16,
    shared: Arc<Shared>,
) {
    let accept = accepting(&key);
    let head = format!(
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let every = Duration::from_secs(60);
    let mut line = Line { socket, path, port, shared, every, begun: false, deaf: false };
    for step in steps {
        if line.play(*step).await.is_none() {
            return;
        }
    }
}

/// One connection.
struct Line {
    socket: WebSocketStream<TcpStream>,
    path: String,
    port: u16,
    shared: Arc<Shared>,
    /// Between two heartbeats.
    every: Duration,
    /// Whether there was an Identify or a Resume.
    begun: bool,
    deaf: bool,
}

impl Line {
    /// Nothing, where it is over.
    async fn play(&mut self, step: Step) -> Option<()> {
        match step {
            Step::Hello(every) => {
                self.every = Duration::from_millis(every);
                self.say(json!({"op": 10, "d": {"heartbeat_interval": every}, "s": null, "t": null})).await
            }
            Step::Ready => {
                self.wait_for(2).await?;
                let resume = format!("ws://127.0.0.1:{}/again", self.port);
                self.dispatch("READY", &json!({
                    "v": 10, "user": {"id": BOT, "username": "hub", "bot": true}, "guilds": [], "session_id": SESSION,
                    "resume_gateway_url": resume, "application": {"id": "42", "flags": 0},
                })).await
            }
            Step::Resumed => {
                let d = self.wait_for(6).await?;
                let seq = self.shared.notes().seq;
                if (&d["session_id"], &d["seq"]) != (&json!(SESSION), &json!(seq))
                    || !self.path.starts_with("/again")
                {
                    self.shared.fault(format!("not how the session is resumed: {d} at {}", self.path));
                }
                self.dispatch("RESUMED", &json!({})).await
            }
            Step::Replays => {
                let d = self.wait_for(6).await?;
                let (seq, told) = {
                    let notes = self.shared.notes();
                    (notes.seq, notes.told.clone())
                };
                let from = d["seq"].as_u64().unwrap_or(u64::MAX);
                if d["session_id"] != SESSION || from > seq || !self.path.starts_with("/again") {
                    self.shared.fault(format!("not how the session is resumed: {d} at {}", self.path));
                }
                for (_, event) in told.into_iter().filter(|(seq, _)| *seq > from) {
                    self.say(event).await?;
                }
                self.dispatch("RESUMED", &json!({})).await
            }
            Step::Invalid(resumable) => {
                while !self.begun {
                    self.hear().await?;
                }
                self.say(json!({"op": 9, "d": resumable, "s": null, "t": null})).await?;
                self.stay().await
            }
            Step::Shows => self.wait_for(3).await.map(drop),
            Step::Beat => {
                self.say(json!({"op": 1, "d": null, "s": null, "t": null})).await?;
                self.wait_for(1).await.map(drop)
            }
            Step::Dispatch(event) => {
                let event: Value = serde_json::from_str(event).unwrap();
                self.dispatch(event["t"].as_str().unwrap(), &event["d"]).await
            }
            Step::Reconnect => {
                self.say(json!({"op": 7, "d": null, "s": null, "t": null})).await?;
                self.stay().await
            }
            Step::Deaf => {
                self.deaf = true;
                self.stay().await
            }
            Step::Refuse(code) => {
                self.wait_for(2).await?;
                self.close(code).await
            }
            Step::Close(code) => self.close(code).await,
            Step::Raw(text) => {
                self.socket.send(Message::text(text)).await.ok()?;
                self.stay().await
            }
            Step::Long(bytes) => {
                // Who does not read to the end hangs up in the midst of it.
                let _ = self.dispatch("LONG", &json!("x".repeat(bytes))).await;
                self.stay().await
            }
            Step::LongServer(bytes) => {
                self.dispatch("GUILD_CREATE", &json!({"id": "1", "channels": ["x".repeat(bytes)]})).await
            }
            Step::HangUp => None,
            Step::Stay => self.stay().await,
        }
    }

    async fn say(&mut self, event: Value) -> Option<()> {
        self.socket.send(Message::text(event.to_string())).await.ok()
    }

    async fn dispatch(&mut self, name: &str, d: &Value) -> Option<()> {
        let event = {
            let mut notes = self.shared.notes();
            notes.seq += 1;
            let event = json!({"op": 0, "t": name, "s": notes.seq, "d": d});
            let seq = notes.seq;
            notes.told.push((seq, event.clone()));
            event
        };
        self.say(event).await
    }

    async fn close(&mut self, code: u16) -> Option<()> {
        let frame = CloseFrame { code: CloseCode::from(code), reason: "Said so.".into() };
        let _ = self.socket.close(Some(frame)).await;
        // Until the other side has read it.
        let rest = async { while matches!(self.socket.next().await, Some(Ok(_))) {} };
        let _ = timeout(Duration::from_secs(1), rest).await;
        None
    }

    async fn forbid(&mut self, code: u16, what: String) -> Option<Value> {
        self.shared.fault(what);
        self.close(code).await;
        None
    }

    async fn stay(&mut self) -> Option<()> {
        while self.hear().await.is_some() {}
        None
    }

    /// The data of the next event with this opcode.
    async fn wait_for(&mut self, op: u64) -> Option<Value> {
        loop {
            let event = self.hear().await?;
            if event["op"] == op {
                return Some(event["d"].clone());
            }
        }
    }

    /// The next event, if it may be.
    async fn hear(&mut self) -> Option<Value> {
        // A heartbeat is due in every interval.
        let message = match timeout(self.every * 2 + Duration::from_millis(300), self.socket.next()).await {
            Ok(message) => message,
            Err(_) => return self.forbid(4009, "no heartbeat came".into()).await,
        };
        let text = match message {
            Some(Ok(Message::Text(text))) => text.to_string(),
            // <https://docs.discord.com/developers/events/gateway#initiating-a-disconnect>.
            Some(Ok(Message::Close(Some(frame)))) if matches!(u16::from(frame.code), 1000 | 1001) => {
                self.shared.fault("the session was ended and not only the connection");
                return None;
            }
            _ => return None,
        };
        // <https://docs.discord.com/developers/events/gateway#sending-events>.
        let Ok(event) = serde_json::from_str::<Value>(&text) else {
            return self.forbid(4002, format!("no JSON: {text}")).await;
        };
        if text.len() > 4096 {
            return self.forbid(4002, format!("{} bytes", text.len())).await;
        }
        let (seq, receives) = {
            let mut notes = self.shared.notes();
            notes.receives |= event["d"]["intents"].as_u64().is_some_and(|intents| intents > 0);
            (notes.seq, notes.receives)
        };
        let wrong = rules::wrong(&event, self.begun, &self.shared.token, seq, receives);
        if let Some(code) = wrong {
            return self.forbid(code, format!("{code}: {text}")).await;
        }
        let (op, d) = (event["op"].as_u64().unwrap_or_default(), event["d"].clone());
        self.begun |= matches!(op, 2 | 6);
        self.shared.notes().heard.push((op, d));
        if op == 1 && !self.deaf {
            self.say(json!({"op": 11, "d": null, "s": null, "t": null})).await?;
        }
        Some(event)
    }
}

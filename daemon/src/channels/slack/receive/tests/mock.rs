//! Slack on loopback: Socket Mode's connections, each with a script of its own, and the requests beside them
//! (<https://docs.slack.dev/apis/events-api/using-socket-mode>).

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use crate::channels::kit::websocket::accepting;

pub(super) const BOT: &str = "xoxb-1-2-hush";
pub(super) const APP: &str = "xapp-1-A1-2-hush";

/// What happens on a connection, one after the other.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// It is greeted.
    Hello,
    /// Sends this; an envelope waits for its acknowledgement.
    Say(String),
    /// Waits until this was acknowledged.
    Acked(&'static str),
    /// Says that it will close, for this reason.
    Disconnect(&'static str),
    /// Waits until so many connections were opened.
    Opened(usize),
    /// Hears and says nothing more.
    Deaf,
    /// Hangs up.
    HangUp,
    /// Goes on for as long as the other side does.
    Stay,
}

/// The platform.
pub(super) struct Mock {
    pub(super) port: u16,
    notes: Arc<Mutex<Notes>>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Notes {
    scripts: VecDeque<Vec<Step>>,
    /// How many connections were opened.
    open: usize,
    acked: Vec<(usize, String)>,
    /// Methods, or paths, and what they were asked with.
    requests: Vec<(String, String)>,
    answers: HashMap<&'static str, VecDeque<(u16, String)>>,
    faults: Vec<String>,
    /// Tickets that open one connection each.
    tickets: Vec<String>,
    /// Whether what is not acknowledged is told again.
    repeats: bool,
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock(notes: &Mutex<Notes>) -> MutexGuard<'_, Notes> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mock {
    pub(super) fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = TcpListener::from_std(listener).unwrap();
        let notes = Arc::new(Mutex::new(Notes { scripts: scripts.into(), ..Notes::default() }));
        let of = notes.clone();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, port, of.clone()));
            }
        });
        Self { port, notes, server }
    }

    /// The same, with connections that go so.
    pub(super) fn then(self, scripts: Vec<Vec<Step>>) -> Self {
        lock(&self.notes).scripts.extend(scripts);
        self
    }

    /// The same, and what is not acknowledged within a moment is told again.
    pub(super) fn repeating(self) -> Self {
        lock(&self.notes).repeats = true;
        self
    }

    /// A method, or a path, is answered so, one after the other; the last one stays.
    pub(super) fn answers(&self, what: &'static str, answers: &[(u16, &str)]) {
        let answers = answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
        lock(&self.notes).answers.insert(what, answers);
    }

    pub(super) fn acked(&self) -> Vec<(usize, String)> {
        lock(&self.notes).acked.clone()
    }

    pub(super) fn faults(&self) -> Vec<String> {
        lock(&self.notes).faults.clone()
    }

    /// With what a method was asked, each time.
    pub(super) fn requests(&self, method: &str) -> Vec<String> {
        let notes = lock(&self.notes);
        notes.requests.iter().filter(|(of, _)| of == method).map(|(_, form)| form.clone()).collect()
    }

    pub(super) fn asked(&self, method: &str) -> bool {
        !self.requests(method).is_empty()
    }

    pub(super) async fn until_asked(&self, method: &str) {
        self.until(method, |notes| notes.requests.iter().any(|(of, _)| of == method)).await;
    }

    pub(super) async fn until_open(&self, count: usize) {
        self.until("connections", |notes| notes.open >= count).await;
    }

    /// Waits until these were acknowledged, each over its own connection and no other.
    pub(super) async fn until_acked(&self, all: &[(usize, &str)]) {
        self.until("acknowledgements", |notes| notes.acked.len() >= all.len()).await;
        let mut acked = self.acked();
        acked.sort();
        let expected: Vec<_> = all.iter().map(|(line, id)| (*line, (*id).to_owned())).collect();
        assert_eq!(acked, expected);
    }

    pub(super) async fn until_this_is_acked(&self, id: &str) {
        self.until(id, |notes| notes.acked.iter().any(|(_, acked)| acked == id)).await;
    }

    async fn until(&self, what: &str, so: impl Fn(&Notes) -> bool) {
        let is_so = async {
            while !so(&lock(&self.notes)) {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(20), is_so)
            .await
            .unwrap_or_else(|_| panic!("no {what}: {:?}", self.faults()));
    }
}

async fn serve(mut stream: TcpStream, port: u16, notes: Arc<Mutex<Notes>>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let header = |name: &str| {
        let named = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}: "));
        head.lines().find(named).and_then(|line| Some(line.split_once(": ")?.1.to_owned()))
    };
    let bearer = header("authorization").unwrap_or_default();
    if header("upgrade").as_deref() == Some("websocket") {
        let (line, script) = {
            let mut notes = lock(&notes);
            let ticket = path.strip_prefix("/link/?ticket=").unwrap_or_default().to_owned();
            let known = notes.tickets.len();
            notes.tickets.retain(|one| *one != ticket);
            if notes.tickets.len() == known || !bearer.is_empty() {
                notes.faults.push(format!("no ticket, or a token where none belongs: {head}"));
            }
            notes.open += 1;
            (notes.open - 1, notes.scripts.pop_front()?)
        };
        return upgraded(stream, &header("sec-websocket-key")?, line, script, notes).await;
    }
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let method = path.strip_prefix("/api/").unwrap_or(&path).to_owned();
    let (status, answer) = {
        let mut notes = lock(&notes);
        let token = if method == "apps.connections.open" { APP } else { BOT };
        if bearer != format!("Bearer {token}") {
            notes.faults.push(format!("another token: {head}"));
        }
        notes.requests.push((method.clone(), String::from_utf8_lossy(&body).into_owned()));
        let planned = match notes.answers.get_mut(method.as_str()) {
            Some(answers) if answers.len() > 1 => answers.pop_front(),
            Some(answers) => answers.front().cloned(),
            None => None,
        };
        planned.unwrap_or_else(|| match method.as_str() {
            "auth.test" => {
                let me = json!({"ok": true, "user_id": "U0HUB0001", "bot_id": "B0HUB0001", "team_id": "T0HOUSE01"});
                (200, me.to_string())
            }
            "apps.connections.open" => {
                let ticket = format!("{}", notes.requests.len());
                notes.tickets.push(ticket.clone());
                (200, json!({"ok": true, "url": format!("ws://127.0.0.1:{port}/link/?ticket={ticket}")}).to_string())
            }
            "conversations.history" | "conversations.replies" => (200, r#"{"ok":true,"messages":[]}"#.into()),
            _ => (200, r#"{"ok":false,"error":"missing_scope"}"#.into()),
        })
    };
    let kind = if answer.starts_with("<!DOCTYPE") { "text/html; charset=utf-8" } else { "application/json" };
    let head = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all((head + &answer).as_bytes()).await.ok()
}

async fn upgraded(
    mut stream: TcpStream,
    key: &str,
    line: usize,
    script: Vec<Step>,
    notes: Arc<Mutex<Notes>>,
) -> Option<()> {
    let accept = accepting(key);
    let head = format!(
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let repeats = lock(&notes).repeats;
    let mut waiting = Vec::new();
    for step in script {
        match step {
            Step::Hello => say(&mut socket, json!({"type": "hello", "num_connections": 1})).await?,
            Step::Say(text) => {
                // Whoever reads slowly is not waited for.
                socket.send(Message::text(text.clone())).await.ok()?;
                waiting.push(text);
            }
            Step::Disconnect(reason) => {
                say(&mut socket, json!({"type": "disconnect", "reason": reason})).await?
            }
            Step::Acked(id) => {
                while !lock(&notes).acked.contains(&(line, id.to_owned())) {
                    hear(&mut socket, line, &notes).await?;
                }
            }
            Step::Opened(count) => {
                while lock(&notes).open < count {
                    let _ = timeout(Duration::from_millis(5), hear(&mut socket, line, &notes)).await;
                }
            }
            Step::Deaf => sleep(Duration::from_secs(60)).await,
            Step::HangUp => return None,
            Step::Stay => {
                let mut told = Instant::now();
                loop {
                    if let Ok(heard) =
                        timeout(Duration::from_millis(20), hear(&mut socket, line, &notes)).await
                    {
                        heard?;
                    }
                    if repeats && told.elapsed() > Duration::from_millis(300) {
                        told = Instant::now();
                        for text in not_acked(&waiting, &notes) {
                            socket.send(Message::text(text)).await.ok()?;
                        }
                    }
                }
            }
        }
    }
    None
}

/// What was sent and not acknowledged.
fn not_acked(sent: &[String], notes: &Mutex<Notes>) -> Vec<String> {
    let acked: HashSet<String> = lock(notes).acked.iter().map(|(_, id)| id.clone()).collect();
    let id = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_default()["envelope_id"].clone();
    sent.iter().filter(|text| id(text).as_str().is_some_and(|id| !acked.contains(id))).cloned().collect()
}

async fn say(socket: &mut WebSocketStream<TcpStream>, what: Value) -> Option<()> {
    socket.send(Message::text(what.to_string())).await.ok()
}

/// Hears one thing: an acknowledgement is a text with an id and nothing else.
async fn hear(socket: &mut WebSocketStream<TcpStream>, line: usize, notes: &Mutex<Notes>) -> Option<()> {
    match socket.next().await {
        Some(Ok(Message::Text(text))) => {
            let said: Value = serde_json::from_str(&text).unwrap_or_default();
            match (said["envelope_id"].as_str(), said.as_object().map(serde_json::Map::len)) {
                (Some(id), Some(1)) => lock(notes).acked.push((line, id.to_owned())),
                _ => lock(notes).faults.push(format!("no acknowledgement: {text}")),
            }
            Some(())
        }
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Some(()),
        _ => None,
    }
}

//! A Telegram that tells anything but the truth: it repeats what was acknowledged, tells in any order, leaves numbers out, and
//! answers with every error that there is, in an order that comes again with its dice.
//!
//! Of <https://core.telegram.org/bots/api#getupdates> it keeps one promise, without which nobody could receive: an update comes until it
//! was acknowledged by a higher `offset`.

use std::{
    collections::BTreeMap,
    io::{BufReader, Write as _},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Dice,
    platform::{answer, read},
};
use crate::mocks::endpoint::Port;

/// The bot's token.
pub const TOKEN: &str = "123456:a-token_of_the_test";
/// The bot's number.
const BOT: i64 = 123_456;
/// The id of the first message that was sent to somebody.
const SENT: i64 = 1_000_001;
/// How long it keeps somebody waiting at most: a client that was killed is not found out before.
const LONGEST: Duration = Duration::from_secs(5);
/// One of so many questions is answered with an error.
const WRONG: u64 = 3;
/// Fewer updates are not cut: a client that asks for one leaves out what it cannot read.
const MANY: usize = 10;

/// The platform. Stops listening when it is dropped.
pub struct Liar {
    port: Port,
    shared: Arc<Shared>,
}

struct Shared {
    dice: Mutex<Dice>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Every update that ever was, by its number.
    updates: Vec<(i64, Value)>,
    /// The lowest number that is not acknowledged.
    next: i64,
    /// What was sent, with its chat, as it is now.
    sent: Vec<(i64, String)>,
    /// What it did, and how often.
    did: BTreeMap<&'static str, usize>,
    /// How many errors and lies there were: each kind has its turn.
    errors: u64,
    lies: u64,
    /// Whether the last question was answered with an error: the next is not, for a client waits longer each time.
    was_wrong: bool,
}

impl State {
    fn count(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }
}

impl Liar {
    /// Starts one; an honest one without dice.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn start(dice: Option<Dice>) -> Result<Self> {
        let honest = dice.is_none();
        let shared = Shared { dice: Mutex::new(dice.unwrap_or(Dice(0))), state: Mutex::default() };
        let shared = Arc::new(shared);
        let serving = Arc::clone(&shared);
        Ok(Self { port: Port::open(move |stream| serving.serve(stream, honest))?, shared })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.port())
    }

    /// Something happens: an update whose number is put into it. The number.
    pub fn happens(&self, mut update: Value) -> i64 {
        let skipped = 1 + i64::try_from(self.shared.throw(4)).unwrap_or(0);
        let mut state = self.shared.state();
        let id = state.updates.last().map_or(7_000, |(id, _)| *id) + skipped;
        if update.is_object() {
            update["update_id"] = id.into();
        }
        state.updates.push((id, update));
        id
    }

    /// Whether all of it was acknowledged.
    pub fn is_heard(&self) -> bool {
        let state = self.shared.state();
        state.updates.last().is_none_or(|(id, _)| *id < state.next)
    }

    /// What was sent into a chat.
    pub fn sent(&self, chat: i64) -> Vec<String> {
        let state = self.shared.state();
        state.sent.iter().filter(|(to, _)| *to == chat).map(|(_, text)| text.clone()).collect()
    }

    /// The same with each one's id.
    pub fn sent_as(&self, chat: i64) -> Vec<(i64, String)> {
        let state = self.shared.state();
        let sent = (SENT..).zip(&state.sent).filter(|(_, (to, _))| *to == chat);
        sent.map(|(id, (_, text))| (id, text.clone())).collect()
    }

    /// What it did, and how often.
    pub fn did(&self) -> BTreeMap<&'static str, usize> {
        self.shared.state().did.clone()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn throw(&self, end: u64) -> u64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).below(end)
    }

    fn serve(&self, stream: TcpStream, honest: bool) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read(&mut reader)? {
            let method = request.path.last().map_or("", String::as_str).to_owned();
            let told = serde_json::from_slice(&request.body).unwrap_or_else(|_| form(&request.body));
            match method.as_str() {
                "getUpdates" => self.tell(&stream, &told, honest)?,
                _ => answer(
                    &stream,
                    200,
                    &json!({"ok": true, "result": self.does(&method, &told)}).to_string(),
                )?,
            }
        }
        Ok(())
    }

    fn does(&self, method: &str, told: &Value) -> Value {
        match method {
            "getMe" => json!({"id": BOT, "is_bot": true, "first_name": "Hub", "username": "HubTestBot"}),
            "getWebhookInfo" => json!({"url": ""}),
            "sendMessage" => {
                let chat = told["chat_id"].as_i64().unwrap_or_default();
                let mut state = self.state();
                state.sent.push((chat, told["text"].as_str().unwrap_or_default().to_owned()));
                let id = SENT - 1 + i64::try_from(state.sent.len()).unwrap_or(0);
                json!({"message_id": id, "date": 1, "chat": {"id": chat}})
            }
            "editMessageText" => {
                let mut state = self.state();
                let at = told["message_id"].as_i64().and_then(|id| usize::try_from(id - SENT).ok());
                if let Some((_, text)) = at.and_then(|at| state.sent.get_mut(at)) {
                    told["text"].as_str().unwrap_or_default().clone_into(text);
                }
                json!({"message_id": told["message_id"], "date": 1, "chat": {"id": told["chat_id"]}})
            }
            _ => json!(true),
        }
    }

    /// Answers a question for updates.
    fn tell(&self, stream: &TcpStream, told: &Value, honest: bool) -> Result<()> {
        let limit = told["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
        if let Some(offset) = told["offset"].as_i64() {
            let mut state = self.state();
            state.next = state.next.max(offset);
        }
        let is_wrong = !honest && self.throw(WRONG) == 0 && !self.state().was_wrong;
        self.state().was_wrong = is_wrong;
        if is_wrong && self.is_no_answer(stream, limit)? {
            return Ok(());
        }
        let longest = LONGEST.min(Duration::from_secs(told["timeout"].as_u64().unwrap_or(0)));
        let start = Instant::now();
        let mut updates = self.to_come(limit);
        while updates.is_empty() && start.elapsed() < longest {
            thread::sleep(Duration::from_millis(5));
            updates = self.to_come(limit);
        }
        if !honest {
            self.lie(&mut updates, limit);
        }
        let updates: Vec<String> = updates.iter().map(spelt).collect();
        let body = format!("{{\"ok\":true,\"result\":[{}]}}", updates.join(","));
        if is_wrong && limit >= MANY && body.len() > 64 {
            self.state().count("half an answer");
            let half = body.chars().take(body.chars().count() / 2).collect::<String>();
            return answer(stream, 200, &half);
        }
        answer(stream, 200, &body)
    }

    fn to_come(&self, limit: usize) -> Vec<Value> {
        let state = self.state();
        let open = state.updates.iter().filter(|(id, _)| *id >= state.next);
        open.take(limit).map(|(_, update)| update.clone()).collect()
    }

    /// Answers with an error, if the dice say one that is known before what is to be told.
    fn is_no_answer(&self, mut stream: &TcpStream, limit: usize) -> Result<bool> {
        let no = |status: u16, words: &str| {
            let body = json!({"ok": false, "error_code": status, "description": words});
            answer(stream, status, &body.to_string())
        };
        let turn = {
            let mut state = self.state();
            state.errors += 1;
            state.errors % 7
        };
        let what = match turn {
            0 => ("409", no(409, "Conflict: terminated by other getUpdates request")),
            1 => {
                let wait = json!({"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 1",
                    "parameters": {"retry_after": 1}});
                ("429", answer(stream, 429, &wait.to_string()))
            }
            2 => ("500", no(500, "Internal Server Error")),
            3 => ("502", answer(stream, 502, "<html>Bad gateway</html>")),
            4 => ("no answer", Ok(stream.shutdown(Shutdown::Both)?)),
            5 => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"ok\":true,")?;
                ("cut off", Ok(stream.shutdown(Shutdown::Both)?))
            }
            // What is to be told is cut in half.
            _ if limit >= MANY => return Ok(false),
            _ => ("500", no(500, "Internal Server Error")),
        };
        self.state().count(what.0);
        what.1.map(|()| true)
    }

    /// Tells more than there is, or in another order.
    fn lie(&self, updates: &mut Vec<Value>, limit: usize) {
        let room = limit.saturating_sub(updates.len());
        let (honest, from) = (self.throw(3) == 0, self.throw(1_000));
        let mut state = self.state();
        if honest || updates.is_empty() && state.updates.is_empty() {
            return;
        }
        state.lies += 1;
        let next = state.next;
        let old: Vec<Value> =
            state.updates.iter().filter(|(id, _)| *id < next).map(|(_, update)| update.clone()).collect();
        match state.lies % 4 {
            0 if !old.is_empty() && room > 0 => {
                let from = usize::try_from(from).unwrap_or(0) % old.len();
                updates.splice(0..0, old[from..].iter().take(room.min(10)).cloned());
                state.count("told again");
            }
            1 if !old.is_empty() && room > 0 => {
                updates.splice(0..0, old.iter().take(room).cloned());
                state.count("all of it again");
            }
            2 if updates.len() > 1 => {
                updates.reverse();
                let half = updates.len() / 2;
                updates.rotate_left(half);
                state.count("out of order");
            }
            3 if !updates.is_empty() && room >= updates.len() => {
                updates.extend_from_within(..);
                state.count("twice");
            }
            _ => {}
        }
    }
}

/// An update with its number first, as Telegram spells it.
fn spelt(update: &Value) -> String {
    let Some((members, id)) = update.as_object().zip(update.get("update_id")) else {
        return update.to_string();
    };
    let mut members = members.clone();
    members.remove("update_id");
    match Value::Object(members).to_string().strip_prefix('{') {
        Some("}") | None => format!("{{\"update_id\":{id}}}"),
        Some(rest) => format!("{{\"update_id\":{id},{rest}"),
    }
}

/// A form, as other people's clients post what they ask for.
fn form(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), serde_json::from_str::<Value>(value).unwrap_or_default()))
        .collect()
}

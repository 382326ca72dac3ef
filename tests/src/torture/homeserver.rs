//! A homeserver that tells anything but the truth: it repeats what it told, tells a room's lines in any order, leaves the newest but
//! one out, goes back to an old position, and answers with every error that there is, in an order that comes again with its dice.
//!
//! Of <https://spec.matrix.org/v1.18/client-server-api/#syncing> it keeps two promises, without which nobody could receive: what
//! comes behind a position is told to who asks with it, in the timeline or as the past of a room whose timeline is `limited`; and a
//! transaction sends once.

use std::{
    collections::{BTreeMap, HashMap},
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

/// The account's token.
pub const TOKEN: &str = "a-token_of_the_test";
/// The account.
pub const ME: &str = "@hub:hub.test";
/// How long it keeps somebody waiting at most.
const LONGEST: Duration = Duration::from_secs(5);
/// One of so many questions for what is new is answered with an error, and one of so many for the past.
const WRONG: [u64; 2] = [4, 16];
/// How many events it goes back at most.
const BACK: usize = 60;
/// How many events a page of the past has at most, whatever was asked for.
const PAGE: usize = 7;
/// How many old events come again with new ones.
const AGAIN: usize = 10;

/// The homeserver. Stops listening when it is dropped.
pub struct LyingHomeserver {
    port: Port,
    shared: Arc<Shared>,
}

struct Shared {
    dice: Mutex<Dice>,
    honest: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Every event that ever was, as its JSON, with its room. The position `sN` is behind the first N of them.
    events: Vec<(String, String)>,
    /// The event of each transaction.
    sent: HashMap<String, String>,
    /// What the account said, as it stands now.
    replies: Vec<Reply>,
    /// What it did, and how often.
    did: BTreeMap<&'static str, usize>,
    /// How many wait for what is new.
    waiting: usize,
    /// How many errors and lies there were: each kind has its turn.
    errors: u64,
    lies: u64,
    /// Whether the last question was answered with an error: the next is not, for a client waits longer each time.
    was_wrong: bool,
}

/// Something that the account said in a room.
struct Reply {
    room: String,
    id: String,
    text: String,
}

/// A room's part of an answer.
struct Timeline {
    events: Vec<String>,
    /// The number of events that are before it.
    begins: usize,
    limited: bool,
}

/// The room that somebody shares with the account alone.
pub fn room(person: usize) -> String {
    format!("!r{person}:hub.test")
}

/// Somebody.
pub fn user(person: usize) -> String {
    format!("@p{person}:hub.test")
}

/// A message of somebody's, with these members instead.
pub fn message(sender: &str, id: &str, body: &str, more: &Value) -> Value {
    let mut event = json!({
        "type": "m.room.message", "event_id": id, "sender": sender, "origin_server_ts": gatepost::clock::now_ms(),
        "content": {"msgtype": "m.text", "body": body},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        event[name] = value.clone();
    }
    event
}

impl LyingHomeserver {
    /// Starts one; an honest one without dice.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn start(dice: Option<Dice>) -> Result<Self> {
        let honest = dice.is_none();
        let shared =
            Arc::new(Shared { dice: Mutex::new(dice.unwrap_or(Dice(0))), honest, state: Mutex::default() });
        let serving = Arc::clone(&shared);
        Ok(Self { port: Port::open(move |stream| serving.serve(stream))?, shared })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.port())
    }

    /// Something happens in a room, whatever it is: one JSON value, as it stands.
    pub fn happens(&self, room: &str, event: String) {
        self.shared.state().events.push((room.to_owned(), event));
    }

    /// How many events lie before a position.
    ///
    /// # Errors
    /// It is none.
    pub fn before(position: &str) -> Result<usize> {
        Ok(position.strip_prefix('s').context("a position")?.parse()?)
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.shared.state().events.len()
    }

    /// What the account said in a room.
    pub fn replies(&self, room: &str) -> Vec<String> {
        self.replies_as(room).into_iter().map(|(_, text)| text).collect()
    }

    /// The same, each with its event's id.
    pub fn replies_as(&self, room: &str) -> Vec<(String, String)> {
        let state = self.shared.state();
        let there = state.replies.iter().filter(|reply| reply.room == room);
        there.map(|reply| (reply.id.clone(), reply.text.clone())).collect()
    }

    /// How many wait now for what comes behind a position.
    pub fn waiting(&self) -> usize {
        self.shared.state().waiting
    }

    /// What it did, and how often.
    pub fn did(&self) -> BTreeMap<&'static str, usize> {
        self.shared.state().did.clone()
    }
}

impl State {
    fn count(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }

    /// A room's events from `begin` on to before `end`, each with its number.
    fn of<'a>(
        &'a self,
        room: &'a str,
        begin: usize,
        end: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a String)> {
        let all = self.events.iter().enumerate().take(end).skip(begin.min(end));
        all.filter(move |(_, (of, _))| of == room).map(|(number, (_, event))| (number, event))
    }

    fn send(&mut self, room: &str, kind: &str, transaction: &str, body: &[u8]) -> String {
        if let Some(id) = self.sent.get(transaction) {
            return id.clone();
        }
        let id = format!("$sent{}", self.sent.len());
        let content: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = content["body"].as_str().unwrap_or_default();
        match replaced(&content) {
            // #validity-of-replacement-events: of the same room and sender; anything else has no effect.
            Some((old, new)) => {
                let old = self.replies.iter_mut().find(|reply| reply.room == room && reply.id == old);
                old.into_iter().for_each(|reply| new.clone_into(&mut reply.text));
            }
            None if kind == "m.room.message" => {
                self.replies.push(Reply { room: room.to_owned(), id: id.clone(), text: text.to_owned() });
            }
            None => {}
        }
        let event = message(ME, &id, text, &json!({"type": kind, "content": content}));
        self.events.push((room.to_owned(), event.to_string()));
        self.sent.insert(transaction.to_owned(), id.clone());
        id
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn throw(&self, end: u64) -> u64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).below(end)
    }

    fn serve(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read(&mut reader)? {
            let last = request.path.last().map_or("", String::as_str);
            let (name, query) = last.split_once('?').unwrap_or((last, ""));
            match name {
                "sync" => self.sync(&stream, query)?,
                "messages" => self.past(&stream, &request.path[4], query)?,
                _ => {
                    let (status, body) = self.does(&request, name);
                    answer(&stream, status, &body.to_string())?;
                }
            }
        }
        Ok(())
    }

    fn does(&self, request: &Request, name: &str) -> (u16, Value) {
        let path: Vec<&str> = request.path.iter().skip(3).map(String::as_str).collect();
        match path[..] {
            ["account", _] => (200, json!({"user_id": ME, "device_id": "HUB"})),
            ["rooms", room, "send", kind, _] => {
                (200, json!({"event_id": self.state().send(room, kind, name, &request.body)}))
            }
            ["rooms", room, "event", id] => {
                let state = self.state();
                let all =
                    state.of(room, 0, usize::MAX).filter_map(|(_, json)| serde_json::from_str(json).ok());
                let found = all.into_iter().find(|event: &Value| event["event_id"] == id);
                found.map_or_else(|| (404, no("M_NOT_FOUND")), |event| (200, event))
            }
            ["rooms", _, "state", ..] => (404, no("M_NOT_FOUND")),
            _ => (200, json!({})),
        }
    }

    /// Answers what is new.
    fn sync(&self, stream: &TcpStream, query: &str) -> Result<()> {
        let is_wrong = self.is_wrong(WRONG[0]);
        if is_wrong && self.is_no_answer(stream)? {
            return Ok(());
        }
        let Some(since) = parameter(query, "since") else { return answer(stream, 200, &self.stands()) };
        let Ok(since) = LyingHomeserver::before(since) else {
            return answer(stream, 400, &no("M_UNKNOWN").to_string());
        };
        let wait = parameter(query, "timeout").and_then(|wait| wait.parse().ok()).unwrap_or(0);
        let (longest, start) = (LONGEST.min(Duration::from_millis(wait)), Instant::now());
        self.state().waiting += 1;
        while self.state().events.len() <= since && start.elapsed() < longest && !has_gone(stream) {
            thread::sleep(Duration::from_millis(5));
        }
        self.state().waiting -= 1;
        // `"limit":N` of the timeline, whose quotes and colons are escaped.
        let limit = query.split("limit%22%3A").nth(1).map_or("", |rest| rest.split('%').next().unwrap_or(""));
        let body = self.new_since(since, limit.parse().unwrap_or(10));
        if is_wrong {
            self.state().count("half an answer");
            let half: String = body.chars().take(body.chars().count() / 2).collect();
            return answer(stream, 200, &half);
        }
        answer(stream, 200, &body)
    }

    /// How things stand: every room with its newest line.
    fn stands(&self) -> String {
        let state = self.state();
        let end = state.events.len();
        let mut rooms = BTreeMap::new();
        for (number, (room, event)) in state.events.iter().enumerate() {
            rooms.insert(
                room.clone(),
                Timeline { events: vec![event.clone()], begins: number, limited: true },
            );
        }
        spelt(&rooms, end)
    }

    fn new_since(&self, since: usize, limit: usize) -> String {
        let lie = if self.honest || self.throw(3) == 0 { None } else { Some(self.throw(1_000)) };
        let mut state = self.state();
        let end = state.events.len();
        let mut rooms: BTreeMap<String, Timeline> = BTreeMap::new();
        for (number, (room, event)) in state.events.iter().enumerate().skip(since) {
            let begins = number;
            let timeline = rooms.entry(room.clone()).or_insert_with(|| Timeline {
                events: vec![],
                begins,
                limited: false,
            });
            timeline.events.push(event.clone());
        }
        for (room, timeline) in &mut rooms {
            timeline.cut(&state, room, limit, end);
        }
        let Some(chance) = lie else { return spelt(&rooms, end) };
        state.lies += 1;
        let mut goes_on = end;
        let told =
            match state.lies % 5 {
                0 => in_any(&mut rooms, |room, timeline| timeline.tell_again(&state, room))
                    .then_some("told again"),
                1 if since > 0 => {
                    goes_on = since - 1 - usize::try_from(chance).unwrap_or(0) % since.min(BACK);
                    Some("went back")
                }
                2 => in_any(&mut rooms, |_, timeline| timeline.turn()).then_some("out of order"),
                3 => in_any(&mut rooms, |_, timeline| timeline.double()).then_some("twice"),
                _ => in_any(&mut rooms, |room, timeline| timeline.cut(&state, room, 1, end))
                    .then_some("left out"),
            };
        told.into_iter().for_each(|told| state.count(told));
        spelt(&rooms, goes_on)
    }

    /// Answers what was written in a room before.
    fn past(&self, stream: &TcpStream, room: &str, query: &str) -> Result<()> {
        if self.is_wrong(WRONG[1]) && self.is_no_answer(stream)? {
            return Ok(());
        }
        let number = |name: &str, of: char| {
            let end = parameter(query, name).and_then(|token| token.strip_prefix(of));
            end.and_then(|number| number.parse::<usize>().ok()).with_context(|| format!("{name} in {query}"))
        };
        let (from, to) = (number("from", 'p')?, number("to", 's')?);
        let (events, begins): (Vec<String>, Option<usize>) = {
            let state = self.state();
            let page: Vec<_> = state.of(room, to, from).rev().take(PAGE).collect();
            (page.iter().map(|(_, event)| (*event).clone()).collect(), page.last().map(|(number, _)| *number))
        };
        let end = begins
            .filter(|_| events.len() == PAGE)
            .map_or_else(String::new, |end| format!(",\"end\":\"p{end}\""));
        answer(stream, 200, &format!("{{\"start\":\"p{from}\",\"chunk\":[{}]{end}}}", events.join(",")))
    }

    fn is_wrong(&self, one_in: u64) -> bool {
        let is_wrong = !self.honest && self.throw(one_in) == 0 && !self.state().was_wrong;
        self.state().was_wrong = is_wrong;
        is_wrong
    }

    /// Answers with an error, unless it is the turn of the one that needs the answer.
    fn is_no_answer(&self, mut stream: &TcpStream) -> Result<bool> {
        let turn = {
            let mut state = self.state();
            state.errors += 1;
            state.errors % 7
        };
        let (what, done) = match turn {
            0 => {
                let wait =
                    json!({"errcode": "M_LIMIT_EXCEEDED", "error": "slow down", "retry_after_ms": 300});
                ("429", answer(stream, 429, &wait.to_string()))
            }
            1 => ("500", answer(stream, 500, &no("M_UNKNOWN").to_string())),
            2 => ("502", answer(stream, 502, "<html>Bad gateway</html>")),
            3 => ("504", answer(stream, 504, "")),
            4 => ("no answer", Ok(stream.shutdown(Shutdown::Both)?)),
            5 => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"next_batch\":")?;
                ("cut off", Ok(stream.shutdown(Shutdown::Both)?))
            }
            _ => return Ok(false),
        };
        self.state().count(what);
        done.map(|()| true)
    }
}

/// Lies in every room; whether that changed anything in one of them.
fn in_any(rooms: &mut BTreeMap<String, Timeline>, mut lie: impl FnMut(&str, &mut Timeline) -> bool) -> bool {
    let changed: Vec<bool> = rooms.iter_mut().map(|(room, timeline)| lie(room, timeline)).collect();
    changed.contains(&true)
}

impl Timeline {
    /// Leaves out all but the newest: whether there are more.
    fn cut(&mut self, state: &State, room: &str, limit: usize, end: usize) -> bool {
        if self.events.len() <= limit {
            return false;
        }
        let kept: Vec<_> = state.of(room, self.begins, end).rev().take(limit).collect();
        (self.limited, self.begins) = (true, kept.last().map_or(end, |(number, _)| *number));
        self.events = kept.into_iter().rev().map(|(_, event)| event.clone()).collect();
        true
    }

    fn tell_again(&mut self, state: &State, room: &str) -> bool {
        let old: Vec<String> =
            state.of(room, 0, self.begins).rev().take(AGAIN).map(|(_, event)| event.clone()).collect();
        let told = !old.is_empty();
        self.events.splice(0..0, old.into_iter().rev());
        told
    }

    fn turn(&mut self) -> bool {
        self.events.reverse();
        self.events.len() > 1
    }

    fn double(&mut self) -> bool {
        self.events.extend_from_within(..);
        !self.events.is_empty()
    }
}

/// The event that this one replaces, and its new words
/// (<https://spec.matrix.org/v1.18/client-server-api/#event-replacements>).
fn replaced(content: &Value) -> Option<(&str, &str)> {
    let relates = &content["m.relates_to"];
    let old = relates["event_id"].as_str().filter(|_| relates["rel_type"] == "m.replace")?;
    Some((old, content["m.new_content"]["body"].as_str().unwrap_or_default()))
}

fn no(code: &str) -> Value {
    json!({"errcode": code, "error": "no"})
}

/// A parameter of a query, as it stands there.
fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// An answer of `/sync`. The events are put in as they stand: not all of them are JSON that a library would write.
fn spelt(rooms: &BTreeMap<String, Timeline>, goes_on: usize) -> String {
    let rooms: Vec<String> = rooms
        .iter()
        .map(|(room, timeline)| {
            let members: Vec<Value> = [ME.to_owned(), room.replacen("!r", "@p", 1)]
                .iter()
                .map(|user| {
                    json!({"type": "m.room.member", "state_key": user, "sender": user, "event_id": format!("$m{user}"),
                        "content": {"membership": "join", "displayname": user}})
                })
                .collect();
            format!(
                "\"{room}\":{{\"summary\":{{\"m.joined_member_count\":2}},\"state\":{{\"events\":{}}},\
                 \"timeline\":{{\"limited\":{},\"prev_batch\":\"p{}\",\"events\":[{}]}}}}",
                Value::Array(members),
                timeline.limited,
                timeline.begins,
                timeline.events.join(",")
            )
        })
        .collect();
    format!("{{\"next_batch\":\"s{goes_on}\",\"rooms\":{{\"join\":{{{}}}}}}}", rooms.join(","))
}

//! What was handed in, what arrived, and what the hub says of it, held against each other.
//!
//! Every part carries its lane, its message and its place as its first words, so that whatever a room holds says what it
//! is.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    platform::{FORGETFUL, Fault, Platform},
    post::{POST, Post},
};
use crate::hub::{Client, client::text, database};

/// One conversation that is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its number.
    pub number: usize,
    /// The account that it goes from: a token of the platform's, `post`, or `local`.
    pub account: &'static str,
    /// How many messages it gets.
    pub messages: usize,
}

/// The account of the hub's own channel.
pub const LOCAL: &str = "local";

/// A message of this number has this many parts, where its channel splits.
const PARTS: [usize; 4] = [1, 1, 1, 3];

impl Lane {
    /// The room, or the address.
    pub fn address(&self) -> String {
        match self.account {
            LOCAL => format!("lane{:03}", self.number),
            POST => format!("lane{:03}@post.test", self.number),
            _ => format!("!lane{:03}:double.test", self.number),
        }
    }

    /// How many parts a message has.
    pub fn parts(&self, message: usize) -> usize {
        if self.splits() { PARTS[message % PARTS.len()] } else { 1 }
    }

    fn splits(&self) -> bool {
        ![LOCAL, POST].contains(&self.account)
    }

    /// Whether nobody can say if something arrived of which no answer came.
    fn has_no_keys(&self) -> bool {
        [FORGETFUL, POST].contains(&self.account)
    }

    /// What a part begins with.
    pub fn stamp(&self, message: usize, part: usize) -> String {
        format!("lane{:03} message{message:05} part{part}", self.number)
    }

    /// The idempotency key of a message.
    pub fn key(&self, message: usize) -> String {
        format!("lane{:03}-{message:05}", self.number)
    }

    /// The call that hands a message in.
    pub fn call(&self, message: usize) -> Value {
        let parts = (0..self.parts(message))
            .map(|part| format!("{} {}", self.stamp(message, part), "and so on ".repeat(12).trim_end()));
        let parts: Vec<String> = parts.collect();
        let channel = match self.account {
            LOCAL => LOCAL,
            POST => "email",
            _ => "matrix",
        };
        let mut call = json!({"to": format!("{channel}:{}", self.address()), "message": parts.join("\n\n")});
        if self.account != LOCAL {
            call["accountId"] = self.account.into();
        }
        call
    }

    /// Hands a message in under its key; whether it was taken.
    ///
    /// # Errors
    /// It was refused, which is something else than no answer.
    pub fn hand_in(&self, client: &Client, message: usize) -> Result<bool> {
        let (key, body) = (self.key(message), self.call(message).to_string());
        match client.raw("POST", "/v1/messages", &[("idempotency-key", &key)], body.as_bytes()) {
            Ok(answer) => answer.taken().map(|_| true),
            Err(_) => Ok(false),
        }
    }
}

/// Which message and part a text says that it is.
fn stamp(text: &str) -> Result<(usize, usize)> {
    let mut words = text.split_whitespace().skip(1);
    let mut number = |name: &str| {
        let word = words.next().and_then(|word| word.strip_prefix(name));
        word.and_then(|word| word.parse().ok()).with_context(|| format!("whose is {text:?}?"))
    };
    Ok((number("message")?, number("part")?))
}

/// A message as the hub wrote it down.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// Its id.
    pub id: String,
    /// Its state.
    pub state: String,
    /// Each part's state and key.
    pub parts: Vec<(String, String)>,
}

/// Everything that the hub with this data directory wrote down, by idempotency key.
///
/// # Errors
/// SQLite's.
pub fn told(data_dir: &Path) -> Result<BTreeMap<String, Recorded>> {
    let db = database::open(data_dir)?;
    let mut rows = db.prepare(
        "SELECT idempotency_key, id, m.state, p.state, p.key FROM messages m LEFT JOIN parts p ON p.message = m.seq
         WHERE idempotency_key IS NOT NULL ORDER BY m.seq, p.idx",
    )?;
    let mut all: BTreeMap<String, Recorded> = BTreeMap::new();
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let recorded = all.entry(row.get(0)?).or_default();
        (recorded.id, recorded.state) = (row.get(1)?, row.get(2)?);
        if let (Some(state), Some(key)) = (row.get(3)?, row.get(4)?) {
            recorded.parts.push((state, key));
        }
    }
    Ok(all)
}

/// How many messages have not come to their end, of the hub with this data directory.
///
/// # Errors
/// SQLite's.
pub fn under_way(data_dir: &Path) -> Result<u64> {
    let sql = "SELECT count(*) FROM messages WHERE state IN ('accepted', 'held', 'ready', 'sending')";
    let under_way: i64 = database::open(data_dir)?.query_row(sql, [], |row| row.get(0))?;
    Ok(u64::try_from(under_way)?)
}

/// How it all ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages that arrived, once.
    pub sent: usize,
    /// Messages of which nobody knows, and that say so.
    pub unknown: usize,
    /// How many of those are mails.
    pub unknown_mails: usize,
    /// How many of all of those had arrived.
    pub arrived_unknown: usize,
}

/// Holds all of it against each other: nothing lost, nothing twice, in order, and what is not known is said.
///
/// # Errors
/// One of these does not hold; the error says where.
pub fn balance(
    lanes: &[Lane],
    platform: &Platform,
    post: Option<&Post>,
    data_dir: &Path,
    agent: &Client,
    operator: &Client,
) -> Result<Tally> {
    let all = told(data_dir)?;
    let handed_in: usize = lanes.iter().map(|lane| lane.messages).sum();
    ensure!(all.len() == handed_in, "{} messages are in the queue, {handed_in} were taken", all.len());
    let mut tally = Tally::default();
    let mut unknown = BTreeSet::new();
    for lane in lanes {
        let bodies: Vec<String> = match lane.account {
            LOCAL => {
                let arrived = operator.arrived(&lane.address())?;
                arrived.iter().map(|arrived| text(arrived, "text").to_owned()).collect()
            }
            POST => post.context("a mail server")?.subjects(&lane.address()),
            _ => platform.room(&lane.address()).into_iter().map(|event| event.body).collect(),
        };
        let arrived: Vec<(usize, usize)> = bodies.iter().map(|body| stamp(body)).collect::<Result<_>>()?;
        for pair in arrived.windows(2) {
            ensure!(pair[0] < pair[1], "{:?} came after {:?} in {lane:?}", pair[1], pair[0]);
        }
        let mut times: HashMap<(usize, usize), usize> = HashMap::new();
        for part in arrived {
            *times.entry(part).or_default() += 1;
        }
        for message in 0..lane.messages {
            let recorded =
                all.get(&lane.key(message)).context("every message that was taken is in the queue")?;
            let seen: Vec<usize> = (0..recorded.parts.len())
                .map(|part| times.get(&(message, part)).copied().unwrap_or(0))
                .collect();
            let states: Vec<&str> = recorded.parts.iter().map(|(state, _)| state.as_str()).collect();
            let about =
                || format!("{} of {lane:?} is {}: {states:?}, arrived {seen:?}", recorded.id, recorded.state);
            ensure!(recorded.parts.len() == lane.parts(message), "{}", about());
            for (state, times) in states.iter().zip(&seen) {
                let right = match *state {
                    "confirmed" => *times == 1,
                    "unknown" => *times <= 1,
                    _ => *times == 0,
                };
                ensure!(right, "{}", about());
            }
            match recorded.state.as_str() {
                "sent" => {
                    ensure!(states.iter().all(|state| *state == "confirmed"), "{}", about());
                    tally.sent += 1;
                }
                "unknown" if lane.has_no_keys() => {
                    let came = states.iter().take_while(|state| **state == "confirmed").count();
                    ensure!(states[came] == "unknown", "{}", about());
                    ensure!(states[came + 1..].iter().all(|state| *state == "planned"), "{}", about());
                    let receipt = operator.message(&recorded.id)?;
                    ensure!(text(&receipt, "sent") == format!("{came} of {}", states.len()), "{receipt}");
                    ensure!(text(&receipt, "code") == "unknown_outcome", "{receipt}");
                    unknown.insert(recorded.id.clone());
                    tally.unknown += 1;
                    tally.unknown_mails += usize::from(lane.account == POST);
                    tally.arrived_unknown += seen[came];
                }
                _ => anyhow::bail!("{}", about()),
            }
        }
    }
    let notices = told_unknown(agent)?;
    ensure!(notices == unknown, "the agent was told of {notices:?}, and not of {unknown:?}");
    Ok(tally)
}

/// The messages that the agent was told are unknown.
///
/// # Errors
/// It was told of one twice, or of one that is not unknown.
pub fn told_unknown(agent: &Client) -> Result<BTreeSet<String>> {
    let (mut ids, mut after) = (BTreeSet::new(), 0);
    loop {
        let page = agent.get(&format!("/v1/inbox?limit=1000&after={after}"))?.taken()?;
        let page = page["notices"].as_array().context("a page of notices")?;
        let Some(last) = page.last() else { return Ok(ids) };
        after = last["seq"].as_i64().context("a notice with a number")?;
        for notice in page {
            let receipt = &notice["receipt"];
            ensure!(receipt["state"] == "unknown", "told of {receipt}");
            ensure!(ids.insert(text(receipt, "id").to_owned()), "told twice of {receipt}");
        }
    }
}

/// How many mails the server has answered while the hub with this data directory, which does not run, has not written that
/// down.
///
/// # Errors
/// SQLite's.
pub fn answered_unrecorded(lanes: &[Lane], post: &Post, data_dir: &Path) -> Result<usize> {
    let all = told(data_dir)?;
    let mails = lanes.iter().filter(|lane| lane.account == POST);
    let mails = mails.flat_map(|lane| (0..lane.messages).map(move |message| (lane, message)));
    let open = mails.filter(|(lane, message)| {
        let parts = all.get(&lane.key(*message)).map_or(&[][..], |recorded| recorded.parts.as_slice());
        parts.iter().any(|(state, _)| state == "in_flight")
    });
    Ok(open.filter(|(lane, message)| post.has_answered(&lane.stamp(*message, 0))).count())
}

/// Checks that `unknown` is said exactly where an answer was lost on an account without keys.
///
/// # Errors
/// It is said elsewhere, or not there.
pub fn unknown_is_said_where_it_is(platform: &Platform, lanes: &[Lane], data_dir: &Path) -> Result<()> {
    let all = told(data_dir)?;
    for lane in lanes.iter().filter(|lane| lane.account == FORGETFUL) {
        for message in 0..lane.messages {
            let recorded =
                all.get(&lane.key(message)).context("every message that was taken is in the queue")?;
            let faults: Vec<Fault> =
                recorded.parts.iter().flat_map(|(_, key)| platform.faults_of(key)).collect();
            let lost = faults.iter().any(|fault| !fault.is_told());
            ensure!(
                lost == (recorded.state == "unknown"),
                "{} is {} after {faults:?}",
                recorded.id,
                recorded.state
            );
        }
    }
    Ok(())
}

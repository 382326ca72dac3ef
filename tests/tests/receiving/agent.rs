//! An agent that answers each line by a message of its own, changes some of its answers, and reacts to some lines. A hub that was killed meanwhile is called
//! again under the same keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{Client, client::text};
use serde_json::{Value, json};

/// One of so many answers is changed.
pub(crate) const CHANGED: usize = 10;
/// It reacts to one of so many lines.
const LIKED: usize = 7;
/// How long it waits before it calls a hub again that did not answer.
const AGAIN: Duration = Duration::from_millis(30);

/// The agent, and what it did.
pub(crate) struct Agent<'a> {
    client: &'a Client,
    over: AtomicBool,
    did: Mutex<Did>,
}

/// What it said, by the line that it answered: the ids of the receipts.
#[derive(Debug, Default, Clone)]
pub(crate) struct Did {
    /// Its answers.
    pub(crate) answers: BTreeMap<String, String>,
    /// Its edits of them.
    pub(crate) edits: BTreeMap<String, String>,
    /// Its reactions.
    pub(crate) reactions: BTreeMap<String, String>,
    /// The lines to which it has done all that it does.
    pub(crate) finished: BTreeSet<String>,
    /// What the hub says of edits and reactions where the platform has none.
    pub(crate) refused: BTreeMap<&'static str, String>,
}

/// What is answered to a line.
pub(crate) fn answer(line: &str) -> String {
    format!("I heard {line}.")
}

/// What that is changed into.
pub(crate) fn better(line: &str) -> String {
    format!("I heard {line}, better.")
}

/// The number in a line.
pub(crate) fn number(line: &str) -> Option<usize> {
    line.split_whitespace().next()?.strip_prefix("line")?.parse().ok()
}

impl<'a> Agent<'a> {
    pub(crate) fn new(client: &'a Client) -> Self {
        Self { client, over: AtomicBool::new(false), did: Mutex::default() }
    }

    pub(crate) fn did(&self) -> Did {
        self.did.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn note(&self, does: impl FnOnce(&mut Did)) {
        does(&mut self.did.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes turns until it is told to stop.
    pub(crate) fn work(&self) {
        while !self.over.load(Ordering::Relaxed) {
            match self.client.get("/v1/turns?wait=1") {
                Ok(taken) if taken.body["turn"].is_object() => {
                    // Left where it stands, the turn comes again.
                    let _ = self.takes(&taken.body["turn"]);
                }
                Ok(_) => {}
                Err(_) => thread::sleep(AGAIN),
            }
        }
    }

    fn takes(&self, turn: &Value) -> Result<()> {
        let items = turn["items"].as_array().context("items")?.iter();
        let lines: Vec<(&str, &str)> = items
            .filter(|item| ["message", "webhook"].contains(&text(item, "kind")))
            .map(|item| (text(item, "text").trim(), text(item, "message_id")))
            .filter(|(line, _)| !line.is_empty())
            .collect();
        lines.iter().try_for_each(|(line, _)| self.answers(turn, line))?;
        let id = text(turn, "turn");
        self.calls(&format!("/v1/turns/{id}/end"), None, &json!({"lease": turn["lease"]}))?;
        for (line, message) in lines {
            let Some(number) = number(line) else { continue };
            if number % LIKED == 0 && !message.is_empty() {
                let like = json!({"action": "react", "messageId": message, "emoji": "👍"});
                self.does("react", turn, line, like, |did| &mut did.reactions)?;
            }
            if number % CHANGED == CHANGED / 2 {
                self.changes(turn, line)?;
            }
            self.note(|did| {
                did.finished.insert(line.to_owned());
            });
        }
        Ok(())
    }

    fn answers(&self, turn: &Value, line: &str) -> Result<()> {
        let call = json!({"to": "current", "message": answer(line), "context": turn["context"]});
        let receipt = self.calls("/v1/messages", Some(&format!("answer-{line}")), &call)?;
        let id = text(&receipt, "id").to_owned();
        ensure!(!id.is_empty(), "{receipt}");
        self.note(|did| drop(did.answers.insert(line.to_owned(), id)));
        Ok(())
    }

    /// Changes an answer, once it has arrived.
    fn changes(&self, turn: &Value, line: &str) -> Result<()> {
        let did = self.did();
        let Some(id) = did.answers.get(line).filter(|_| !did.refused.contains_key("edit")) else {
            return Ok(());
        };
        let sent = self.ended(id)?;
        let platform_id = text(&sent["parts"][0], "platform_id");
        if sent["state"] != "sent" || platform_id.is_empty() {
            return Ok(());
        }
        let edit = json!({"action": "edit", "messageId": platform_id, "message": better(line)});
        self.does("edit", turn, line, edit, |did| &mut did.edits)
    }

    /// Does something to a message of the conversation, once, if the platform has such a thing.
    fn does(
        &self,
        what: &'static str,
        turn: &Value,
        line: &str,
        mut call: Value,
        into: impl FnOnce(&mut Did) -> &mut BTreeMap<String, String>,
    ) -> Result<()> {
        if self.did().refused.contains_key(what) {
            return Ok(());
        }
        call["to"] = "current".into();
        call["context"] = turn["context"].clone();
        let receipt = self.calls("/v1/messages", Some(&format!("{what}-{line}")), &call)?;
        self.note(|did| match text(&receipt, "id") {
            "" => drop(did.refused.insert(what, receipt.to_string())),
            id => drop(into(did).insert(line.to_owned(), id.to_owned())),
        });
        Ok(())
    }

    /// The receipt of what has come to its end.
    fn ended(&self, id: &str) -> Result<Value> {
        loop {
            ensure!(!self.over.load(Ordering::Relaxed), "it is over");
            match self.client.get(&format!("/v1/messages/{id}?wait=1")) {
                Ok(answer) if ["sent", "unknown", "failed"].contains(&text(&answer.body, "state")) => {
                    return Ok(answer.body);
                }
                Ok(_) => {}
                Err(_) => thread::sleep(AGAIN),
            }
        }
    }

    /// Calls until a hub answers.
    fn calls(&self, path: &str, key: Option<&str>, body: &Value) -> Result<Value> {
        let headers: Vec<(&str, &str)> = key.map(|key| ("idempotency-key", key)).into_iter().collect();
        loop {
            ensure!(!self.over.load(Ordering::Relaxed), "it is over");
            match self.client.raw("POST", path, &headers, body.to_string().as_bytes()) {
                Ok(answer) if answer.status < 500 => return Ok(answer.body),
                _ => thread::sleep(AGAIN),
            }
        }
    }
}

//! An agent that answers each line by a message of its own, and changes some of its answers. A hub that was killed meanwhile is called
//! again under the same keys.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use gatepost_tests::hub::{Client, client::text};
use serde_json::{Value, json};

/// One of so many answers is changed.
pub(crate) const CHANGED: usize = 10;
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
    /// What the hub says of edits where the platform has none.
    pub(crate) refused: Option<String>,
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
        for item in turn["items"].as_array().context("items")? {
            if ["message", "webhook"].contains(&text(item, "kind")) && !text(item, "text").is_empty() {
                self.answers(turn, text(item, "text").trim())?;
            }
        }
        let id = text(turn, "turn");
        self.calls(&format!("/v1/turns/{id}/end"), None, &json!({"lease": turn["lease"]}))?;
        Ok(())
    }

    fn answers(&self, turn: &Value, line: &str) -> Result<()> {
        let call = json!({"to": "current", "message": answer(line), "context": turn["context"]});
        let receipt = self.calls("/v1/messages", Some(&format!("answer-{line}")), &call)?;
        let id = text(&receipt, "id").to_owned();
        self.note(|did| drop(did.answers.insert(line.to_owned(), id.clone())));
        if number(line).is_none_or(|number| number % CHANGED != CHANGED / 2) || self.did().refused.is_some() {
            return Ok(());
        }
        let sent = self.ended(&id)?;
        let platform_id = text(&sent["parts"][0], "platform_id");
        if sent["state"] != "sent" || platform_id.is_empty() {
            return Ok(());
        }
        let edit = json!({
            "to": "current", "action": "edit", "messageId": platform_id, "message": better(line), "context": turn["context"],
        });
        let receipt = self.calls("/v1/messages", Some(&format!("better-{line}")), &edit)?;
        match text(&receipt, "id") {
            "" => self.note(|did| did.refused = Some(receipt.to_string())),
            id => self.note(|did| drop(did.edits.insert(line.to_owned(), id.to_owned()))),
        }
        Ok(())
    }

    /// The receipt of what has come to its end.
    fn ended(&self, id: &str) -> Result<Value> {
        loop {
            anyhow::ensure!(!self.over.load(Ordering::Relaxed), "it is over");
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
            anyhow::ensure!(!self.over.load(Ordering::Relaxed), "it is over");
            match self.client.raw("POST", path, &headers, body.to_string().as_bytes()) {
                Ok(answer) if answer.status < 500 => { eprintln!("DEBUG {path} {body} -> {} {}", answer.status, answer.body); return Ok(answer.body) },
                _ => thread::sleep(AGAIN),
            }
        }
    }
}

//! Performs what is no event: redactions, pins, moderation, presence.

use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{answer::refusal, client::Client, operations::Act};
use crate::channels::{Failure, PartKey, RateHints, kit::http::Silence};

impl Client {
    /// Does it; the id of the event or the person that it was done to.
    pub(super) async fn perform(
        &self,
        stored: Act,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        match stored {
            Act::Redact { room, event } => {
                self.redact(&room, &event, key, hints).await?;
                Ok(event)
            }
            Act::Unreact { room, event, emoji } => {
                let (gone, ended) = match self.own_reaction(&room, &event, &emoji, hints).await? {
                    Some(reaction) => (false, self.redact(&room, &reaction, key, hints).await),
                    None => (true, Err(no_reaction(&emoji))),
                };
                self.removals.settle(key, gone, ended).map(|_| event)
            }
            Act::Pin { room, event } => self.repin(&room, event, true, hints).await,
            Act::Unpin { room, event } => self.repin(&room, event, false, hints).await,
            Act::Kick { room, user, reason } => {
                let ended = self.put_out("kick", &room, &user, reason, hints).await;
                // A server refuses to put out who is not there, and gives no code for that alone.
                let gone = matches!(ended, Err(Failure::Permanent(_)))
                    && self.removals.lost(key)
                    && self.is_out(&room, &user, hints).await?;
                self.removals.settle(key, gone, ended).map(|_| user)
            }
            Act::Ban { room, user, reason } => {
                self.put_out("ban", &room, &user, reason, hints).await.map(|()| user)
            }
            Act::Presence { status, text } => {
                let me = self.me(hints).await?;
                let mut body = object(json!({"presence": status}));
                if let Some(text) = text {
                    body.insert("status_msg".into(), text.into());
                }
                self.done(Method::PUT, &["presence", &me, "status"], Some(&body), hints).await?;
                Ok(me)
            }
        }
    }

    /// <https://spec.matrix.org/v1.18/client-server-api/#put_matrixclientv3roomsroomidredacteventidtxnid>
    async fn redact(
        &self,
        room: &str,
        event: &str,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<(), Failure> {
        let path = ["rooms", room, "redact", event, &key.0];
        self.done(Method::PUT, &path, Some(&Map::new()), hints).await.map(drop)
    }

    /// The account's own reaction to an event, among the newest ones of this key
    /// (<https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv1roomsroomidrelationseventidreltypeeventtype>).
    async fn own_reaction(
        &self,
        room: &str,
        event: &str,
        emoji: &str,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        let me = self.me(hints).await?;
        let path = ["v1", "rooms", room, "relations", event, "m.annotation", "m.reaction"];
        let found = self.asked_at(&path, hints).await?;
        let reactions = found["chunk"].as_array().cloned().unwrap_or_default();
        let own = |reaction: &&Value| {
            reaction["sender"] == me.as_str() && reaction["content"]["m.relates_to"]["key"] == emoji
        };
        let id = reactions.iter().find(own).and_then(|reaction| reaction["event_id"].as_str());
        Ok(id.map(str::to_owned))
    }

    /// <https://spec.matrix.org/v1.18/client-server-api/#mroompinned_events>: the whole list is written anew, so that what
    /// others have pinned meanwhile stays only if it is read right before.
    async fn repin(
        &self,
        room: &str,
        event: String,
        pinned: bool,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let path = ["rooms", room, "state", "m.room.pinned_events"];
        let answer = self.ask(Method::GET, &path, None, hints).await.map_err(Silence::harmless)?;
        let none = answer.status == StatusCode::NOT_FOUND && refusal(&answer).errcode == "M_NOT_FOUND";
        if !answer.status.is_success() && !none {
            return Err(self.classify(&answer, hints).harmless());
        }
        let mut list = answer.body["pinned"].as_array().cloned().unwrap_or_default();
        let there = list.iter().any(|other| *other == event.as_str());
        if there == pinned {
            return Ok(event);
        }
        if pinned {
            list.push(event.as_str().into());
        } else {
            list.retain(|other| *other != event.as_str());
        }
        self.done(Method::PUT, &path, Some(&object(json!({"pinned": list}))), hints).await?;
        Ok(event)
    }

    /// Whether somebody is not in a room
    /// (<https://spec.matrix.org/v1.18/client-server-api/#mroommember>).
    async fn is_out(&self, room: &str, user: &str, hints: &mut RateHints) -> Result<bool, Failure> {
        let path = ["v3", "rooms", room, "state", "m.room.member", user];
        let member = self.asked_at(&path, hints).await?;
        Ok(matches!(member["membership"].as_str(), Some("leave" | "ban")))
    }

    async fn put_out(
        &self,
        how: &str,
        room: &str,
        user: &str,
        reason: Option<String>,
        hints: &mut RateHints,
    ) -> Result<(), Failure> {
        let mut body = object(json!({"user_id": user}));
        if let Some(reason) = reason {
            body.insert("reason".into(), reason.into());
        }
        self.done(Method::POST, &["rooms", room, how], Some(&body), hints).await.map(drop)
    }

    /// The account's own id.
    async fn me(&self, hints: &mut RateHints) -> Result<String, Failure> {
        let answer =
            self.ask(Method::GET, &["account", "whoami"], None, hints).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            return Err(self.classify(&answer, hints).harmless());
        }
        let me = answer.body["user_id"].as_str();
        me.map(str::to_owned)
            .ok_or_else(|| Failure::Retry("the homeserver does not say whose token this is".into()))
    }

    async fn done(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Map<String, Value>>,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let answer = self.ask(method, path, body, hints).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(self.classify(&answer, hints)) }
    }
}

fn no_reaction(emoji: &str) -> Failure {
    Failure::Permanent(format!("the account has no reaction {emoji} there that could be taken back"))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

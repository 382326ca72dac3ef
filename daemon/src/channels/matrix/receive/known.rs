//! What is known of the newest events: a reaction names its message by the id alone, and an edit is believed only of who wrote
//! what it changes.
//!
//! It is memory of this process, and bounded. What is not in it the homeserver is asked for.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::event::{RoomEvent, is_poll};

/// How many events are remembered. More than two portions, so that none of a portion is forgotten before it is read.
const MAX_EVENTS: usize = 512;
/// How much of a text is remembered, in characters: enough to see which message is answered.
const MAX_QUOTED: usize = 1_000;
/// How many options of a poll are remembered; there are at most 20 (MSC3381).
const MAX_OPTIONS: usize = 20;

/// An event, as far as others refer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) sender: String,
    pub(super) thread: Option<String>,
    pub(super) what: What,
}

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Words(String),
    /// Its options: id and text.
    Poll(Vec<(String, String)>),
    Reaction {
        to: String,
        emoji: String,
    },
    Vote {
        poll: String,
    },
    Other,
}

impl Fact {
    pub(super) fn of(event: &RoomEvent) -> Self {
        let thread = event.thread().map(str::to_owned);
        Self { sender: event.sender.clone(), thread, what: What::of(event) }
    }
}

impl What {
    fn of(event: &RoomEvent) -> Self {
        match event.kind.as_str() {
            "m.room.message" if event.related("m.replace").is_some() => Self::Other,
            // What was redacted has no text any more, and is still what it was: its deletion is told.
            "m.room.message" | "m.sticker" => {
                let body = event.content["body"].as_str().unwrap_or_default();
                Self::Words(body.chars().take(MAX_QUOTED).collect())
            }
            "m.reaction" => {
                match (event.related("m.annotation"), event.content["m.relates_to"]["key"].as_str()) {
                    (Some(to), Some(emoji)) => {
                        Self::Reaction { to: to.to_owned(), emoji: emoji.chars().take(MAX_QUOTED).collect() }
                    }
                    _ => Self::Other,
                }
            }
            kind if is_poll(kind, "start") => Self::Poll(options(&event.content)),
            kind if is_poll(kind, "response") => match event.related("m.reference") {
                Some(poll) => Self::Vote { poll: poll.to_owned() },
                None => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// The start of a poll in an event's content.
pub(super) fn poll(content: &Value) -> Option<&Value> {
    ["org.matrix.msc3381.poll.start", "m.poll"].iter().find_map(|name| content.get(name))
}

/// A text in one of the forms that extensible events have for it.
pub(super) fn poll_text(value: &Value) -> Option<&str> {
    let stable = &value["m.text"];
    value["org.matrix.msc1767.text"]
        .as_str()
        .or_else(|| stable[0]["body"].as_str())
        .or_else(|| stable.as_str())
}

/// The options of a poll: id and text.
pub(super) fn options(content: &Value) -> Vec<(String, String)> {
    let answers = poll(content).and_then(|poll| poll["answers"].as_array());
    let read = |answer: &Value| {
        let id = answer["id"].as_str().or_else(|| answer["m.id"].as_str())?;
        Some((id.to_owned(), poll_text(answer)?.chars().take(MAX_QUOTED).collect()))
    };
    answers.into_iter().flatten().filter_map(read).take(MAX_OPTIONS).collect()
}

/// The newest events, by room and id. Nothing stands for one that the homeserver does not show.
#[derive(Debug, Default)]
pub(super) struct Known {
    events: HashMap<(String, String), Option<Fact>>,
    order: VecDeque<(String, String)>,
}

impl Known {
    /// Remembers one.
    pub(super) fn note(&mut self, room: &str, id: &str, fact: Option<Fact>) {
        let key = (room.to_owned(), id.to_owned());
        if self.events.insert(key.clone(), fact).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MAX_EVENTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.events.remove(&oldest);
        }
    }

    /// Whether it is known, or known not to be shown.
    pub(super) fn has(&self, room: &str, id: &str) -> bool {
        self.events.contains_key(&(room.to_owned(), id.to_owned()))
    }

    /// What is known of it. An event of another room is none: events relate to those of their own room alone.
    pub(super) fn fact(&self, room: &str, id: &str) -> Option<&Fact> {
        self.events.get(&(room.to_owned(), id.to_owned()))?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_another_rooms_event_is_not_known() {
        let mut known = Known::default();
        let fact = Fact { sender: "@ada:hub.test".into(), thread: None, what: What::Other };
        for n in 0..=MAX_EVENTS {
            known.note("!a", &format!("${n}"), Some(fact.clone()));
        }
        assert!(!known.has("!a", "$0") && known.has("!a", "$1") && known.events.len() == MAX_EVENTS);
        assert_eq!(known.fact("!b", "$1"), None);
        known.note("!b", "$1", None);
        assert!(known.has("!b", "$1") && known.fact("!b", "$1").is_none());
    }
}

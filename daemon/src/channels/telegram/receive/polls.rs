//! In which conversation a poll of the bot's stands: an answer to one names the poll alone
//! (<https://core.telegram.org/bots/api#pollanswer>).
//!
//! The newest are noted when they are sent, and kept as a position of the account, which fits a few dozen. A vote in an older one is
//! counted, and goes no further.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::sync::Notify;

use crate::channels::{PartKey, received::Position};

/// The stream's name.
pub(super) const STREAM: &str = "polls";

/// How many are kept: each has some 100 bytes of [`MAX_POSITION_BYTES`](crate::channels::received::MAX_POSITION_BYTES).
const MOST: usize = 32;
/// The longest of them, in bytes.
const LONGEST: usize = 120;

/// Where a poll stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Poll {
    pub(super) chat: String,
    pub(super) thread: Option<String>,
    pub(super) message: String,
    /// The part that made it.
    pub(super) part: PartKey,
}

/// The account's newest polls.
#[derive(Debug, Default)]
pub(in crate::channels::telegram) struct Polls {
    newest: Mutex<VecDeque<(String, Poll)>>,
    noted: Notify,
}

impl Polls {
    fn newest(&self) -> MutexGuard<'_, VecDeque<(String, Poll)>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the poll that a message has, if it has one.
    pub(in crate::channels::telegram) fn note(&self, message: &Value, part: &PartKey) {
        let number = |value: &Value| value.as_i64().map(|id| id.to_string());
        let (Some(id), Some(chat), Some(made)) =
            (message["poll"]["id"].as_str(), number(&message["chat"]["id"]), number(&message["message_id"]))
        else {
            return;
        };
        let thread = number(&message["message_thread_id"]).filter(|_| message["is_topic_message"] == true);
        let poll = Poll { chat, thread, message: made, part: part.clone() };
        let is_short = written(id, &poll).len() <= LONGEST;
        if is_short && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let mut newest = self.newest();
            newest.push_back((id.to_owned(), poll));
            while newest.len() > MOST {
                newest.pop_front();
            }
            drop(newest);
            self.noted.notify_one();
        }
    }

    /// Waits until one was noted.
    pub(super) async fn noted(&self) {
        self.noted.notified().await;
    }

    /// Where this one stands.
    pub(super) fn of(&self, id: &str) -> Option<Poll> {
        self.newest().iter().rev().find(|(known, _)| known == id).map(|(_, poll)| poll.clone())
    }

    /// All of them, as they are stored.
    pub(super) fn position(&self) -> Position {
        let all: Vec<String> = self.newest().iter().map(|(id, poll)| written(id, poll)).collect();
        Position { stream: STREAM.into(), value: all.join(" ") }
    }

    /// Takes those that were stored; they are older than those that are there.
    pub(super) fn restore(&self, stored: &str) {
        let mut newest = self.newest();
        for poll in stored.split(' ').rev().filter_map(parse) {
            if newest.len() < MOST && newest.iter().all(|(id, _)| *id != poll.0) {
                newest.push_front(poll);
            }
        }
    }
}

/// Puts a poll's words, of the request that made it, in the place of their numbers.
pub(super) fn spell(options: &mut [String], request: &Value) {
    for option in options {
        let words = option.parse::<usize>().ok().map(|at| &request["body"]["options"][at]["text"]);
        if let Some(words) = words.and_then(Value::as_str) {
            // As it was asked: what was put behind an `@` is no word of it.
            *option = words.replace("@\u{200b}", "@");
        }
    }
}

fn written(id: &str, poll: &Poll) -> String {
    let Poll { chat, thread, message, part } = poll;
    format!("{id}:{}:{chat}:{message}:{}", part.0, thread.as_deref().unwrap_or_default())
}

fn parse(text: &str) -> Option<(String, Poll)> {
    let mut fields = text.splitn(5, ':').map(str::to_owned);
    let (id, part, chat, message) = (fields.next()?, PartKey(fields.next()?), fields.next()?, fields.next()?);
    let thread = fields.next().filter(|thread| !thread.is_empty());
    Some((id, Poll { chat, thread, message, part }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::channels::received::MAX_POSITION_BYTES;

    fn key(of: usize) -> PartKey {
        PartKey(format!("{of:032x}"))
    }

    #[test]
    fn the_newest_polls_are_known_again_after_a_restart() {
        let polls = Polls::default();
        for id in 0..40_usize {
            let message = json!({
                "poll": {"id": format!("58{id:017}")}, "chat": {"id": -1_001_234_567_890_i64}, "message_id": 2_000_000_000 + id,
                "message_thread_id": 7, "is_topic_message": id == 39,
            });
            polls.note(&message, &key(id));
        }
        let stored = polls.position().value;
        assert!(stored.len() <= MAX_POSITION_BYTES, "{}", stored.len());
        let again = Polls::default();
        again.restore(&stored);
        let last = again.of(&format!("58{:017}", 39)).unwrap();
        assert_eq!((last.chat.as_str(), last.thread.as_deref()), ("-1001234567890", Some("7")));
        assert_eq!((last.message.as_str(), last.part), ("2000000039", key(39)));
        assert_eq!(again.of(&format!("58{:017}", 38)).unwrap().thread, None);
        assert_eq!(again.of(&format!("58{:017}", 1)), None);
        assert_eq!(again.position().value, stored);
    }

    #[test]
    fn a_vote_has_the_words_that_were_asked() {
        let request =
            json!({"body": {"options": [{"text": "Ask @\u{200b}ann"}, {"text": "\u{200b}No, a@b.c"}]}});
        let mut options = ["0", "1", "2"].map(str::to_owned);
        spell(&mut options, &request);
        assert_eq!(options, ["Ask @ann", "\u{200b}No, a@b.c", "2"]);
    }

    #[test]
    fn what_is_no_poll_is_not_noted() {
        let polls = Polls::default();
        polls.note(&json!({"message_id": 5, "chat": {"id": 5}}), &key(1));
        polls.note(&json!({"poll": {"id": "a b:c"}, "message_id": 5, "chat": {"id": 5}}), &key(1));
        polls.note(&json!({"poll": {"id": "5".repeat(200)}, "message_id": 5, "chat": {"id": 5}}), &key(1));
        polls.restore("x :: a:b");
        assert_eq!(polls.position().value, "");
    }
}

//! What an update becomes while it is read, and what all kinds of updates have: numbers, times, chats and people.

use serde_json::Value;

use super::files::Sent;
use crate::channels::{
    PartKey,
    received::{Author, AuthorKind, Conversation, DropReason, Dropped, Received},
    telegram::target,
};

/// Most things that one update tells: a message that names who was added has the most.
pub(super) const MOST: usize = 100;

/// Who the bot is, as `getMe` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// Its number.
    pub id: i64,
    /// Its public name, without the `@`.
    pub username: String,
    /// Whether its chats with people have topics.
    pub topics_in_chats: bool,
}

/// One update, read.
#[derive(Debug, Default)]
pub(super) struct Update {
    /// Its number, in an order of its own.
    pub(super) id: Option<i64>,
    pub(super) events: Vec<Read>,
    pub(super) dropped: Vec<Dropped>,
    /// A press that Telegram waits to hear of.
    pub(super) pressed: Option<String>,
    /// Which album it is of.
    pub(super) album: Option<String>,
    /// The numbers of a group before and after it became a supergroup.
    pub(super) moved: Option<(i64, i64)>,
    /// Whether what it tells stands with another of its album.
    pub(super) merged: bool,
}

/// One event, and what is still to be asked of it.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) received: Received,
    /// Its files, which are still at Telegram.
    pub(super) files: Vec<Sent>,
    /// The part that made the poll that it answers.
    pub(super) poll: Option<PartKey>,
}

impl Update {
    /// Takes an event, or says why not.
    pub(super) fn push(&mut self, received: Received, files: Vec<Sent>, poll: Option<PartKey>) {
        match received.bounded() {
            Ok(_) if self.events.len() == MOST => self.drop(DropReason::NotUsed, "more of the same update"),
            Ok(received) => self.events.push(Read { received, files, poll }),
            Err(dropped) => self.dropped.push(dropped),
        }
    }

    pub(super) fn drop(&mut self, reason: DropReason, what: &str) {
        self.dropped.push(Dropped { reason, what: what.chars().take(40).collect() });
    }
}

/// A number, as Telegram's ids are.
pub(super) fn number(value: &Value) -> Option<i64> {
    value.as_i64()
}

/// A time of Telegram's, in seconds, as one of ours; 0 stands for none
/// (<https://core.telegram.org/bots/api#inaccessiblemessage>).
pub(super) fn time(value: &Value) -> Option<i64> {
    value.as_i64().filter(|seconds| *seconds > 0)?.checked_mul(1000)
}

/// The conversation of a chat, without its topic.
pub(super) fn conversation(chat: &Value) -> Option<Conversation> {
    let address = target::canonical(&number(&chat["id"])?.to_string()).ok()?;
    let direct = chat["type"] == "private";
    Some(Conversation { address, thread: None, direct, title: name(chat) })
}

/// Who did it. Who writes as a chat is known by that alone: its `from` is a stand-in
/// (<https://core.telegram.org/bots/api#message>, `sender_chat`).
pub(super) fn author(from: &Value, chat: &Value, me: &Me) -> Option<Author> {
    let who = if chat.is_object() { chat } else { from };
    let id = number(&who["id"])?;
    let kind = match () {
        () if id == me.id => AuthorKind::Myself,
        () if who["is_bot"] == true => AuthorKind::Program,
        () => AuthorKind::Person,
    };
    Some(Author { id: id.to_string(), name: name(who), kind, ..Author::default() })
}

/// What a person or chat is called.
fn name(who: &Value) -> Option<String> {
    let whole = || {
        let parts: Vec<_> =
            ["first_name", "last_name"].iter().filter_map(|part| who[*part].as_str()).collect();
        parts.join(" ")
    };
    Some(who["title"].as_str().map_or_else(whole, str::to_owned)).filter(|name| !name.is_empty())
}

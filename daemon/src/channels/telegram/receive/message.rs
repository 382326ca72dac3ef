//! A message, a post or an edit of one, and messages by which Telegram tells what happened
//! (<https://core.telegram.org/bots/api#message>).

use serde_json::Value;

use super::{
    read::{Me, Update, author, conversation, number, time},
    words,
};
use crate::channels::received::{AuthorKind, Conversation, DropReason, Event, Received};

/// "The bot that actually sent the message on behalf of the business account"
/// (<https://core.telegram.org/bots/api#message>): `from` is the account, whose owner wrote none of it.
const BUSINESS_BOT: &str = "sender_business_bot";

/// Whether it is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    New,
    Edited,
}

/// The topic that a message is in. A quote in a chat without topics has a `message_thread_id` too, which is none.
pub(super) fn topic(message: &Value, conversation: &Conversation, me: &Me) -> Option<String> {
    let has_topics = !conversation.direct || me.topics_in_chats;
    let id = number(&message["message_thread_id"])?;
    (has_topics && message["is_topic_message"] == true).then(|| id.to_string())
}

/// Reads one; nothing if it lacks what every message has.
pub(super) fn read(message: &Value, kind: Kind, me: &Me, read: &mut Update) -> Option<()> {
    let mut conversation = conversation(&message["chat"])?;
    let id = number(&message["message_id"])?;
    conversation.thread = topic(message, &conversation, me);
    if let Some(moved) = moved(message) {
        read.moved = Some(moved);
        read.drop(DropReason::NotUsed, "a group becomes a supergroup");
        return Some(());
    }
    if came_or_went(message, &conversation, me, read) {
        return Some(());
    }
    // It says anew where somebody is, for hours.
    if kind == Kind::Edited && message["location"].is_object() {
        read.drop(DropReason::NotUsed, "edited_message with a live location");
        return Some(());
    }
    let Some(said) = words::read(message, me) else {
        read.drop(DropReason::NotUsed, told_by(message));
        return Some(());
    };
    let mut author = author(&message["from"], &message["sender_chat"], me)?;
    if author.kind == AuthorKind::Person && message[BUSINESS_BOT].is_object() {
        author.kind = AuthorKind::Program;
    }
    let address = &conversation.address;
    let (key, said_at, event) = match kind {
        Kind::New => (format!("message:{address}:{id}"), time(&message["date"]), Event::Message(said.words)),
        Kind::Edited => {
            let edited = &message["edit_date"];
            // Two edits within a second have one date.
            let (date, update) = (number(edited).unwrap_or_default(), read.id.unwrap_or_default());
            (format!("edit:{address}:{id}:{date}:{update}"), time(edited), Event::Edit(said.words))
        }
    };
    if kind == Kind::New {
        read.album = message["media_group_id"].as_str().map(|album| format!("{address}:{album}"));
    }
    let received = Received {
        key,
        conversation,
        author,
        message_id: Some(id.to_string()),
        said_at,
        mentions_me: said.mentions_me,
        event,
    };
    read.push(received, said.files, None);
    Some(())
}

/// The numbers of a group that has become a supergroup, the old one first. Both chats are told.
fn moved(message: &Value) -> Option<(i64, i64)> {
    let here = number(&message["chat"]["id"])?;
    let to = number(&message["migrate_to_chat_id"]).map(|to| (here, to));
    to.or_else(|| number(&message["migrate_from_chat_id"]).map(|from| (from, here)))
}

/// Whether the message tells who came or went. Of the bot itself `my_chat_member` tells.
fn came_or_went(message: &Value, conversation: &Conversation, me: &Me, read: &mut Update) -> bool {
    let (people, event, word) = match (&message["new_chat_members"], &message["left_chat_member"]) {
        (Value::Array(people), _) if !people.is_empty() => (people.as_slice(), Event::Join, "join"),
        (_, one @ Value::Object(_)) => (std::slice::from_ref(one), Event::Leave, "leave"),
        _ => return false,
    };
    let id = number(&message["message_id"]).unwrap_or_default();
    for person in people {
        let Some(author) = author(person, &Value::Null, me) else {
            read.drop(DropReason::Unreadable, word);
            continue;
        };
        if author.id == me.id.to_string() {
            read.drop(DropReason::NotUsed, "the bot's own coming and going, told twice");
            continue;
        }
        let received = Received {
            key: format!("{word}:{}:{id}:{}", conversation.address, author.id),
            conversation: conversation.clone(),
            author,
            message_id: Some(id.to_string()),
            said_at: time(&message["date"]),
            mentions_me: false,
            event: event.clone(),
        };
        read.push(received, Vec::new(), None);
    }
    true
}

/// Members that every message may have, and that do not tell what it is.
const USUAL: [&str; 10] = [
    "message_id",
    "from",
    "chat",
    "date",
    "message_thread_id",
    "sender_chat",
    "is_topic_message",
    "reply_to_message",
    "external_reply",
    "quote",
];

/// By which of its members a message without words tells something, in Telegram's own term.
fn told_by(message: &Value) -> &str {
    let mut members = message.as_object().into_iter().flat_map(|members| members.keys());
    members.find(|name| !USUAL.contains(&name.as_str())).map_or("message", String::as_str)
}

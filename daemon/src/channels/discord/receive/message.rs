//! Reads messages: what somebody wrote, changed, forwarded or answered.
//!
//! <https://docs.discord.com/developers/resources/message#message-object>.

use serde_json::Value;

use super::draft::{Draft, Link, at, author, given_at, id, not_used, unreadable};
use crate::channels::received::{
    Author, AuthorKind, Conversation, Dropped, Event, MAX_FILES, Received, ReplyTo, Words,
};

/// <https://docs.discord.com/developers/resources/message#message-object-message-types>.
mod kind {
    pub(super) const PLAIN: u64 = 0;
    pub(super) const JOIN: u64 = 7;
    pub(super) const REPLY: u64 = 19;
    /// What a program answers to a command, and to one in a menu.
    pub(super) const COMMAND: u64 = 20;
    pub(super) const MENU: u64 = 23;
}

/// <https://docs.discord.com/developers/resources/message#message-reference-types>.
const FORWARD: u64 = 1;

/// Roles that one message calls, as far as they are looked at.
const MAX_ROLES: usize = 100;

/// A new message, also one that was asked for after a gap.
///
/// # Errors
/// It is nobody's words, or its words are kept from the bot.
pub(super) fn written(data: &Value, me: &str) -> Result<Draft, Dropped> {
    let draft = read(data, me, "MESSAGE_CREATE")?;
    let is_empty = draft.links.is_empty()
        && draft
            .received
            .event
            .words()
            .is_some_and(|words| words.text.is_empty() && words.missing.is_empty());
    // Without the intent for it, a message that is not meant for the bot has nothing in it
    // (<https://docs.discord.com/developers/events/gateway#message-content-intent>).
    if is_empty { Err(not_used("MESSAGE_CREATE without content")) } else { Ok(draft) }
}

/// Changed words. Its files came with the message.
///
/// # Errors
/// Nobody changed anything: Discord has found out what a link shows.
pub(super) fn edited(data: &Value, me: &str) -> Result<Draft, Dropped> {
    let Some(edited_at) = data["edited_timestamp"].as_str() else {
        return Err(not_used("MESSAGE_UPDATE without an edit"));
    };
    let mut draft = read(data, me, "MESSAGE_UPDATE")?;
    let Event::Message(words) = draft.received.event else { return Err(not_used("MESSAGE_UPDATE")) };
    draft.links.clear();
    draft.received.key = format!("{}:{}", draft.received.key, edited_at.chars().take(40).collect::<String>());
    draft.received.said_at = at(&data["edited_timestamp"]);
    draft.received.event = Event::Edit(words);
    Ok(draft)
}

fn read(data: &Value, me: &str, name: &str) -> Result<Draft, Dropped> {
    let kind = data["type"].as_u64().unwrap_or(kind::PLAIN);
    if !matches!(kind, kind::PLAIN | kind::JOIN | kind::REPLY | kind::COMMAND | kind::MENU) {
        return Err(not_used(&format!("{name} of type {kind}")));
    }
    let ids = id(&data["id"]).zip(id(&data["channel_id"])).zip(who(data, me));
    let Some(((message, channel), author)) = ids else { return Err(unreadable(name)) };
    let reply = (kind == kind::REPLY).then(|| answered(data, me)).flatten();
    let answers_me = reply.as_ref().is_some_and(|reply| reply.mine);
    let people = data["mentions"].as_array().into_iter().flatten();
    let calls_me = people.map(|person| &person["id"]).any(|person| *person == me);
    let (mut words, links) = words(data);
    words.reply_to = reply;
    let received = Received {
        key: message.clone(),
        conversation: Conversation::default(),
        mentions_me: author.kind != AuthorKind::Myself && (calls_me || answers_me),
        author,
        said_at: at(&data["timestamp"]).or_else(|| given_at(&message)),
        message_id: Some(message),
        event: if kind == kind::JOIN { Event::Join } else { Event::Message(words) },
    };
    let roles = data["mention_roles"].as_array().into_iter().flatten().filter_map(id).take(MAX_ROLES);
    let links = if kind == kind::JOIN { vec![] } else { links };
    Ok(Draft { roles: roles.collect(), links, ..Draft::new(channel, received) })
}

/// Who wrote a message. Behind a webhook is a program, whatever it calls itself.
fn who(data: &Value, me: &str) -> Option<Author> {
    let mut author = author(&data["author"], &data["member"], me)?;
    if data["webhook_id"].is_string() && author.kind == AuthorKind::Person {
        author.kind = AuthorKind::Program;
    }
    Some(author)
}

/// The message that one answers.
fn answered(data: &Value, me: &str) -> Option<ReplyTo> {
    let other = &data["referenced_message"];
    let text = other["content"].as_str().filter(|text| !text.is_empty());
    let mine = other["author"]["id"] == me;
    // A webhook's message has the webhook's id there.
    let author = id(&other["author"]["id"]).filter(|_| !other["webhook_id"].is_string());
    let text = text.map(str::to_owned);
    Some(ReplyTo { id: id(&data["message_reference"]["message_id"])?, mine, author, text })
}

/// Text and files, a forwarded message's where it is one
/// (<https://docs.discord.com/developers/resources/message#message-snapshot-object>).
fn words(data: &Value) -> (Words, Vec<Link>) {
    let forwarded = data["message_reference"]["type"] == FORWARD;
    let data = if forwarded { &data["message_snapshots"][0]["message"] } else { data };
    let mut text = data["content"].as_str().unwrap_or_default().to_owned();
    if let Some(question) = data["poll"]["question"]["text"].as_str() {
        let answers = data["poll"]["answers"].as_array().into_iter().flatten();
        let answers = answers.filter_map(|answer| answer["poll_media"]["text"].as_str()).take(10);
        let poll = answers.fold(question.to_owned(), |poll, answer| format!("{poll}\n- {answer}"));
        text = if text.is_empty() { poll } else { format!("{text}\n\n{poll}") };
    }
    let stickers = data["sticker_items"].as_array().into_iter().flatten();
    let stickers = stickers.filter_map(|sticker| sticker["name"].as_str());
    let missing = stickers.take(3).map(|name| format!("a sticker: {name}")).collect();
    let links = data["attachments"].as_array().into_iter().flatten().filter_map(link).take(MAX_FILES);
    (Words { text, missing, forwarded, ..Words::default() }, links.collect())
}

/// <https://docs.discord.com/developers/resources/message#attachment-object>.
fn link(file: &Value) -> Option<Link> {
    let text = |name: &str| file[name].as_str().map(str::to_owned);
    Some(Link {
        name: text("filename").unwrap_or_else(|| "file".into()),
        kind: text("content_type"),
        url: text("url")?,
    })
}

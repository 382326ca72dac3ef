//! Reads an event of the Gateway by what stands in it alone. Whatever comes is read or left, with the reason.
//!
//! <https://docs.discord.com/developers/events/gateway-events#receive-events>.

use serde_json::Value;

use super::{
    draft::{Callback, Draft, author, given_at, id, not_used, unreadable},
    message,
};
use crate::channels::{
    discord::{forms, gateway::TOO_LONG, places::Place},
    received::{Author, AuthorKind, Batch, Conversation, Dropped, Event, Received},
};

/// Discord does not say who deletes a message. It is the id of nobody: those of people are never zero.
const NOBODY: &str = "0";

/// Messages of one event that are deleted: "2-100"
/// (<https://docs.discord.com/developers/resources/message#bulk-delete-messages>).
const MAX_DELETED: usize = 100;

/// The longest token of an interaction that is passed on, in bytes.
const MAX_TOKEN: usize = 512;

/// Choices of a list (<https://docs.discord.com/developers/components/reference#string-select>).
const MAX_CHOSEN: usize = 25;

/// <https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-type>.
const PRESSED: u64 = 3;

/// Reads an event for the account whose bot has the id `me`. `unique` names the event where Discord gives it no id: the same for
/// the same one.
///
/// # Errors
/// It is none that an agent is told of.
pub(super) fn read(name: &str, data: &Value, unique: &str, me: &str) -> Result<Vec<Draft>, Dropped> {
    match name {
        "MESSAGE_CREATE" => message::written(data, me).map(|draft| vec![draft]),
        "MESSAGE_UPDATE" => message::edited(data, me).map(|draft| vec![draft]),
        "MESSAGE_DELETE" => deleted(data, &[&data["id"]]),
        "MESSAGE_DELETE_BULK" => {
            let ids: Vec<&Value> = data["ids"].as_array().into_iter().flatten().take(MAX_DELETED).collect();
            deleted(data, &ids)
        }
        "MESSAGE_REACTION_ADD" => reacted(data, unique, me, false),
        "MESSAGE_REACTION_REMOVE" => reacted(data, unique, me, true),
        "MESSAGE_POLL_VOTE_ADD" => voted(data, unique, me, false),
        "MESSAGE_POLL_VOTE_REMOVE" => voted(data, unique, me, true),
        "INTERACTION_CREATE" => pressed(data, me),
        // What concerns the connection, and nobody's doing.
        "READY" | "RESUMED" => Ok(vec![]),
        TOO_LONG => Err(unreadable("event")),
        other => Err(not_used(other)),
    }
}

/// Reads an event as if it had happened in a channel of a server: all of it but for what Discord would be asked. Any name and
/// any data will do.
pub fn read_in_a_channel(name: &str, data: &Value) -> Batch {
    let mut batch = Batch::default();
    match read(name, data, "session:1", "1986") {
        Ok(drafts) => {
            for draft in drafts {
                match draft.placed(&Place::default()).and_then(Received::bounded) {
                    Ok(received) => batch.received.push(received),
                    Err(dropped) => batch.dropped.push(dropped),
                }
            }
        }
        Err(dropped) => batch.dropped.push(dropped),
    }
    batch
}

/// An event about a message of which all stands in it but who wrote it.
fn about(data: &Value, author: Author, key: String, event: Event) -> Option<Draft> {
    let received = Received {
        key,
        conversation: Conversation::default(),
        author,
        message_id: Some(id(&data["message_id"])?),
        said_at: None,
        mentions_me: false,
        event,
    };
    Some(Draft::new(id(&data["channel_id"])?, received))
}

/// <https://docs.discord.com/developers/events/gateway-events#message-delete>: ids alone.
fn deleted(data: &Value, ids: &[&Value]) -> Result<Vec<Draft>, Dropped> {
    let one = |of: &&Value| {
        let message = id(of)?;
        let author = Author { id: NOBODY.into(), unverified: true, ..Author::default() };
        let received = Received {
            key: message.clone(),
            conversation: Conversation::default(),
            author,
            message_id: Some(message),
            said_at: None,
            mentions_me: false,
            event: Event::Delete,
        };
        Some(Draft::new(id(&data["channel_id"])?, received))
    };
    let drafts: Vec<Draft> = ids.iter().filter_map(one).collect();
    if drafts.is_empty() { Err(unreadable("MESSAGE_DELETE")) } else { Ok(drafts) }
}

/// <https://docs.discord.com/developers/events/gateway-events#message-reaction-add>. Only an added one says whose it is.
fn reacted(data: &Value, unique: &str, me: &str, removed: bool) -> Result<Vec<Draft>, Dropped> {
    let draft = || {
        let user = id(&data["user_id"])?;
        let author = author(&data["member"]["user"], &data["member"], me).filter(|author| author.id == user);
        let kind = if user == me { AuthorKind::Myself } else { AuthorKind::Person };
        let author = author.unwrap_or_else(|| Author { id: user, kind, ..Author::default() });
        let name = data["emoji"]["name"].as_str();
        // As an address has it; one that was deleted has no name any more.
        let emoji = match id(&data["emoji"]["id"]) {
            Some(id) => format!("{}:{id}", name.unwrap_or("_")),
            None => name.filter(|name| !name.is_empty())?.to_owned(),
        };
        about(data, author, unique.to_owned(), Event::Reaction { emoji, removed })
    };
    draft().map(|draft| vec![draft]).ok_or_else(|| unreadable("MESSAGE_REACTION"))
}

/// <https://docs.discord.com/developers/events/gateway-events#message-poll-vote-add>: one answer each, by its number in the poll,
/// which begins at one.
fn voted(data: &Value, unique: &str, me: &str, removed: bool) -> Result<Vec<Draft>, Dropped> {
    let draft = || {
        let user = id(&data["user_id"])?;
        let kind = if user == me { AuthorKind::Myself } else { AuthorKind::Person };
        let author = Author { id: user, kind, ..Author::default() };
        let answer = data["answer_id"].as_u64()?.to_string();
        let options = if removed { vec![] } else { vec![answer] };
        about(data, author, unique.to_owned(), Event::Vote { options })
    };
    draft().map(|draft| vec![draft]).ok_or_else(|| unreadable("MESSAGE_POLL_VOTE"))
}

/// A press on a button, or a choice of a list, that opens no form: those are answered where they come in.
///
/// <https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object>.
fn pressed(data: &Value, me: &str) -> Result<Vec<Draft>, Dropped> {
    let custom = data["data"]["custom_id"].as_str().unwrap_or_default();
    if custom.starts_with(forms::PREFIX) {
        return Ok(vec![]);
    }
    if data["type"] != PRESSED {
        return Err(not_used("INTERACTION_CREATE"));
    }
    let draft = || {
        let key = id(&data["id"])?;
        let token = data["token"].as_str().filter(|token| (1..=MAX_TOKEN).contains(&token.len()))?;
        // In a server there is a member, elsewhere a user.
        let user = if data["member"]["user"].is_null() { &data["user"] } else { &data["member"]["user"] };
        let chosen = data["data"]["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let chosen: Vec<&str> = chosen.take(MAX_CHOSEN).collect();
        let pressed =
            if chosen.is_empty() { custom.to_owned() } else { format!("{custom}={}", chosen.join(",")) };
        let received = Received {
            said_at: given_at(&key),
            key: key.clone(),
            conversation: Conversation::default(),
            author: author(user, &data["member"], me)?,
            message_id: Some(id(&data["message"]["id"])?),
            mentions_me: true,
            event: Event::Press { data: pressed },
        };
        let callback = Some(Callback { id: key, token: token.to_owned() });
        Some(Draft { callback, ..Draft::new(id(&data["channel_id"])?, received) })
    };
    draft().map(|draft| vec![draft]).ok_or_else(|| unreadable("INTERACTION_CREATE"))
}

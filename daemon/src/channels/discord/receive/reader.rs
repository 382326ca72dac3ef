//! Reads an event of the Gateway by what stands in it alone. Whatever comes is read or left, with the reason.
//!
//! <https://docs.discord.com/developers/events/gateway-events#receive-events>.

use jiff::Timestamp;
use serde_json::Value;

use super::message;
use crate::channels::{
    discord::{forms, places::Place, places::kind, target::snowflake},
    received::{Author, AuthorKind, Batch, Conversation, DropReason, Dropped, Event, Received},
};

/// Discord does not say who deletes a message. It is the id of nobody: those of people are never zero.
const NOBODY: &str = "0";

/// Messages of one event that are deleted: "2-100"
/// (<https://docs.discord.com/developers/resources/message#bulk-delete-messages>).
const MAX_DELETED: usize = 100;

/// The milliseconds of 1970 at which ids begin to count (<https://docs.discord.com/developers/reference#snowflakes>).
const EPOCH: i64 = 1_420_070_400_000;

/// The longest token of an interaction that is passed on, in bytes.
const MAX_TOKEN: usize = 512;

/// Choices of a list (<https://docs.discord.com/developers/components/reference#string-select>).
const MAX_CHOSEN: usize = 25;

/// <https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-type>.
const PRESSED: u64 = 3;

/// What an event says, but for what Discord must be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    /// The channel in which it happened: a thread is one too.
    pub(super) channel: String,
    /// The roles that it calls.
    pub(super) roles: Vec<String>,
    /// The files that it brings.
    pub(super) links: Vec<Link>,
    /// How a press is answered.
    pub(super) callback: Option<Callback>,
    /// The rest; its conversation is still empty.
    pub(super) received: Received,
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) url: String,
}

/// By which an interaction is answered. The token is a secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Callback {
    pub(super) id: String,
    pub(super) token: String,
}

impl std::fmt::Debug for Callback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callback").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Draft {
    pub(super) fn new(channel: String, received: Received) -> Self {
        Self { channel, roles: vec![], links: vec![], callback: None, received }
    }

    /// Of a new message: its channel and its id, after which the next one there is asked for.
    pub(super) fn said_last(&self) -> Option<(u64, u64)> {
        let is_new = matches!(self.received.event, Event::Message(_) | Event::Join);
        let id = self.received.message_id.as_ref().filter(|_| is_new)?;
        Some((self.channel.parse().ok()?, id.parse().ok()?))
    }

    /// With the place where it happened.
    ///
    /// # Errors
    /// It is a conversation of which Discord does not say with whom.
    pub(super) fn placed(self, place: &Place) -> Result<Received, Dropped> {
        let direct = place.kind == kind::DM;
        let (address, thread) = match (&place.parent, &place.person) {
            (Some(parent), _) => (parent.clone(), Some(self.channel)),
            (None, Some(person)) if direct => (format!("@{person}"), None),
            (None, _) if direct => return Err(unreadable("a conversation with nobody")),
            (None, _) => (self.channel, None),
        };
        let conversation = Conversation { address, thread, direct, title: place.name.clone() };
        Ok(Received { conversation, ..self.received })
    }
}

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

/// What an event is, in Discord's words.
fn clipped(what: &str) -> String {
    what.chars().take(60).collect()
}

pub(super) fn unreadable(what: &str) -> Dropped {
    Dropped { reason: DropReason::Unreadable, what: clipped(what) }
}

pub(super) fn not_used(what: &str) -> Dropped {
    Dropped { reason: DropReason::NotUsed, what: clipped(what) }
}

/// An id.
pub(super) fn id(value: &Value) -> Option<String> {
    snowflake(value.as_str()?)
}

/// When an id was given, in milliseconds since 1970.
pub(super) fn given_at(id: &str) -> Option<i64> {
    let since = i64::try_from(id.parse::<u64>().ok()? >> 22).ok()?;
    since.checked_add(EPOCH)
}

/// A point in time, in milliseconds since 1970.
pub(super) fn at(value: &Value) -> Option<i64> {
    Some(value.as_str()?.parse::<Timestamp>().ok()?.as_millisecond())
}

/// Somebody, with what a server calls them.
///
/// <https://docs.discord.com/developers/resources/user#user-object>.
pub(super) fn author(user: &Value, member: &Value, me: &str) -> Option<Author> {
    let id = id(&user["id"])?;
    let is_program = user["bot"] == true || user["system"] == true;
    let kind = match (id == me, is_program) {
        (true, _) => AuthorKind::Myself,
        (false, true) => AuthorKind::Program,
        (false, false) => AuthorKind::Person,
    };
    let names = [&member["nick"], &user["global_name"], &user["username"]];
    let name = names.into_iter().find_map(Value::as_str).map(str::to_owned);
    Some(Author { id, name, kind, ..Author::default() })
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

//! What an event says before Discord is asked for the rest, and what stands in all of them: ids, times and people.

use jiff::Timestamp;
use serde_json::Value;

pub(super) use crate::channels::received::{not_used, unreadable};
use crate::channels::{
    discord::{
        places::{Place, kind},
        target::snowflake,
    },
    received::{Author, AuthorKind, Conversation, Dropped, Event, Received},
};

/// The milliseconds of 1970 at which ids begin to count (<https://docs.discord.com/developers/reference#snowflakes>).
const EPOCH: i64 = 1_420_070_400_000;

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

//! What an event says before Slack is asked for the rest, and what stands in all of them: ids, times and people.

use std::fmt;

use serde_json::Value;

use super::known::Spot;
pub(super) use crate::channels::received::{not_used, unreadable};
use crate::channels::{
    received::{Author, AuthorKind, Conversation, Event, Received},
    slack::{
        client::Me,
        target::{canonical, is_direct, is_person},
    },
};

/// The longest id. Slack promises no length; they have nine to eleven characters.
const MAX_ID: usize = 24;

/// Slack's own voice, which is a user without being somebody.
const SLACKBOT: &str = "USLACKBOT";

/// Who took back a message of which nobody says who wrote it. It is the id of nobody.
pub(super) const NOBODY: &str = "U0";

/// An event, but for what Slack must be asked. Its text is as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    /// The conversation in which it happened.
    pub(super) channel: String,
    /// The files that it brings.
    pub(super) links: Vec<Link>,
    /// The rest; its conversation has the thread alone.
    pub(super) received: Received,
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) size: Option<u64>,
    /// None where Slack says that it has to be asked.
    pub(super) url: Option<String>,
}

/// The time of a message, by which it is named: seconds and microseconds
/// (<https://docs.slack.dev/messaging/retrieving-messages#individual_messages>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Ts(pub(super) u64);

impl Ts {
    /// Reads one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (seconds, rest) = text.split_once('.')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(seconds) || !is_number(rest) || rest.len() != 6 {
            return None;
        }
        let seconds: u64 = seconds.parse().ok()?;
        seconds.checked_mul(1_000_000)?.checked_add(rest.parse().ok()?).map(Self)
    }

    /// Reads a member that is one.
    pub(super) fn of(value: &Value) -> Option<Self> {
        Self::parse(value.as_str()?)
    }

    /// In milliseconds since 1970.
    pub(super) fn at(self) -> Option<i64> {
        i64::try_from(self.0 / 1000).ok()
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl Draft {
    /// Of a new message: where it was said, and when.
    pub(super) fn said(&self) -> Option<(&str, Option<Ts>, Ts)> {
        if !matches!(self.received.event, Event::Message(_)) {
            return None;
        }
        let ts = Ts::parse(self.received.message_id.as_ref()?)?;
        let thread = self.received.conversation.thread.as_deref().and_then(Ts::parse);
        Some((&self.channel, thread, ts))
    }

    /// The conversation or thread in which it stands; nothing of what is told without its thread.
    pub(super) fn spot(&self) -> Option<Spot> {
        let thread = self.received.conversation.thread.as_deref().and_then(Ts::parse);
        let stands = matches!(self.received.event, Event::Message(_) | Event::Edit(_) | Event::Delete);
        stands.then(|| Spot { channel: self.channel.clone(), thread })
    }

    /// With the place where it happened. A direct conversation is its person's, which is whom it is answered by.
    pub(super) fn placed(self, person: Option<String>, title: Option<String>) -> Received {
        let direct = is_direct(&self.channel);
        let author = &self.received.author;
        let is_somebody = author.kind == AuthorKind::Person && is_person(&author.id) && author.id != NOBODY;
        let writer = is_somebody.then(|| author.id.clone());
        let address = if direct { writer.or(person) } else { None };
        let thread = self.received.conversation.thread.clone();
        let conversation = Conversation { address: address.unwrap_or(self.channel), thread, direct, title };
        Received { conversation, ..self.received }
    }
}

/// An id of somebody or something.
pub(super) fn id(value: &Value) -> Option<String> {
    let id = value.as_str().filter(|id| (2..=MAX_ID).contains(&id.len()))?;
    id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).then(|| id.to_owned())
}

/// The id of a conversation.
pub(super) fn channel(value: &Value) -> Option<String> {
    canonical(value.as_str()?).ok().filter(|channel| !is_person(channel))
}

/// Who wrote a message. Behind a `bot_id` is a program, whoever it writes for.
pub(super) fn writer(message: &Value, me: &Me) -> Option<Author> {
    let (user, bot) = (id(&message["user"]), id(&message["bot_id"]));
    let profile = &message["user_profile"];
    let names = [&profile["display_name"], &profile["real_name"], &message["username"]];
    let name = names.into_iter().filter_map(Value::as_str).find(|name| !name.is_empty());
    let is_mine = user.as_deref() == Some(&me.user) || bot.is_some() && bot == me.bot;
    let is_program =
        bot.is_some() || message["subtype"] == "bot_message" || user.as_deref() == Some(SLACKBOT);
    let kind = match (is_mine, is_program) {
        (true, _) => AuthorKind::Myself,
        (false, true) => AuthorKind::Program,
        (false, false) => AuthorKind::Person,
    };
    let id = user.or(bot).or_else(|| is_program.then(|| SLACKBOT.to_owned()))?;
    Some(Author { id, name: name.map(str::to_owned), kind, ..Author::default() })
}

/// Somebody of whom the id alone is told.
pub(super) fn somebody(user: &Value, me: &Me) -> Option<Author> {
    let id = id(user)?;
    let kind = if id == me.user { AuthorKind::Myself } else { AuthorKind::Person };
    Some(Author { id, kind, ..Author::default() })
}

/// The thread that a message is in; none where it begins one.
pub(super) fn thread(message: &Value) -> Option<Ts> {
    Ts::of(&message["thread_ts"]).filter(|thread| Ts::of(&message["ts"]) != Some(*thread))
}

//! An event as what somebody did. Reading asks nobody and changes nothing.
//!
//! Its members are those of <https://developers.google.com/workspace/chat/api/reference/rest/v1/Event> and
//! <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages>. Of edits, removals and reactions an app is told
//! nothing this way.

use serde_json::Value;

use super::{
    super::{is_id, space},
    answers,
    files::{self, Sent},
};
use crate::channels::received::{
    self, Author, AuthorKind, Conversation, Dropped, Event, Received, ReplyTo, Words, not_used, unreadable,
};

/// Annotations of a message that are looked at.
const MOST: usize = 100;
/// The longest name of a message, a thread or a person.
const MAX_NAME: usize = 200;

/// What an event tells, but for its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) received: Received,
    /// Its files, which are still at Google.
    pub(super) files: Vec<Sent>,
}

/// Reads one event.
///
/// # Errors
/// It is of no use, or cannot be read.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Draft>, Dropped> {
    let event: Value = serde_json::from_slice(bytes).map_err(|_| unreadable("event"))?;
    let kind = event["type"].as_str().unwrap_or_default();
    let about = match kind {
        "MESSAGE" | "ADDED_TO_SPACE" | "REMOVED_FROM_SPACE" | "CARD_CLICKED" => {
            About::of(&event).ok_or_else(|| unreadable(kind))?
        }
        // Apps that are built as add-ons are told in another form.
        "" if event["chat"].is_object() => return Err(not_used("event of an add-on")),
        "" => return Err(unreadable("event")),
        other => return Err(not_used(other)),
    };
    match kind {
        "MESSAGE" => Ok(vec![about.message()?]),
        // Who adds the app by a mention has that message told here, and nowhere else.
        "ADDED_TO_SPACE" if event["message"].is_object() => {
            Ok(vec![about.about(None, None, Event::Join)?, about.message()?])
        }
        "ADDED_TO_SPACE" => Ok(vec![about.about(None, None, Event::Join)?]),
        "REMOVED_FROM_SPACE" => Ok(vec![about.about(None, None, Event::Leave)?]),
        _ => answers::read(&event, &about).map(|draft| vec![draft]),
    }
}

/// What all that an event tells has in common.
pub(super) struct About<'a> {
    event: &'a Value,
    conversation: Conversation,
    said_at: Option<i64>,
}

impl<'a> About<'a> {
    fn of(event: &'a Value) -> Option<Self> {
        Some(Self { event, conversation: place(event)?, said_at: time(&event["eventTime"]) })
    }

    /// Something that `author` did, or whose event it is; with the message that it is or is about.
    ///
    /// # Errors
    /// Nobody did it.
    pub(super) fn about(
        &self,
        author: Option<Author>,
        message: Option<String>,
        event: Event,
    ) -> Result<Draft, Dropped> {
        let author =
            author.or_else(|| somebody(&self.event["user"])).ok_or_else(|| unreadable(event.word()))?;
        // The same again has the same time; a button may be pressed twice.
        let about = message.as_deref().unwrap_or(&self.conversation.address);
        let key = format!("{about}:{}:{}", author.id, self.event["eventTime"]);
        let received = Received {
            key,
            conversation: self.conversation.clone(),
            author,
            message_id: message,
            said_at: self.said_at,
            mentions_me: false,
            event,
        };
        Ok(Draft { received, files: Vec::new() })
    }

    /// The message of the event, by its name in the space of the event.
    pub(super) fn message_name(&self) -> Option<String> {
        named(&self.event["message"]["name"], &self.conversation.address, "messages")
    }

    fn message(&self) -> Result<Draft, Dropped> {
        let message = &self.event["message"];
        let read = self.message_name().zip(somebody(&message["sender"]));
        let (name, author) = read.ok_or_else(|| unreadable("MESSAGE"))?;
        let text = |member: &str| message[member].as_str().unwrap_or_default();
        // Without the app's own name; of a command that would be all.
        let is_command = message["slashCommand"].is_object();
        let own = if is_command || text("argumentText").trim().is_empty() { "text" } else { "argumentText" };
        let calls_a_bot =
            message["annotations"].as_array().into_iter().flatten().take(MOST).any(|annotation| {
                annotation["type"] == "USER_MENTION" && annotation["userMention"]["user"]["type"] == "BOT"
            });
        // What is left out of the argument is the name of the app to which it is told.
        let calls_me = is_command || calls_a_bot && text("argumentText") != text("text");
        let (files, mut missing) = files::sent(&message["attachment"]);
        let metadata = &message["quotedMessageMetadata"];
        let reply_to = quoted(metadata, &self.conversation.address);
        let forwarded = is_forward(metadata);
        let handed_on = if forwarded { handed_on(metadata, &mut missing) } else { String::new() };
        let words = match (text(own).trim(), handed_on.as_str()) {
            ("", handed_on) => handed_on.to_owned(),
            (own, "") => own.to_owned(),
            (own, handed_on) => format!("{own}\n\n{handed_on}"),
        };
        let words = Words { text: words, missing, reply_to, forwarded, ..Words::default() };
        if words == Words::default() && files.is_empty() {
            return Err(not_used("MESSAGE without words"));
        }
        let is_person = author.kind == AuthorKind::Person;
        let mut draft = self.about(Some(author), Some(name), Event::Message(words))?;
        draft.received.mentions_me = calls_me && is_person;
        draft.files = files;
        Ok(draft)
    }
}

/// A name such as `spaces/AAAA/messages/M.M`, of this space.
fn named(value: &Value, space: &str, kind: &str) -> Option<String> {
    let name = value.as_str().filter(|name| name.len() <= MAX_NAME)?;
    let last = name.strip_prefix(space)?.strip_prefix('/')?.strip_prefix(kind)?.strip_prefix('/')?;
    (is_id(last) && last.contains(|c| c != '.')).then(|| name.to_owned())
}

/// Where it happened.
fn place(event: &Value) -> Option<Conversation> {
    let told = match event["space"]["name"].as_str() {
        Some(_) => &event["space"],
        None => &event["message"]["space"],
    };
    let address = space(told["name"].as_str()?).ok()?;
    let direct = told["spaceType"] == "DIRECT_MESSAGE" || told["type"] == "DM";
    let has_threads = !direct && told["spaceThreadingState"] != "UNTHREADED_MESSAGES";
    let thread = named(&event["message"]["thread"]["name"], &address, "threads").filter(|_| has_threads);
    let title = told["displayName"].as_str().map(str::trim).filter(|title| !title.is_empty() && !direct);
    Some(Conversation { address, thread, direct, title: title.map(str::to_owned) })
}

/// Who that is: `users/…`. The address of their mailbox is Google's own word.
fn somebody(user: &Value) -> Option<Author> {
    let id = user["name"].as_str().filter(|name| name.len() <= MAX_NAME)?;
    let _ = id.strip_prefix("users/").filter(|id| is_id(id))?;
    let text = |name: &str| user[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    Some(Author {
        id: id.to_owned(),
        same_as: text("email").map(str::to_ascii_lowercase).into_iter().collect(),
        name: text("displayName").map(str::to_owned),
        kind: if user["type"] == "BOT" { AuthorKind::Program } else { AuthorKind::Person },
        unverified: false,
    })
}

/// The message that one quotes (`QuotedMessageMetadata` of
/// <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages>).
fn quoted(metadata: &Value, space: &str) -> Option<ReplyTo> {
    if is_forward(metadata) {
        return None;
    }
    let snapshot = &metadata["quotedMessageSnapshot"];
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(ReplyTo {
        id: named(&metadata["name"], space, "messages")?,
        mine: false,
        author: text(&snapshot["sender"]).filter(|author| author.len() <= MAX_NAME),
        text: text(&snapshot["text"]),
    })
}

/// Whether a message is handed on: `quoteType`, and `forwardedMetadata`, which is "Populated only for FORWARD quote type" (the same page).
fn is_forward(metadata: &Value) -> bool {
    metadata["quoteType"] == "FORWARD" || metadata["forwardedMetadata"].is_object()
}

/// The words of a message that one hands on, behind the sign of quotations: they are another's. What else it has is `missing`, for its files
/// (`QuotedMessageSnapshot.attachments`, the same page) lie in a space where the app may not be.
fn handed_on(metadata: &Value, missing: &mut Vec<String>) -> String {
    let snapshot = &metadata["quotedMessageSnapshot"];
    let words = ["text", "formattedText"].iter().filter_map(|member| snapshot[*member].as_str());
    let words = words.map(str::trim).find(|words| !words.is_empty()).unwrap_or_default();
    let before = missing.len();
    missing.extend(files::forwarded(&snapshot["attachments"]));
    if words.is_empty() && missing.len() == before {
        missing.push(received::missing("forwarded message", "Google does not show what it says"));
    }
    words.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// A time as Google writes it: as a text, or in seconds and nanoseconds; in milliseconds since 1970.
fn time(value: &Value) -> Option<i64> {
    match value["seconds"].as_i64() {
        Some(seconds) => {
            let millis = value["nanos"].as_i64().unwrap_or_default().clamp(0, 999_999_999) / 1_000_000;
            seconds.checked_mul(1_000)?.checked_add(millis)
        }
        None => value.as_str()?.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond),
    }
}

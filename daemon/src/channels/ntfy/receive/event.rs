//! One line of the stream (<https://docs.ntfy.sh/subscribe/api/#json-message-format>).
//!
//! An update of a notification is a message with the `sequence_id` of the first one
//! (<https://docs.ntfy.sh/publish/#updating-notifications>). Whether there was a first one, the line does not say; so each is a
//! message, and what removes them names the sequence.

use serde_json::Value;

use super::super::Request;
use crate::channels::received::{
    Author, AuthorKind, Conversation, DropReason, Dropped, Event, Received, Words,
};

/// The priority of a message that names none (<https://docs.ntfy.sh/publish/#message-priority>).
const USUAL_PRIORITY: u64 = 3;
/// Tags of a message that are told.
const MOST_TAGS: usize = 20;
/// The longest word for something unknown.
const MOST_WORDS: usize = 40;

/// What a line says.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// The stream is open, at this time by the server's clock, in seconds since 1970.
    Open(Option<i64>),
    /// It still is, and what the server had kept is told.
    Alive,
    /// Something was published.
    Said(Box<Draft>),
    /// Nothing that is used.
    Dropped(Dropped),
}

/// What was published, but for its file.
#[derive(Debug, PartialEq)]
pub struct Draft {
    /// When, in seconds since 1970.
    pub time: Option<i64>,
    /// What the hub receives.
    pub received: Received,
    /// The file that it brings.
    pub(super) file: Option<Sent>,
    /// By what the account knows a message of its own again: the title and the text as they were published.
    published: (String, String),
}

/// A file that is at the account's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// Its name for people.
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) size: Option<u64>,
    /// Its name in the server's `/file`.
    pub(super) file: String,
}

/// Reads a line of a stream of these topics.
pub fn read(line: &[u8], topics: &[String]) -> Line {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return dropped(DropReason::Unreadable, "line");
    };
    let Some(event) = value["event"].as_str() else { return dropped(DropReason::Unreadable, "line") };
    let reads = match event {
        "open" => return Line::Open(value["time"].as_i64()),
        "keepalive" => return Line::Alive,
        "message" => message(&value),
        "message_delete" => Ok((Event::Delete, None)),
        other => Err((DropReason::NotUsed, other)),
    };
    let (event, file) = match reads {
        Ok(read) => read,
        Err((reason, what)) => return dropped(reason, what),
    };
    let word = event.word();
    match draft(&value, topics, event, file) {
        Some(draft) => Line::Said(Box::new(draft)),
        None => dropped(DropReason::Unreadable, word),
    }
}

fn dropped(reason: DropReason, what: &str) -> Line {
    let what = what.chars().filter(|c| !c.is_control()).take(MOST_WORDS).collect();
    Line::Dropped(Dropped { reason, what })
}

type Content = (Event, Option<Sent>);

fn message(value: &Value) -> Result<Content, (DropReason, &'static str)> {
    // Bytes that are no text (<https://docs.ntfy.sh/subscribe/api/#json-message-format>, `encoding`).
    if value["encoding"] == "base64" {
        return Err((DropReason::NotUsed, "message in base64"));
    }
    let file = sent(&value["attachment"]);
    let text = text(value, file.is_some());
    if text.is_empty() && file.is_none() {
        return Err((DropReason::NotUsed, "message without words"));
    }
    Ok((Event::Message(Words { text, ..Words::default() }), file))
}

/// The rest; nothing if the line lacks what every event has.
fn draft(value: &Value, topics: &[String], event: Event, file: Option<Sent>) -> Option<Draft> {
    let id = value["id"].as_str().filter(|id| !id.is_empty())?;
    let topic = value["topic"].as_str().filter(|topic| topics.iter().any(|one| one == topic))?;
    let sequence = value["sequence_id"].as_str().filter(|id| !id.is_empty());
    let time = value["time"].as_i64();
    let received = Received {
        key: format!("{topic}:{id}"),
        conversation: Conversation { address: topic.to_owned(), ..Conversation::default() },
        author: Author { id: topic.to_owned(), unverified: true, ..Author::default() },
        message_id: Some(sequence.unwrap_or(id).to_owned()),
        said_at: time.map(|time| time.saturating_mul(1000)),
        mentions_me: false,
        event,
    };
    let spoken = |name: &str| value[name].as_str().unwrap_or_default().trim().to_owned();
    Some(Draft { time, received, file, published: (spoken("title"), spoken("message")) })
}

impl Draft {
    /// The platform's id of it, where it is a message.
    pub(super) fn id(&self) -> Option<&str> {
        let is_message = matches!(self.received.event, Event::Message(_));
        self.received.key.split_once(':').map(|(_, id)| id).filter(|_| is_message)
    }

    /// Whether it is what this request publishes.
    pub(super) fn is_of(&self, request: &Value) -> bool {
        let topic = &self.received.conversation.address;
        <Request as serde::Deserialize>::deserialize(request).is_ok_and(|request| {
            let (title, message) = (request.title.trim(), request.message.trim());
            request.topic == *topic && (title, message) == (&self.published.0, &self.published.1)
        })
    }

    /// It is the account's own.
    pub(super) fn set_own(&mut self) {
        (self.received.author.kind, self.file) = (AuthorKind::Myself, None);
    }
}

/// The title as the first line, the text, and what else a person is shown, a line each.
fn text(value: &Value, has_file: bool) -> String {
    let spoken = |name: &str| value[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let (title, body) = (spoken("title"), spoken("message"));
    let mut lines: Vec<String> = Vec::new();
    lines.extend(title.filter(|title| !body.is_some_and(|body| body.starts_with(title))).map(str::to_owned));
    lines.extend(body.map(str::to_owned));
    if let Some(priority) =
        value["priority"].as_u64().filter(|is| (1..=5).contains(is) && *is != USUAL_PRIORITY)
    {
        lines.push(format!("priority: {priority} of 5"));
    }
    let tags = value["tags"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let tags: Vec<&str> = tags.filter(|tag| !tag.is_empty()).take(MOST_TAGS).collect();
    if !tags.is_empty() {
        lines.push(format!("tags: {}", tags.join(", ")));
    }
    lines.extend(spoken("click").map(|link| format!("link: {link}")));
    // Wherever it is: nothing is fetched there.
    let elsewhere = value["attachment"]["url"].as_str().filter(|_| !has_file);
    lines.extend(elsewhere.map(|url| format!("file, not fetched: {url}")));
    lines.join("\n")
}

/// A file that was uploaded. Of one that is only pointed to, the server tells no end
/// (<https://docs.ntfy.sh/subscribe/api/#json-message-format>, `attachment.expires`).
fn sent(attachment: &Value) -> Option<Sent> {
    attachment["expires"].as_i64()?;
    let (before, file) = attachment["url"].as_str()?.rsplit_once('/')?;
    let named = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fits = (1..=80).contains(&file.len()) && file.chars().all(named) && !file.starts_with('.');
    let name = attachment["name"].as_str().filter(|name| !name.is_empty()).unwrap_or(file);
    (fits && before.ends_with("/file")).then(|| Sent {
        name: name.to_owned(),
        kind: attachment["type"].as_str().map(str::to_owned),
        size: attachment["size"].as_u64(),
        file: file.to_owned(),
    })
}

//! What a part becomes: one request to one place, and what was planned with it.
//!
//! All that may leave is in here and was approved. What is put in when it leaves: which channel a person's conversation is
//! and which server a channel belongs to, the nonce, a point in time ("an hour" begins then), and a recording's length.
//!
//! Ids are kept as they were given, and looked at before anybody is asked and when the request leaves: what is none is never
//! put into an address.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    card, forms, media,
    media::File,
    presence::{self, Presence, Status},
    target,
};
use crate::{
    channels::{OperationRequest, OutgoingPart, twice},
    message::{
        form::Form,
        operation::{self, Extras, Operation, Poll, Press},
    },
    render::Part,
};

/// <https://docs.discord.com/developers/resources/message#message-object-message-flags>.
mod flag {
    pub(super) const SUPPRESS_EMBEDS: u64 = 1 << 2;
    pub(super) const SUPPRESS_NOTIFICATIONS: u64 = 1 << 12;
}

/// "up to 32 days" (<https://docs.discord.com/developers/resources/poll#poll-create-request-object>).
pub(super) const MAX_POLL_HOURS: u64 = 32 * 24;

/// Rows of buttons and lists together (<https://docs.discord.com/developers/components/reference#action-row>).
pub(super) const MAX_ROWS: usize = 5;

/// "1-100 character channel name" (<https://docs.discord.com/developers/resources/channel#start-thread-from-message>).
pub(super) const MAX_THREAD_NAME: usize = 100;

/// The kinds of an account's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SendOptions {
    /// Whether links have previews.
    pub(super) previews: bool,
    /// Whether an answer notifies who is answered.
    pub(super) mention_answered: bool,
}

/// A request, and what was planned with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredRequest {
    /// The address: a channel's id, or `@` and a person's.
    pub(super) to: String,
    /// The thread in that channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) thread: Option<String>,
    /// What is done there.
    pub(super) request: Request,
    /// The files of a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<File>,
    /// As a voice message, if its file turns out to say how long it is; else as a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) voice: bool,
    /// The forms that its buttons open, in the order of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) forms: Vec<Form>,
    /// For the server's audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// A new message.
    Message { body: Map<String, Value> },
    /// A new thread, at a message or without one, and its first message.
    Thread {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<Map<String, Value>>,
    },
    /// Our reaction to a message, or its removal.
    React { message: String, emoji: String, remove: bool },
    /// Another text.
    Edit { message: String, body: Map<String, Value> },
    /// A message goes.
    Delete { message: String },
    /// A message is pinned.
    Pin { message: String },
    /// A message is no longer pinned.
    Unpin { message: String },
    /// A person may not write for so many seconds; none ends it.
    Timeout { user: String, seconds: u64 },
    /// A person is put out.
    Kick { user: String },
    /// A person is put out and kept out.
    Ban { user: String },
    /// The bot's own status.
    Presence {
        status: Status,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

impl StoredRequest {
    fn new(to: &str, thread: Option<&str>, request: Request) -> Self {
        let (to, thread) = (to.to_owned(), thread.map(str::to_owned));
        Self { to, thread, request, files: vec![], voice: false, forms: vec![], reason: None }
    }

    /// What Discord will not take of it, by what stands in it alone.
    pub(super) fn unfit(&self) -> Option<String> {
        let is_one = |of: &str, id: &str| target::id(of, id).map(drop);
        let message = |id: &str| is_one("message", id);
        let own = match &self.request {
            Request::Message { body } => {
                let answered =
                    body.get("message_reference").and_then(|answered| answered["message_id"].as_str());
                answered.map_or(Ok(()), message)
            }
            Request::Thread { name, message: at, .. } => {
                let length = name.chars().count();
                if length > MAX_THREAD_NAME {
                    return Some(format!(
                        "the name of a thread on Discord has {MAX_THREAD_NAME} characters at most, and this one {length}: \
                         shorten threadName"
                    ));
                }
                at.as_deref().map_or(Ok(()), message)
            }
            Request::React { message: id, .. }
            | Request::Edit { message: id, .. }
            | Request::Delete { message: id }
            | Request::Pin { message: id }
            | Request::Unpin { message: id } => message(id),
            Request::Timeout { user, .. } | Request::Kick { user } | Request::Ban { user } => {
                is_one("person", user)
            }
            Request::Presence { text, .. } => {
                let length = text.as_deref().unwrap_or_default().chars().count();
                if length > presence::MAX_TEXT {
                    return Some(format!(
                        "what a status on Discord says has {} characters at most, and this one {length}: shorten statusText",
                        presence::MAX_TEXT
                    ));
                }
                Ok(())
            }
        };
        let thread = || self.thread.as_deref().map_or(Ok(()), |thread| is_one("thread", thread));
        own.and_then(|()| thread()).err().map(|failure| failure.to_string())
    }

    /// The status that it sets, if it sets one.
    pub(super) fn presence(&self) -> Option<Presence> {
        match &self.request {
            Request::Presence { status, text } => Some(Presence { status: *status, text: text.clone() }),
            _ => None,
        }
    }
}

/// A new message: text, files, and what stands beneath it.
pub(super) fn compose(outgoing: &OutgoingPart<'_>, options: SendOptions) -> StoredRequest {
    let voice = match outgoing.files {
        // A voice message has nothing but its recording (<https://docs.discord.com/developers/resources/message#voice-messages>).
        [file] => {
            file.voice
                && file.kind == "audio/ogg"
                && outgoing.part.text.is_empty()
                && outgoing.extras.is_empty()
        }
        _ => false,
    };
    let embeds = outgoing.extras.card.as_ref().map(card::embeds);
    // It would suppress the card too.
    let previews = options.previews || embeds.is_some() || outgoing.part.text.is_empty();
    let mut body = message(outgoing.part, previews, outgoing.silent);
    answer(&mut body, outgoing.reply_to, options);
    if let Some(embeds) = embeds {
        body.insert("embeds".into(), embeds.into());
    }
    let components = components(outgoing.extras);
    if !components.is_empty() {
        body.insert("components".into(), components.into());
    }
    let files: Vec<File> = outgoing.files.iter().map(File::from).collect();
    if !files.is_empty() {
        body.insert("attachments".into(), media::described(&files).into());
    }
    let forms = forms(outgoing.extras).cloned().collect();
    StoredRequest {
        files,
        voice,
        forms,
        ..StoredRequest::new(outgoing.address, outgoing.thread, Request::Message { body })
    }
}

/// What is done otherwise.
pub(super) fn compose_operation(op: &OperationRequest<'_>, options: SendOptions) -> Option<StoredRequest> {
    let user = |user: &str| target::user(user).to_owned();
    let mut because = None;
    let request = match op.operation.clone() {
        Operation::Poll(poll) => {
            let mut body = calling_nobody(flags(true, op.silent));
            answer(&mut body, op.reply_to, options);
            body.insert("poll".into(), ask(&poll));
            Request::Message { body }
        }
        Operation::Thread { name, message: at } => {
            let first = op.part.map(|part| message(part, options.previews, op.silent));
            Request::Thread { name, message: at, first }
        }
        Operation::React { message, emoji, remove } => {
            Request::React { message, emoji: as_named(&emoji), remove }
        }
        Operation::Edit { message: of } => {
            let mut body = calling_nobody(0);
            body.insert("content".into(), op.part?.text.clone().into());
            call(&mut body, op.part?);
            Request::Edit { message: of, body }
        }
        Operation::Delete { message } => Request::Delete { message },
        Operation::Pin { message } => Request::Pin { message },
        Operation::Unpin { message } => Request::Unpin { message },
        Operation::Timeout { user: whom, seconds, reason } => {
            because = reason;
            Request::Timeout { user: user(&whom), seconds }
        }
        Operation::Kick { user: whom, reason } => {
            because = reason;
            Request::Kick { user: user(&whom) }
        }
        Operation::Ban { user: whom, reason } => {
            because = reason;
            Request::Ban { user: user(&whom) }
        }
        Operation::Presence { status, text } => {
            let status = match status {
                operation::Presence::Online => Status::Online,
                operation::Presence::Away => Status::Idle,
                operation::Presence::Busy => Status::Dnd,
                operation::Presence::Offline => Status::Invisible,
            };
            Request::Presence { status, text }
        }
        Operation::Send(_) => return None,
    };
    Some(StoredRequest { reason: because, ..StoredRequest::new(op.address, op.thread, request) })
}

/// <https://docs.discord.com/developers/resources/message#create-message>.
fn message(part: &Part, previews: bool, silent: bool) -> Map<String, Value> {
    let mut body = calling_nobody(flags(previews, silent));
    if !part.text.is_empty() {
        body.insert("content".into(), part.text.clone().into());
    }
    call(&mut body, part);
    body
}

/// Notifies whom a text calls, and nobody else.
fn call(body: &mut Map<String, Value>, part: &Part) {
    if !part.mentions.is_empty() {
        body["allowed_mentions"]["users"] = json!(part.mentions);
    }
}

/// An empty list says that nobody is notified, whatever the text looks like
/// (<https://docs.discord.com/developers/resources/message#allowed-mentions-object>).
fn calling_nobody(flags: u64) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("allowed_mentions".into(), json!({"parse": [], "replied_user": false}));
    if flags != 0 {
        body.insert("flags".into(), flags.into());
    }
    body
}

fn flags(previews: bool, silent: bool) -> u64 {
    let one = |on: bool, flag| if on { flag } else { 0 };
    one(!previews, flag::SUPPRESS_EMBEDS) | one(silent, flag::SUPPRESS_NOTIFICATIONS)
}

fn answer(body: &mut Map<String, Value>, message: Option<&str>, options: SendOptions) {
    if let Some(message) = message {
        // It goes also if the other one was deleted meanwhile: an answer without its question is better than none.
        let reference = json!({"message_id": message, "fail_if_not_exists": false});
        body.insert("message_reference".into(), reference);
        body["allowed_mentions"]["replied_user"] = options.mention_answered.into();
    }
}

/// Rows of buttons, then a row for each list
/// (<https://docs.discord.com/developers/components/reference#action-row>).
fn components(extras: &Extras) -> Vec<Value> {
    let mut form = 0;
    // <https://docs.discord.com/developers/components/reference#button-button-styles>: 2 is the quiet one, 5 a link's.
    let buttons = extras.buttons.iter().filter(|row| !row.is_empty()).map(|row| {
        let buttons = row.iter().map(|button| match &button.press {
            Press::Data(data) => json!({"type": 2, "style": 2, "label": button.text, "custom_id": data}),
            Press::Url(url) => json!({"type": 2, "style": 5, "label": button.text, "url": url}),
            Press::Form(_) => {
                let id = forms::stored_id(form);
                form += 1;
                json!({"type": 2, "style": 2, "label": button.text, "custom_id": id})
            }
        });
        buttons.collect::<Vec<_>>()
    });
    let selects = extras.selects.iter().map(|select| {
        let options =
            select.options.iter().map(|option| json!({"label": option.label, "value": option.value}));
        let mut list = json!({"type": 3, "custom_id": select.id, "options": options.collect::<Vec<_>>()});
        if let Some(placeholder) = &select.placeholder {
            list["placeholder"] = placeholder.as_str().into();
        }
        vec![list]
    });
    buttons.chain(selects).map(|row| json!({"type": 1, "components": row})).collect()
}

/// The forms of a message, in the order of the buttons that open them.
fn forms(extras: &Extras) -> impl Iterator<Item = &Form> {
    extras.buttons.iter().flatten().filter_map(|button| match &button.press {
        Press::Form(form) => Some(form),
        Press::Data(_) | Press::Url(_) => None,
    })
}

/// What comes twice among what may come once: the id of a button or list in a message, and a choice's value in its list
/// (<https://docs.discord.com/developers/components/reference#custom-id>; 50035, `COMPONENT_CUSTOM_ID_DUPLICATED` and
/// `SELECT_COMPONENT_OPTION_VALUE_DUPLICATED`).
pub(super) fn alike(extras: &Extras) -> Option<String> {
    let pressed = extras.buttons.iter().flatten().filter_map(|button| match &button.press {
        Press::Data(data) => Some(data.as_str()),
        Press::Url(_) | Press::Form(_) => None,
    });
    let mut ids = pressed.clone().chain(extras.selects.iter().map(|list| list.id.as_str()));
    // A press on it would open a form, and of another message at that.
    if let Some(ours) = ids.find(|id| id.starts_with(forms::PREFIX)) {
        return Some(format!("{ours:?} begins as the hub's own ids of forms do: give it another one"));
    }
    if let Some(same) = twice(pressed.chain(extras.selects.iter().map(|list| list.id.as_str()))) {
        return Some(format!(
            "two buttons or lists are {same:?}: on Discord each has a callback_data or id of its own in a message"
        ));
    }
    let same =
        extras.selects.iter().find_map(|list| twice(list.options.iter().map(|one| one.value.as_str())));
    same.map(|same| format!("two choices of a list are {same:?}: on Discord each has a value of its own"))
}

/// <https://docs.discord.com/developers/resources/poll#poll-create-request-object>: whole hours, at least one.
fn ask(poll: &Poll) -> Value {
    let answers: Vec<Value> =
        poll.options.iter().map(|option| json!({"poll_media": {"text": option}})).collect();
    let mut asked = json!({
        "question": {"text": poll.question},
        "answers": answers,
        "allow_multiselect": poll.multiple,
    });
    if let Some(seconds) = poll.seconds {
        asked["duration"] = seconds.div_ceil(3600).clamp(1, MAX_POLL_HOURS).into();
    }
    asked
}

/// An emoji as an address has it: itself, or `name:id` of a server's own, which a text has as `<:name:id>`
/// (<https://docs.discord.com/developers/resources/message#create-reaction>).
fn as_named(emoji: &str) -> String {
    let emoji = emoji.trim();
    let inner = emoji.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner
        .map_or(emoji, |inner| inner.strip_prefix("a:").or(inner.strip_prefix(':')).unwrap_or(inner))
        .to_owned()
}

#[cfg(test)]
mod tests;

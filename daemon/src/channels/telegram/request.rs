//! What a part becomes: one request, and what was planned with it.
//!
//! All that may leave is in here and was approved: the request, the text that goes instead where Telegram cannot read the
//! markup, the other method for the same file or text where Telegram wants that one, and a second request where one thing
//! takes two. Nothing else is ever made up on the way; only a point in time is put in when it leaves, for "an hour" begins
//! then.
//!
//! Ids are numbers on Telegram. What is none is passed on as it is, for Telegram to refuse in its own words.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    media::{self, File},
    profile::{CAPABILITIES, FORMAT},
    target,
};
use crate::{
    channels::{OperationRequest, OutgoingPart, envelope::Fallback},
    message::operation::{Extras, Operation, Poll, Press},
    render::{Part, without_usernames},
};

/// <https://core.telegram.org/bots/api#deletemessage>.
pub(super) const REMOVE: &str = "deleteMessage";
/// "If some of the specified messages can't be found, they are skipped"; it takes a hundred
/// (<https://core.telegram.org/bots/api#deletemessages>).
const REMOVE_ALL: &str = "deleteMessages";

/// The parameter with a message's buttons.
pub(super) const KEYBOARD: &str = "reply_markup";

/// Between the ids of an album's messages, which are one message to everybody but Telegram.
pub(super) const BETWEEN: char = ',';

/// A request, and what was planned with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The method of the Bot API.
    pub(super) method: String,
    /// Its parameters.
    pub(super) body: Map<String, Value>,
    /// The file that it brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<File>,
    /// The files of an album.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) album: Vec<File>,
    /// The text or caption without markup, where Telegram cannot read it with markup.
    #[serde(default, skip_serializing_if = "Fallback::is_none")]
    pub(super) plain: Fallback<String>,
    /// The method for what the first one turns out not to be for.
    #[serde(default, skip_serializing_if = "Fallback::is_none")]
    pub(super) instead: Fallback<Instead>,
    /// For how long it holds, in seconds from when it leaves: becomes `until_date`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<u64>,
    /// What follows once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) then: Option<Box<Request>>,
}

/// The same by another method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Instead {
    /// A picture that Telegram does not take as a photo goes as a document.
    Document,
    /// The message to edit is a file, and the text is its caption.
    Caption,
}

impl Request {
    fn new(method: &str, body: Value) -> Self {
        let body = match body {
            Value::Object(body) => body,
            _ => Map::new(),
        };
        let method = method.to_owned();
        Self {
            method,
            body,
            file: None,
            album: vec![],
            plain: Fallback::default(),
            instead: Fallback::default(),
            seconds: None,
            then: None,
        }
    }

    /// What Telegram will not take of it, by what stands in it alone.
    pub(super) fn unfit(&self) -> Option<String> {
        target::unfit(&self.body).or_else(|| poll_too_long(&self.body))
    }

    /// Whether nobody sees that it was done twice.
    pub(super) fn may_be_repeated(&self) -> bool {
        matches!(
            self.method.as_str(),
            "setMessageReaction"
                | "editMessageText"
                | REMOVE
                | REMOVE_ALL
                | "pinChatMessage"
                | "unpinChatMessage"
                | "restrictChatMember"
                | "banChatMember"
        )
    }

    /// The same without markup.
    pub(super) fn without_markup(&mut self, plain: String) {
        // The caption of an album is its first item's.
        let body = match self.body.contains_key("media") {
            true => self.body.get_mut("media").and_then(|media| media.get_mut(0)?.as_object_mut()),
            false => Some(&mut self.body),
        };
        let Some(body) = body else { return };
        body.remove("parse_mode");
        for text in ["text", "caption"] {
            if let Some(text) = body.get_mut(text) {
                *text = plain.into();
                return;
            }
        }
    }

    /// The same by its other method.
    pub(super) fn by(&mut self, other: Instead) {
        match (other, &mut self.file) {
            (Instead::Document, Some(file)) => {
                self.method = "sendDocument".into();
                file.field = "document".into();
            }
            (Instead::Document, None) => {
                let items = self.body.get_mut("media").and_then(Value::as_array_mut);
                items.into_iter().flatten().for_each(|item| item["type"] = "document".into());
            }
            (Instead::Caption, _) => {
                self.method = "editMessageCaption".into();
                self.body.remove("link_preview_options");
                if let Some(text) = self.body.remove("text") {
                    self.body.insert("caption".into(), text);
                }
            }
        }
    }

    /// Puts a part's text in as `name`, which takes so many units; no text, nothing.
    fn say(&mut self, name: &str, most: Option<usize>, part: &Part) {
        if part.text.is_empty() {
            return;
        }
        match &part.html {
            Some(html) => {
                self.set(name, html.as_str());
                self.set("parse_mode", "HTML");
                // With the addresses of its links, if there is room for them. Nothing that was to be hidden is shown without
                // a word of it, and without markup a name in code would call somebody too.
                let shown = [Some(&part.shown), Some(&part.text).filter(|_| part.preview.is_none())];
                let mut plain = shown.into_iter().flatten().map(|text| without_usernames(text));
                let fits = |text: &String| most.is_none_or(|most| text.encode_utf16().count() <= most);
                self.plain = plain.find(fits).map_or_else(Fallback::default, Fallback::planned);
            }
            None => self.set(name, without_usernames(&part.text)),
        }
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.body.insert(name.into(), value.into());
    }

    /// What every new message has: where it goes in its chat, what it answers, whether it is heard.
    fn place(&mut self, thread: Option<&str>, reply_to: Option<&str>, silent: bool) {
        if let Some(thread) = thread {
            self.set("message_thread_id", number(thread));
        }
        if let Some(message) = reply_to {
            // It goes also if the other one was deleted meanwhile: an answer without its question is better than none, and
            // it is in the same chat in any case.
            let reply = json!({"message_id": first(message), "allow_sending_without_reply": true});
            self.set("reply_parameters", reply);
        }
        if silent {
            self.set("disable_notification", true);
        }
    }
}

/// A new message: text, or a file with its caption.
pub(super) fn compose(outgoing: &OutgoingPart<'_>, link_previews: bool) -> Request {
    let chat = json!({"chat_id": number(outgoing.address)});
    let mut request = match outgoing.files {
        [_, _, ..] => album(chat, outgoing),
        [attachment] => {
            let (method, file) = File::of(attachment);
            let mut request = Request::new(method, chat);
            request.file = Some(file);
            request.instead = (method == "sendPhoto").then_some(Instead::Document).into();
            request.say("caption", FORMAT.caption_limit, outgoing.part);
            request
        }
        [] => text(outgoing.address, outgoing.part, link_previews),
    };
    request.place(outgoing.thread, outgoing.reply_to, outgoing.silent);
    if let Some(keyboard) = keyboard(outgoing.extras) {
        request.set(KEYBOARD, keyboard);
    }
    request
}

/// <https://core.telegram.org/bots/api#sendmediagroup>. Its caption is the first item's, which is shown beneath all of them.
fn album(chat: Value, outgoing: &OutgoingPart<'_>) -> Request {
    let (mut items, files) = media::album(outgoing.files);
    let mut caption = Request::new("", json!({}));
    caption.say("caption", FORMAT.caption_limit, outgoing.part);
    if let Some(Value::Object(first)) = items.first_mut() {
        first.extend(caption.body);
    }
    let seen = items.iter().any(|item| item["type"] == "photo");
    let mut request = Request::new("sendMediaGroup", chat);
    request.set("media", items);
    (request.album, request.plain) = (files, caption.plain);
    request.instead = seen.then_some(Instead::Document).into();
    request
}

/// What is done otherwise.
pub(super) fn compose_operation(op: &OperationRequest<'_>, link_previews: bool) -> Option<Request> {
    let chat = || number(op.address);
    let of = |message: &str| json!({"chat_id": chat(), "message_id": first(message)});
    let person = |user: &str| json!({"chat_id": chat(), "user_id": number(user)});
    Some(match op.operation {
        Operation::Poll(poll) => {
            let mut request = Request::new("sendPoll", ask(chat(), poll));
            request.place(op.thread, op.reply_to, op.silent);
            request
        }
        // A topic begins at no message.
        Operation::Thread { message: Some(_), .. } => return None,
        Operation::Thread { name, message: None } => {
            let mut request = Request::new("createForumTopic", json!({"chat_id": chat(), "name": name}));
            request.then = op.part.map(|part| Box::new(text(op.address, part, link_previews)));
            request
        }
        Operation::React { message, emoji, remove } => {
            let mut request = Request::new("setMessageReaction", of(message));
            let reactions = if *remove { vec![] } else { vec![reaction(emoji)] };
            request.set("reaction", reactions);
            request
        }
        Operation::Edit { message } => {
            let mut request = text(op.address, op.part?, link_previews);
            request.method = "editMessageText".into();
            request.set("message_id", first(message));
            request.instead = Fallback::planned(Instead::Caption);
            request
        }
        Operation::Delete { message } if message.contains(BETWEEN) => {
            let all: Vec<Value> = message.split(BETWEEN).map(|id| number(id.trim())).collect();
            Request::new(REMOVE_ALL, json!({"chat_id": chat(), "message_ids": all}))
        }
        Operation::Delete { message } => Request::new(REMOVE, of(message)),
        Operation::Pin { message } => {
            let mut request = Request::new("pinChatMessage", of(message));
            // Otherwise everybody in the chat is notified.
            request.set("disable_notification", true);
            request
        }
        Operation::Unpin { message } => Request::new("unpinChatMessage", of(message)),
        Operation::Timeout { user, seconds, .. } => {
            let mut request = Request::new("restrictChatMember", person(user));
            request.seconds = Some(*seconds).filter(|seconds| *seconds > 0);
            request.set("permissions", permissions(*seconds == 0));
            request
        }
        Operation::Ban { user, .. } => Request::new("banChatMember", person(user)),
        Operation::Kick { user, .. } => {
            let mut request = Request::new("banChatMember", person(user));
            // Who is put out of a basic group may come back when somebody adds them; elsewhere a ban stays until it is lifted
            // (<https://core.telegram.org/bots/api#banchatmember>), and only of who is banned.
            if !is_basic_group(op.address) {
                let mut lift = Request::new("unbanChatMember", person(user));
                lift.set("only_if_banned", true);
                request.then = Some(Box::new(lift));
            }
            request
        }
        Operation::Send(_) | Operation::Presence { .. } => return None,
    })
}

/// <https://core.telegram.org/bots/api#sendmessage>.
fn text(address: &str, part: &Part, link_previews: bool) -> Request {
    let mut request = Request::new("sendMessage", json!({"chat_id": number(address)}));
    request.say("text", FORMAT.flavour.limit, part);
    if !link_previews {
        request.set("link_preview_options", json!({"is_disabled": true}));
    }
    request
}

/// <https://core.telegram.org/bots/api#sendpoll>.
fn ask(chat: Value, poll: &Poll) -> Value {
    let options: Vec<Value> =
        poll.options.iter().map(|option| json!({"text": without_usernames(option)})).collect();
    let mut body = json!({
        "chat_id": chat,
        "question": without_usernames(&poll.question),
        "options": options,
        "allows_multiple_answers": poll.multiple,
    });
    if let Some(anonymous) = poll.anonymous {
        body["is_anonymous"] = anonymous.into();
    }
    if let Some(seconds) = poll.seconds {
        body["open_period"] = seconds.into();
    }
    body
}

/// Why a poll is too long with the signs that keep the names in it from calling anybody.
fn poll_too_long(body: &Map<String, Value>) -> Option<String> {
    let rules = CAPABILITIES.polls.as_ref()?;
    let longer = |text: &Value, most: usize| text.as_str().is_some_and(|text| rules.unit.count(text) > most);
    let mut options = body.get("options").and_then(Value::as_array).into_iter().flatten();
    let is_too_long = body.get("question").is_some_and(|question| longer(question, rules.question))
        || options.any(|option| longer(&option["text"], rules.option));
    is_too_long.then(|| {
        format!(
            "each @name in a poll on Telegram takes one more character, which keeps it from calling anybody: with these a \
             question has {} at most, and an answer {}",
            rules.question, rules.option
        )
    })
}

/// <https://core.telegram.org/bots/api#inlinekeyboardmarkup>.
fn keyboard(extras: &Extras) -> Option<Value> {
    let rows = extras.buttons.iter().map(|row| {
        let buttons = row.iter().map(|button| match &button.press {
            Press::Data(data) => json!({"text": button.text, "callback_data": data}),
            Press::Url(url) => json!({"text": button.text, "url": url}),
            // Admission refuses them for this channel.
            Press::Form(_) => json!({"text": button.text}),
        });
        buttons.collect::<Vec<_>>()
    });
    let rows: Vec<_> = rows.filter(|row| !row.is_empty()).collect();
    (!rows.is_empty()).then(|| json!({ "inline_keyboard": rows }))
}

/// <https://core.telegram.org/bots/api#reactiontype>. The emoji that it takes have no variation selector in them, which
/// keyboards and models put behind some; a number is a custom emoji's id.
fn reaction(emoji: &str) -> Value {
    let emoji = emoji.trim();
    if !emoji.is_empty() && emoji.bytes().all(|b| b.is_ascii_digit()) {
        return json!({"type": "custom_emoji", "custom_emoji_id": emoji});
    }
    json!({"type": "emoji", "emoji": emoji.replace('\u{fe0f}', "")})
}

/// <https://core.telegram.org/bots/api#chatpermissions>: what is left out is forbidden, and all of it allowed ends a
/// restriction (<https://core.telegram.org/bots/api#restrictchatmember>).
fn permissions(all: bool) -> Value {
    if !all {
        return json!({"can_send_messages": false});
    }
    let every = [
        "can_send_messages",
        "can_send_audios",
        "can_send_documents",
        "can_send_photos",
        "can_send_videos",
        "can_send_video_notes",
        "can_send_voice_notes",
        "can_send_polls",
        "can_send_other_messages",
        "can_add_web_page_previews",
        "can_react_to_messages",
        "can_edit_tag",
        "can_change_info",
        "can_invite_users",
        "can_pin_messages",
        "can_manage_topics",
    ];
    every.into_iter().map(|name| (name.to_owned(), Value::Bool(true))).collect::<Map<_, _>>().into()
}

/// Supergroups and channels begin with -100 and have 13 digits (<https://core.telegram.org/api/bots/ids>).
fn is_basic_group(address: &str) -> bool {
    address.starts_with('-') && !(address.starts_with("-100") && address.len() >= 14)
}

/// A message as the number that it is; of an album the first, which has its caption and is what people answer.
fn first(message: &str) -> Value {
    number(message.split(BETWEEN).next().unwrap_or(message).trim())
}

/// An id as the number that it is.
fn number(text: &str) -> Value {
    let bare = text.strip_prefix("tg:").unwrap_or(text);
    bare.parse::<i64>().map_or_else(|_| text.into(), Value::from)
}

#[cfg(test)]
mod tests;

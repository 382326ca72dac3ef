//! What a message says: its text, its files, and in words what is neither.

use serde_json::Value;

use super::{
    entities,
    files::{LARGEST, Sent},
    read::{Me, number},
};
use crate::channels::received::{MAX_TEXT_CHARS, ReplyTo, Words};

/// Words as they were read: the files are still at Telegram.
pub(super) struct Said {
    pub(super) words: Words,
    pub(super) files: Vec<Sent>,
    /// Whether the bot is meant.
    pub(super) mentions_me: bool,
}

/// What a message says; nothing if nobody says anything with it.
pub(super) fn read(message: &Value, me: &Me) -> Option<Said> {
    let (text, entities) = match message["text"].as_str() {
        Some(text) => (text, &message["entities"]),
        None => (message["caption"].as_str().unwrap_or_default(), &message["caption_entities"]),
    };
    // Before anything is sought in it.
    let text = text.char_indices().nth(MAX_TEXT_CHARS).map_or(text, |(end, _)| &text[..end]);
    let mut words = Words {
        text: entities::with_links(text, entities),
        forwarded: handed_on(message),
        reply_to: reply(message, me).or_else(|| elsewhere(message)),
        ..Words::default()
    };
    let files = files(message);
    for told in described(message) {
        if !words.text.is_empty() {
            words.text.push('\n');
        }
        words.text.push_str(&told);
    }
    for (member, what) in [("story", "a story"), ("paid_media", "media that are paid for")] {
        if message[member].is_object() {
            words.missing.push(format!("{what}: Telegram does not give it to bots"));
        }
    }
    if words.text.is_empty() && files.is_empty() && words.missing.is_empty() {
        return None;
    }
    // Also one that it handed on, which is not its words.
    let answered = &message["reply_to_message"];
    let posted_by = if answers(answered) { &answered["from"] } else { origin(message) };
    let answers_me = words.reply_to.is_some() && posted_by["id"].as_i64() == Some(me.id);
    // Whoever was called in what is handed on was called by somebody else.
    let mentions_me = answers_me || !words.forwarded && entities::mention(text, entities, me);
    Some(Said { words, files, mentions_me })
}

/// Whether a message's words are somebody else's. What an inline bot wrote is sent by a person, and not their words
/// (<https://core.telegram.org/bots/api#message>, `forward_origin`, `via_bot`).
fn handed_on(message: &Value) -> bool {
    message["forward_origin"].is_object() || message["via_bot"].is_object()
}

/// Whether a message is one that is answered. In a topic, what answers nothing names the message that opened the topic
/// (<https://core.telegram.org/bots/api#message>, `reply_to_message`, `forum_topic_created`).
fn answers(answered: &Value) -> bool {
    number(&answered["message_id"]).is_some() && !answered["forum_topic_created"].is_object()
}

/// The message of the same chat that it answers.
fn reply(message: &Value, me: &Me) -> Option<ReplyTo> {
    let answered = &message["reply_to_message"];
    let id = number(&answered["message_id"]).filter(|_| answers(answered))?;
    let text = ["text", "caption"].iter().find_map(|member| answered[*member].as_str());
    let text = message["quote"]["text"].as_str().or(text).map(str::to_owned);
    let from = answered["from"]["id"].as_i64();
    // What was handed on is nobody's words in particular, whoever did.
    let from = from.filter(|_| !handed_on(answered));
    let (mine, author) = (from == Some(me.id), from.map(|id| id.to_string()));
    // Whoever writes as a chat is not the account that Telegram puts in their place (`sender_chat`).
    let author = author.filter(|_| !answered["sender_chat"].is_object());
    Some(ReplyTo { id: id.to_string(), mine, author, text })
}

/// Who wrote the message of another chat or topic that a message answers: a user, or a chat that somebody writes as; nothing of a
/// user who hides (<https://core.telegram.org/bots/api#messageorigin>).
fn origin(message: &Value) -> &Value {
    let origin = &message["external_reply"]["origin"];
    match origin["type"].as_str() {
        Some("user") => &origin["sender_user"],
        Some("chat") => &origin["sender_chat"],
        Some("channel") => &origin["chat"],
        _ => &Value::Null,
    }
}

/// The message of another chat or topic that it answers, of whose text Telegram tells what is quoted
/// (<https://core.telegram.org/bots/api#externalreplyinfo>).
///
/// Where that is does not say whether an inline bot wrote it (`via_bot`), whose words are sent by a person: so it is nobody's in
/// particular if the origin names who answers, and never the bot's own, which somebody else may have led it to.
fn elsewhere(message: &Value) -> Option<ReplyTo> {
    let answered = &message["external_reply"];
    let (chat, here) = (number(&answered["chat"]["id"]), number(&message["chat"]["id"]));
    let id = match (chat, number(&answered["message_id"])) {
        (Some(chat), Some(id)) if Some(chat) == here => id.to_string(),
        // Another message of this chat has the same number.
        (Some(chat), Some(id)) => format!("{chat}/{id}"),
        // Telegram numbers those of supergroups and channels alone.
        _ => String::new(),
    };
    let writers = ["from", "sender_chat"].map(|who| number(&message[who]["id"]));
    let author = number(&origin(message)["id"]).filter(|author| !writers.contains(&Some(*author)));
    let author = author.map(|author| author.to_string());
    let text = message["quote"]["text"].as_str().map(str::to_owned);
    answered.is_object().then_some(ReplyTo { id, mine: false, author, text })
}

/// What is no text, as one.
fn described(message: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = |head: &Value, items: &Value| {
        let items = items.as_array().into_iter().flatten().take(100);
        items.fold(word(head), |text, item| format!("{text}\n- {}", word(&item["text"])))
    };
    let venue = &message["venue"];
    if venue.is_object() {
        told.push(format!("{}, {}", word(&venue["title"]), word(&venue["address"])));
    }
    // As RFC 5870 writes a place.
    let place = if venue.is_object() { &venue["location"] } else { &message["location"] };
    if let (Some(latitude), Some(longitude)) = (place["latitude"].as_f64(), place["longitude"].as_f64()) {
        told.push(format!("geo:{latitude},{longitude}"));
    }
    let contact = &message["contact"];
    if contact.is_object() {
        let parts = ["first_name", "last_name", "phone_number"].map(|part| word(&contact[part]));
        told.push(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "));
    }
    if let (Some(emoji), Some(value)) = (message["dice"]["emoji"].as_str(), message["dice"]["value"].as_i64())
    {
        told.push(format!("{emoji} {value}"));
    }
    for (member, head, items) in [("poll", "question", "options"), ("checklist", "title", "tasks")] {
        let list = &message[member];
        if list.is_object() {
            told.push(lines(&list[head], &list[items]));
        }
    }
    for (member, name) in [("sticker", "emoji"), ("game", "title"), ("invoice", "title")] {
        told.extend(message[member][name].as_str().map(str::to_owned));
    }
    told.retain(|text| !text.trim().is_empty());
    told
}

/// The files. Beside an animation stands the same as a document, for programs that do not know it
/// (<https://core.telegram.org/bots/api#message>, `animation`).
fn files(message: &Value) -> Vec<Sent> {
    let mut files: Vec<Sent> = photo(&message["photo"]).into_iter().collect();
    let animated = message["animation"].is_object();
    for (member, name, voice) in [
        ("animation", "animation.mp4", false),
        ("video", "video.mp4", false),
        ("video_note", "video.mp4", false),
        ("voice", "voice.ogg", true),
        ("audio", "audio.mp3", false),
        ("sticker", "sticker.webp", false),
        ("document", "file", false),
    ] {
        let file = &message[member];
        if member != "document" || !animated {
            files.extend(sent(file, file["file_name"].as_str().unwrap_or(name), voice));
        }
    }
    files
}

fn sent(file: &Value, name: &str, voice: bool) -> Option<Sent> {
    Some(Sent {
        id: file["file_id"].as_str().filter(|id| !id.is_empty())?.to_owned(),
        name: name.chars().take(200).collect(),
        kind: file["mime_type"].as_str().map(|kind| kind.chars().take(100).collect()),
        size: file["file_size"].as_u64(),
        voice,
    })
}

/// The largest of the sizes of a photo that a bot is given.
fn photo(sizes: &Value) -> Option<Sent> {
    let sizes = sizes.as_array()?.iter().take(20);
    let fits = sizes.filter(|size| size["file_size"].as_u64().is_none_or(|bytes| bytes <= LARGEST));
    let area = |size: &&Value| {
        let side = |name: &str| size[name].as_u64().unwrap_or(0);
        side("width").saturating_mul(side("height"))
    };
    sent(fits.max_by_key(area)?, "photo.jpg", false)
}

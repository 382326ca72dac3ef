//! A message as the program hands it over (`MessagePayload`, `Sources/imsg/OutputModels.swift` at 11dd3d8, and `messagePayload`,
//! `RPCPayloads.swift` at 387e015), as what somebody did.

use serde_json::Value;

use super::super::{
    place,
    source::{Mark, Row, Sent},
    tapback,
};
use crate::channels::received::{
    Author, AuthorKind, Dropped, Event, Received, ReplyTo, Words, not_used, unreadable,
};

const PLACE_OF_FILE: char = '\u{fffc}';

/// Reads a message.
pub(super) fn read(message: &Value) -> Row {
    let mark = Mark::behind(message["id"].as_i64().unwrap_or(0));
    match said(message) {
        Ok((received, files)) => Row { mark, received: vec![received], files, ..Row::default() }.bounded(),
        Err(dropped) => {
            let is_nowhere = message["chat_guid"].as_str().is_none_or(str::is_empty);
            Row { mark, dropped: Some(dropped), is_nowhere, ..Row::default() }
        }
    }
}

fn said(message: &Value) -> Result<(Received, Vec<Sent>), Dropped> {
    let text = |name: &str| message[name].as_str().filter(|text| !text.is_empty());
    let guid = text("guid").ok_or_else(|| unreadable("message"))?;
    let chat = text("chat_guid").ok_or_else(|| unreadable("conversation"))?;
    let conversation =
        place::conversation(chat, text("chat_name")).ok_or_else(|| unreadable("conversation"))?;
    let own = text("destination_caller_id");
    let author = match message["is_from_me"] == true {
        true => place::myself(own),
        false => {
            // By which service a message came stands nowhere else.
            let service = chat.split(';').next().filter(|service| *service != "any");
            let author = text("sender").and_then(|sender| place::author(sender, service));
            let author = author.ok_or_else(|| unreadable("sender"))?;
            match own.and_then(place::handle) == Some(author.id.clone()) {
                true => place::myself(own),
                false => Author { name: text("sender_name").map(str::to_owned), ..author },
            }
        }
    };
    let received = |message_id: &str, event: Event| Received {
        key: guid.to_owned(),
        conversation: conversation.clone(),
        author: author.clone(),
        message_id: Some(message_id.to_owned()),
        said_at: written(message),
        mentions_me: false,
        event,
    };
    if message["is_reaction"] == true {
        let target = text("reacted_to_guid").map(tapback::target).filter(|target| !target.is_empty());
        let target = target.ok_or_else(|| unreadable("reaction"))?;
        let emoji = text("reaction_emoji").or_else(|| text("reaction_type")).unwrap_or("emoji").to_owned();
        let event = Event::Reaction { emoji, removed: message["is_reaction_add"] == false };
        return Ok((received(target, event), Vec::new()));
    }
    let attachments = message["attachments"].as_array().map_or(&[][..], Vec::as_slice);
    let files: Vec<Sent> = attachments.iter().filter_map(sent).collect();
    let words = text("text").unwrap_or_default().replace(PLACE_OF_FILE, "").trim().to_owned();
    if words.is_empty() && files.is_empty() {
        return Err(not_used(text("balloon_bundle_id").unwrap_or("message without words")));
    }
    let reply_to = text("thread_originator_guid").map(|id| ReplyTo {
        id: id.to_owned(),
        mine: false,
        author: text("reply_to_sender").and_then(place::handle),
        text: text("reply_to_text").map(str::to_owned),
    });
    let is_own = author.kind == AuthorKind::Myself;
    let event = Event::Message(Words { text: words, reply_to, ..Words::default() });
    Ok((received(guid, event), if is_own { Vec::new() } else { files }))
}

/// When a message was written, in milliseconds since 1970.
pub(super) fn written(message: &Value) -> Option<i64> {
    let at = message["created_at"].as_str()?.parse::<jiff::Timestamp>().ok()?;
    Some(at.as_millisecond())
}

fn sent(attachment: &Value) -> Option<Sent> {
    let text = |name: &str| attachment[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Sent {
        at: text("original_path")?,
        name: text("transfer_name"),
        kind: text("mime_type"),
        size: attachment["total_bytes"].as_u64().filter(|size| *size > 0),
        voice: text("uti").is_some_and(|uti| uti == "com.apple.coreaudio-format"),
    })
}

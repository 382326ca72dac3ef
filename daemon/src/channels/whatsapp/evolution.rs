//! What a message becomes on the Evolution API, version 2: a path, and what is posted to it.
//!
//! <https://doc.evolution-api.com/v2/api-reference/message-controller/send-text>; what each request may hold is in
//! <https://github.com/EvolutionAPI/evolution-api/blob/main/src/validate/message.schema.ts> and `chat.schema.ts` beside it.

use serde_json::{Value, json};

use super::{
    target::{MessageId, jid},
    wire::{NO_MESSAGE, refused},
};
use crate::{
    channels::{Act, Letter},
    message::deed::Deed,
};

/// A new message.
pub(super) fn compose(letter: &Letter<'_>, previews: bool) -> Value {
    let (path, mut body) = match letter.files.first() {
        None => {
            let body = json!({ "number": letter.address, "text": letter.part.text, "linkPreview": previews });
            ("message/sendText", body)
        }
        Some(file) if file.voice && letter.part.text.is_empty() => {
            ("message/sendWhatsAppAudio", json!({ "number": letter.address, "audio": file.reference() }))
        }
        Some(file) => {
            let kind = match file.kind.split('/').next() {
                Some("image") => "image",
                Some("video") => "video",
                // There it would lose its caption.
                Some("audio") if letter.part.text.is_empty() => "audio",
                _ => "document",
            };
            let mut body = json!({
                "number": letter.address,
                "mediatype": kind,
                "mimetype": file.kind,
                "fileName": file.name,
                "media": file.reference(),
            });
            if !letter.part.text.is_empty() {
                body["caption"] = json!(letter.part.text);
            }
            ("message/sendMedia", body)
        }
    };
    if let Some(id) = letter.reply_to {
        let Some(message) = MessageId::read(id) else { return refused(NO_MESSAGE) };
        body["quoted"] = json!({ "key": { "id": message.id } });
    }
    request(path, body)
}

/// Anything else.
pub(super) fn act(act: &Act<'_>) -> Option<Value> {
    Some(match act.deed {
        Deed::React { message, emoji, remove } => {
            let Some(id) = MessageId::read(message) else { return Some(refused(NO_MESSAGE)) };
            let reaction = if *remove { "" } else { emoji };
            request("message/sendReaction", json!({ "key": key(act.address, &id), "reaction": reaction }))
        }
        Deed::Delete { message } => {
            let Some(id) = MessageId::read(message) else { return Some(refused(NO_MESSAGE)) };
            if id.author.is_some() {
                return Some(refused("only messages of the account itself can be removed"));
            }
            let mut wire = request("chat/deleteMessageForEveryone", key(act.address, &id));
            wire["method"] = json!("DELETE");
            wire
        }
        Deed::Poll(poll) => {
            let mut body = json!({
                "number": act.address,
                "name": poll.question,
                "selectableCount": if poll.multiple { poll.options.len() } else { 1 },
                "values": poll.options,
            });
            if let Some(id) = act.reply_to {
                let Some(message) = MessageId::read(id) else { return Some(refused(NO_MESSAGE)) };
                body["quoted"] = json!({ "key": { "id": message.id } });
            }
            request("message/sendPoll", body)
        }
        _ => return None,
    })
}

fn request(path: &str, body: Value) -> Value {
    json!({ "way": "evolution", "path": path, "body": body })
}

fn key(address: &str, message: &MessageId<'_>) -> Value {
    let mut key = json!({ "id": message.id, "remoteJid": jid(address), "fromMe": message.author.is_none() });
    if let Some(author) = message.author.as_ref().filter(|_| address.ends_with("@g.us")) {
        key["participant"] = json!(jid(author));
    }
    key
}

//! What the Evolution API means when it says no.
//!
//! Its status says little: 400 is what its checks refuse, and whatever is thrown while it sends; 500 is what is thrown before
//! it begins. So its words decide, sorted by where version 2.3.6 throws them
//! (<https://github.com/EvolutionAPI/evolution-api>, `src/api/integrations/channel/whatsapp/whatsapp.baileys.service.ts`, and
//! Baileys beneath it): before the message leaves, or after.

use serde_json::Value;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict},
    limits::Scope,
};

/// The number has no account.
pub(super) const NOT_THERE: &str = "the number is not on WhatsApp";

/// What Baileys throws while it prepares a message (`relayMessage` asks for devices and keys and then writes to the socket,
/// for whose answer it does not wait), in `sendMessageWithTyping` as `BadRequestException(error.toString())`; from
/// `whatsappNumber` before that, with 500. Nothing has left.
const NOT_CONNECTED: &[&str] = &["Connection Closed", "Connection was lost"];
/// WhatsApp's own limit, on the same way.
const TOO_MUCH: &str = "rate-overlimit";
/// `NotFoundException('Group not found')`, which is no `Error` and so has no words: `sendMessageWithTyping` has no list of the
/// group's members, which it may have a moment later.
const NO_GROUP: &str = "[object Object]";
/// What axios throws while a recording that was sent is turned into text (`openaiService.speechToText`, in
/// `sendMessageWithTyping` behind `sendMessage`).
const AFTER_SENDING: &str = "AxiosError";
/// What the database and the network throw on either side of it.
const EITHER_SIDE: &[&str] = &["Prisma", "Timed Out", "ETIMEDOUT", "ECONNRESET"];
/// What sharp and ffmpeg say of a file that they cannot read (`prepareMediaMessage`, `processAudio`): it stays so.
const UNREADABLE: &[&str] =
    &["unsupported image format", "Input buffer", "Invalid data found", "ffmpeg exited with code"];

/// A list in words. What its schemas refuse is a list within the list (`dataValidate`, `src/api/abstract/abstract.router.ts`
/// lines 48 to 59 at 32e58de).
fn joined(list: &[Value]) -> String {
    let words = list.iter().map(|one| match one {
        Value::String(text) => text.clone(),
        Value::Array(list) => joined(list),
        other => other.to_string(),
    });
    words.collect::<Vec<_>>().join("; ")
}

/// What an answer that says no means for the request to `path`.
pub(super) fn verdict(reader: &Reader, path: &str, answer: &Answer) -> Verdict {
    let message = &answer.body["response"]["message"];
    let words = match message {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().any(|one| one["exists"] == false) => {
            return Verdict::Permanent(NOT_THERE.into());
        }
        Value::Array(list) => joined(list),
        _ => answer.body["message"].as_str().map_or_else(|| answer.status.to_string(), str::to_owned),
    };
    let status = answer.status.as_u16();
    let said = reader.answered(status, &words);
    let says = |one: &&str| words.contains(*one);
    let sends = path.starts_with("message/");
    match status {
        401 | 403 => Verdict::Token(said),
        400 | 500 if NOT_CONNECTED.iter().any(says) => {
            Verdict::Retry(format!("{said}; the phone is disconnected"))
        }
        400 | 500 if words.contains(TOO_MUCH) => {
            Verdict::Retry(format!("{said}; WhatsApp asks to go slower"))
        }
        400 if sends && words.contains(AFTER_SENDING) => Verdict::Unknown(format!(
            "{said}: the recording was sent, and turning it into text failed; mend or switch off the instance's speech-to-text"
        )),
        400 if sends && words == NO_GROUP => {
            Verdict::Retry(format!("{said}: the group is not found, or its members cannot be had just now"))
        }
        500 if sends && UNREADABLE.iter().any(says) => {
            Verdict::Permanent(format!("{said}: it cannot read the file"))
        }
        // A list is `InternalServerErrorException` (`src/exceptions/500.exception.ts`), which sending throws only while it
        // prepares a file.
        500 if sends && message.is_array() => Verdict::Retry(said),
        500 => Verdict::Unknown(said),
        400 if EITHER_SIDE.iter().any(says) => Verdict::Unknown(said),
        404 => Verdict::Permanent(format!("{said}; check evolution_url and instance")),
        _ => reader.classify(answer, &words, Scope::Account),
    }
}

/// The id of the message that a request to `path` made, or of the one that it was about.
pub(in crate::channels) fn decode(
    reader: &Reader,
    path: &str,
    acted_on: Option<&str>,
    answer: &Answer,
) -> Result<String, Verdict> {
    if !answer.status.is_success() {
        return Err(verdict(reader, path, answer));
    }
    match acted_on.or(answer.body["key"]["id"].as_str()) {
        Some(id) => Ok(id.to_owned()),
        None => Err(Verdict::Unknown("the Evolution API said yes, but not as which message".into())),
    }
}

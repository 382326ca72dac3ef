//! What the Evolution API means when it says no.
//!
//! Its status says little: 400 is what its checks refuse, and whatever is thrown while it sends; 500 is what is thrown before
//! it begins. So its words decide, sorted by where version 2.3.6 throws them
//! (<https://github.com/EvolutionAPI/evolution-api>, `src/api/integrations/channel/whatsapp/whatsapp.baileys.service.ts`, and
//! Baileys beneath it): before the message leaves, or after.

use serde_json::Value;

use crate::channels::{
    Failure,
    http::{Answer, Http},
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

/// What an answer that says no means for the request to `path`.
pub(super) fn judge(http: &Http, path: &str, answer: &Answer) -> Failure {
    let message = &answer.body["response"]["message"];
    let words = match message {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().any(|one| one["exists"] == false) => {
            return Failure::Permanent(NOT_THERE.into());
        }
        Value::Array(list) => list
            .iter()
            .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("; "),
        _ => answer.body["message"].as_str().map_or_else(|| answer.status.to_string(), str::to_owned),
    };
    let status = answer.status.as_u16();
    let said = format!("the Evolution API answered {status}, {}", http.words(&words));
    let says = |one: &&str| words.contains(*one);
    let sends = path.starts_with("message/");
    match status {
        401 | 403 => http.refused(said),
        400 | 500 if NOT_CONNECTED.iter().any(says) => {
            Failure::Retry(format!("{said}; the phone is disconnected"))
        }
        400 | 500 if words.contains(TOO_MUCH) => {
            Failure::Retry(format!("{said}; WhatsApp asks to go slower"))
        }
        400 if sends && words.contains(AFTER_SENDING) => Failure::Unknown(format!(
            "{said}: the recording was sent, and turning it into text failed; mend or switch off the instance's speech-to-text"
        )),
        400 if sends && words == NO_GROUP => {
            Failure::Retry(format!("{said}: the group is not found, or its members cannot be had just now"))
        }
        500 if sends && UNREADABLE.iter().any(says) => {
            Failure::Permanent(format!("{said}: it cannot read the file"))
        }
        // A list is `InternalServerErrorException` (`src/exceptions/500.exception.ts`), which sending throws only while it
        // prepares a file.
        500 if sends && message.is_array() => Failure::Retry(said),
        500 => Failure::Unknown(said),
        400 if EITHER_SIDE.iter().any(says) => Failure::Unknown(said),
        404 => Failure::Permanent(format!("{said}; check evolution_url and instance")),
        _ => http.judge(answer, &words, Scope::Account),
    }
}

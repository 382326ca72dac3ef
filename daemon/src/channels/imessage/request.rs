//! What a message becomes: a request to BlueBubbles, or a run of `imsg`.
//!
//! BlueBubbles' requests are those of its version 1
//! (<https://documenter.getpostman.com/view/765844/UV5RnfwM>; its own checks are in
//! <https://github.com/BlueBubblesApp/bluebubbles-server>, `messageValidator.ts`); `imsg`'s parameters those of its `send`
//! (<https://github.com/openclaw/imsg/blob/main/docs/rpc.md>). A file stands in either by its reference.

use serde_json::{Value, json};

use super::caf;
use crate::{
    channels::{OperationRequest, OutgoingPart},
    message::operation::Operation,
};

/// By the names that agents know; Apple's ids are the bundles' of Messages.
pub(super) const EFFECTS: &[&str] = &[
    "slam",
    "loud",
    "gentle",
    "invisible-ink",
    "echo",
    "spotlight",
    "balloons",
    "confetti",
    "love",
    "heart",
    "lasers",
    "fireworks",
    "celebration",
];

fn effect(name: &str) -> &'static str {
    match name {
        "slam" => "com.apple.MobileSMS.expressivesend.impact",
        "loud" => "com.apple.MobileSMS.expressivesend.loud",
        "gentle" => "com.apple.MobileSMS.expressivesend.gentle",
        "invisible-ink" => "com.apple.MobileSMS.expressivesend.invisibleink",
        "echo" => "com.apple.messages.effect.CKEchoEffect",
        "spotlight" => "com.apple.messages.effect.CKSpotlightEffect",
        "balloons" => "com.apple.messages.effect.CKHappyBirthdayEffect",
        "love" | "heart" => "com.apple.messages.effect.CKHeartEffect",
        "lasers" => "com.apple.messages.effect.CKLasersEffect",
        "fireworks" => "com.apple.messages.effect.CKFireworksEffect",
        "celebration" => "com.apple.messages.effect.CKSparklesEffect",
        _ => "com.apple.messages.effect.CKConfettiEffect",
    }
}

/// The six tapbacks, by name or as the sign that people know them by.
fn tapback(emoji: &str) -> Option<&'static str> {
    // With and without the selector that asks for a picture.
    Some(match emoji.trim_end_matches('\u{fe0f}') {
        "love" | "❤" | "♥" => "love",
        "like" | "👍" => "like",
        "dislike" | "👎" => "dislike",
        "laugh" | "😂" | "🤣" => "laugh",
        "emphasize" | "‼" | "❗" => "emphasize",
        "question" | "❓" | "❔" => "question",
        _ => return None,
    })
}

/// A new message by BlueBubbles; `private` says that its helper is there.
pub(super) fn bluebubbles(outgoing: &OutgoingPart<'_>, private: bool) -> Value {
    let mut body = json!({ "method": if private { "private-api" } else { "apple-script" } });
    if let Some(message) = outgoing.reply_to {
        body["selectedMessageGuid"] = json!(message);
        body["partIndex"] = json!(0);
    }
    if let Some(name) = &outgoing.extras.effect {
        body["effectId"] = json!(effect(name));
    }
    let Some(file) = outgoing.files.first() else {
        body["message"] = json!(outgoing.part.text);
        return request_to("message/text", outgoing.address, body);
    };
    if !outgoing.part.text.is_empty() {
        return json!({ "refused": WORDS_APART });
    }
    body["name"] = json!(file.name);
    let mut request = request_to("message/attachment", outgoing.address, body);
    request["file"] = json!({ "file": file.reference(), "kind": file.kind });
    if file.voice {
        if is_voice_note(&file.name) {
            request["body"]["isAudioMessage"] = json!(true);
        } else if file.kind == "audio/ogg" && file.size <= caf::MOST {
            // Whether it can be one, its bytes say when it goes.
            request["file"]["as_caf"] = json!(true);
        } else {
            request["note"] = json!(VOICE_IS_A_FILE);
        }
    }
    request
}

/// Anything else by BlueBubbles.
pub(super) fn compose_operation(op: &OperationRequest<'_>) -> Option<Value> {
    Some(match op.operation {
        Operation::React { message, emoji, remove } => {
            let Some(tapback) = tapback(emoji) else {
                return Some(json!({
                    "refused": "iMessage has six reactions: love, like, dislike, laugh, emphasize and question"
                }));
            };
            let mut request = request_to(
                "message/react",
                op.address,
                json!({
                    "selectedMessageGuid": message,
                    "reaction": format!("{}{tapback}", if *remove { "-" } else { "" }),
                    "partIndex": 0,
                }),
            );
            request["of"] = json!(message);
            request
        }
        Operation::Edit { message } => {
            let text = &op.part?.text;
            // What those read whose devices know no edits.
            let instead = format!("Edited to “{text}”");
            of(
                message,
                "edit",
                json!({ "editedMessage": text, "backwardsCompatibilityMessage": instead, "partIndex": 0 }),
            )
        }
        Operation::Delete { message } => of(message, "unsend", json!({ "partIndex": 0 })),
        _ => return None,
    })
}

/// Which chat that is, is asked when it goes.
fn request_to(path: &str, to: &str, body: Value) -> Value {
    json!({ "by": "bluebubbles", "path": path.split('/').collect::<Vec<_>>(), "to": to, "body": body })
}

/// What Messages plays as a voice note: Core Audio's own form, and MP3, which the server makes into it and nothing else
/// (BlueBubbles 1.9.9, `MessageInterface.sendAttachmentSync`, `sendAttachmentPrivateApi`: `convertMp3ToCaf`).
fn is_voice_note(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with(".caf") || name.ends_with(".mp3")
}

/// Nobody composes such a part: a caption is a part of its own (`caption_limit` of `formats.rs`).
const WORDS_APART: &str = "iMessage takes no words with a file: send them before it";

/// What the receipt says of any other.
pub(super) const VOICE_IS_A_FILE: &str =
    "the voice note was sent as a file: Messages takes .caf, .mp3 and Ogg Opus as voice notes";

fn of(message: &str, what: &str, body: Value) -> Value {
    json!({ "by": "bluebubbles", "path": ["message", message, what], "body": body, "of": message })
}

/// A new message by `imsg`.
pub(super) fn imsg(outgoing: &OutgoingPart<'_>) -> Value {
    let mut request = json!({ "by": "imsg", "to": outgoing.address });
    if !outgoing.part.text.is_empty() {
        request["text"] = json!(outgoing.part.text);
    }
    if let Some(file) = outgoing.files.first() {
        request["file"] = json!({ "file": file.reference(), "name": file.name });
        if file.voice {
            request["note"] = json!("the voice note was sent as a file: imsg send makes none");
        }
    }
    request
}

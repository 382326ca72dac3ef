//! What a message becomes: a request to BlueBubbles, or a run of `imsg`.
//!
//! BlueBubbles' requests are those of its version 1
//! (<https://documenter.getpostman.com/view/765844/UV5RnfwM>; its own checks are in
//! <https://github.com/BlueBubblesApp/bluebubbles-server>, `messageValidator.ts`); `imsg`'s parameters those of its `send`
//! (<https://github.com/openclaw/imsg/blob/main/docs/rpc.md>). A file stands in either by its reference.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::caf;
use crate::{
    channels::{OperationRequest, OutgoingPart, Refused, sender::members},
    message::operation::Operation,
};

/// A request by one of the two bridges.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub(super) enum Request {
    /// To a BlueBubbles server.
    BlueBubbles(ServerRequest),
    /// A run of `imsg`.
    Imsg(ProgramRequest),
}

impl Request {
    /// What the receipt says of it, if it arrives.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::BlueBubbles(request) => request.note.clone(),
            Self::Imsg(request) => request.note.clone(),
        }
    }
}

/// What is posted to a BlueBubbles server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerRequest {
    /// The segments of the path.
    pub(super) path: Vec<String>,
    /// Whom it is for. Which chat that is, is asked when it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The members of the body.
    pub(super) body: Map<String, Value>,
    /// The file that it brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<ServerFile>,
    /// What is to be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The message that it is done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<String>,
    /// Only in what an earlier release stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) caption: Option<Value>,
}

impl ServerRequest {
    /// Whom it is for. What the first releases stored has a chat in its body.
    pub(super) fn address(&self) -> Option<&str> {
        self.to.as_deref().or_else(|| self.text("chatGuid"))
    }

    /// A member of the body that is text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.body.get(name)?.as_str()
    }

    fn to(path: &str, to: &str, body: Value) -> Self {
        let path = path.split('/').map(str::to_owned).collect();
        Self {
            path,
            to: Some(to.to_owned()),
            body: members(body),
            file: None,
            note: None,
            of: None,
            caption: None,
        }
    }
}

/// A file for a BlueBubbles server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerFile {
    /// `attachment:` and its hash.
    pub(super) file: String,
    /// Its media type.
    #[serde(default)]
    pub(super) kind: String,
    /// Whether it goes as a Core Audio file, if it can be one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) as_caf: bool,
}

/// A run of `imsg`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramRequest {
    /// Whom it is for.
    pub(super) to: String,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The file that it brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<ProgramFile>,
    /// What is to be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A file for `imsg`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramFile {
    /// `attachment:` and its hash.
    pub(super) file: String,
    /// What it is called.
    pub(super) name: String,
}

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
pub(super) fn bluebubbles(outgoing: &OutgoingPart<'_>, private: bool) -> Result<Request, Refused> {
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
        return Ok(Request::BlueBubbles(ServerRequest::to("message/text", outgoing.address, body)));
    };
    if !outgoing.part.text.is_empty() {
        return Err(Refused::because(WORDS_APART));
    }
    body["name"] = json!(file.name);
    let (mut as_caf, mut note) = (false, None);
    if file.voice {
        if is_voice_note(&file.name) {
            body["isAudioMessage"] = json!(true);
        } else if file.kind == "audio/ogg" && file.size <= caf::MOST {
            // Whether it can be one, its bytes say when it goes.
            as_caf = true;
        } else {
            note = Some(VOICE_IS_A_FILE.to_owned());
        }
    }
    let file = Some(ServerFile { file: file.reference(), kind: file.kind.clone(), as_caf });
    let request = ServerRequest::to("message/attachment", outgoing.address, body);
    Ok(Request::BlueBubbles(ServerRequest { file, note, ..request }))
}

/// Anything else by BlueBubbles.
pub(super) fn compose_operation(op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
    Some(Ok(Request::BlueBubbles(match op.operation {
        Operation::React { message, emoji, remove } => {
            let Some(tapback) = tapback(emoji) else {
                return Some(Err(Refused::because(
                    "iMessage has six reactions: love, like, dislike, laugh, emphasize and question",
                )));
            };
            let request = ServerRequest::to(
                "message/react",
                op.address,
                json!({
                    "selectedMessageGuid": message,
                    "reaction": format!("{}{tapback}", if *remove { "-" } else { "" }),
                    "partIndex": 0,
                }),
            );
            ServerRequest { of: Some(message.clone()), ..request }
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
    })))
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

fn of(message: &str, what: &str, body: Value) -> ServerRequest {
    let path = ["message", message, what].map(str::to_owned).to_vec();
    let (of, body) = (Some(message.to_owned()), members(body));
    ServerRequest { path, to: None, body, file: None, note: None, of, caption: None }
}

/// A new message by `imsg`.
pub(super) fn imsg(outgoing: &OutgoingPart<'_>) -> Request {
    let file = outgoing.files.first();
    Request::Imsg(ProgramRequest {
        to: outgoing.address.to_owned(),
        text: Some(outgoing.part.text.clone()).filter(|text| !text.is_empty()),
        file: file.map(|file| ProgramFile { file: file.reference(), name: file.name.clone() }),
        note: file.filter(|file| file.voice).map(|_| PROGRAM_MAKES_NO_VOICE.to_owned()),
    })
}

/// What the receipt says of a voice note by `imsg`.
const PROGRAM_MAKES_NO_VOICE: &str = "the voice note was sent as a file: imsg send makes none";

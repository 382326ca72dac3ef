//! What a message becomes on the Evolution API, version 2: a path, and what is posted to it.
//!
//! <https://doc.evolution-api.com/v2/api-reference/message-controller/send-text>; what each request may hold is in
//! <https://github.com/EvolutionAPI/evolution-api/blob/main/src/validate/message.schema.ts> and `chat.schema.ts` beside it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::target::{MessageId, NO_MESSAGE, called, jid};
use crate::{
    channels::{OperationRequest, OutgoingPart, Refused},
    message::{attachment::Attachment, operation::Operation},
};

/// How a voice message goes. `audioWhatsapp` of 2.3.6 hands on no `quoted`, nor does that of 2.3.7
/// (<https://github.com/EvolutionAPI/evolution-api/issues/2485>); at 00e191f, later, it does.
pub(super) const VOICE: &str = "message/sendWhatsAppAudio";

/// An empty reaction, which would take one back, "must be an emoji" (`sendReaction`,
/// `src/api/controllers/sendMessage.controller.ts`).
const NO_TAKING_BACK: &str =
    "the Evolution API cannot take a reaction back: react with another emoji, which takes its place";

/// What goes as a picture. The server makes a JPEG of whatever goes so (`prepareMediaMessage`,
/// `whatsapp.baileys.service.ts`): a GIF would stand still, a drawing lose its lines. Those go as documents.
const PICTURES: &[&str] = &["image/jpeg", "image/png"];
/// What goes as a film: what phones play.
const FILMS: &[&str] = &["video/mp4", "video/3gpp", "video/quicktime"];

/// Types and their usual endings; of others, the first that is registered.
const ENDINGS: &[(&str, &str)] = &[
    ("text/plain", "txt"),
    ("image/jpeg", "jpg"),
    ("image/heic", "heic"),
    ("image/heif", "heif"),
    ("image/svg+xml", "svg"),
    ("image/tiff", "tiff"),
    ("video/mp4", "mp4"),
    ("video/3gpp", "3gp"),
    ("video/quicktime", "mov"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/mp4", "m4a"),
    ("audio/x-wav", "wav"),
    ("application/octet-stream", "bin"),
];
/// Types of which the name knows more than the content.
const VAGUE: &[&str] =
    &["text/plain", "application/octet-stream", "application/zip", "application/x-ole-storage"];

/// A file's name, with an ending that says what it is. Where there is a name the server takes the type from it alone, whatever
/// `mimetype` says, and gives the type `false` to one whose ending it does not know (`mimeTypes.lookup(fileName).toString()`,
/// `prepareMediaMessage`).
fn named(file: &Attachment) -> String {
    let guessed = mime_guess::from_path(&file.name);
    let fits = guessed.iter().any(|kind| kind.essence_str() == file.kind)
        || (!guessed.is_empty() && VAGUE.contains(&file.kind.as_str()));
    if fits {
        return file.name.clone();
    }
    let usual = ENDINGS.iter().find(|(kind, _)| *kind == file.kind).map(|(_, ending)| *ending);
    let registered = || mime_guess::get_mime_extensions_str(&file.kind)?.first().copied();
    format!("{}.{}", file.name, usual.or_else(registered).unwrap_or("bin"))
}

/// A path, and what is sent to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The path, without the instance's name.
    pub(super) path: String,
    /// The body.
    pub(super) body: Value,
    /// The method, if it is not `POST`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<String>,
}

/// A request that is planned for when the Cloud API is not ready, as it is stored in that API's own request: its way is written
/// down, as in every request of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "way", rename_all = "lowercase")]
pub(super) enum ByEvolution {
    /// By the Evolution API: there is no other second way.
    Evolution(Request),
}

impl ByEvolution {
    /// The request itself.
    pub(super) fn request(&self) -> &Request {
        let Self::Evolution(request) = self;
        request
    }
}

impl Request {
    fn post(path: &str, body: Value) -> Self {
        Self { path: path.to_owned(), body, method: None }
    }

    /// Whether it removes a message.
    pub(super) fn is_removal(&self) -> bool {
        self.method.as_deref() == Some("DELETE")
    }

    /// Whether it is done to a message, so that no new one comes to be.
    pub(super) fn is_done_to_a_message(&self) -> bool {
        self.is_removal() || self.path == "message/sendReaction"
    }
}

/// A new message.
pub(super) fn compose(outgoing: &OutgoingPart<'_>, previews: bool) -> Result<Request, Refused> {
    let (path, mut body) = match outgoing.files.first() {
        None => {
            let body =
                json!({ "number": outgoing.address, "text": outgoing.part.text, "linkPreview": previews });
            ("message/sendText", body)
        }
        Some(file) if file.voice && outgoing.part.text.is_empty() => {
            (VOICE, json!({ "number": outgoing.address, "audio": file.reference() }))
        }
        Some(file) => {
            let kind = match file.kind.as_str() {
                kind if PICTURES.contains(&kind) => "image",
                kind if FILMS.contains(&kind) => "video",
                // There it would lose its caption.
                kind if kind.starts_with("audio/") && outgoing.part.text.is_empty() => "audio",
                _ => "document",
            };
            let mut body = json!({
                "number": outgoing.address,
                "mediatype": kind,
                "mimetype": file.kind,
                "fileName": named(file),
                "media": file.reference(),
            });
            if !outgoing.part.text.is_empty() {
                body["caption"] = json!(outgoing.part.text);
            }
            ("message/sendMedia", body)
        }
    };
    if !outgoing.part.mentions.is_empty() {
        // To anybody else it hands on none (`sendMessageWithTyping`, `whatsapp.baileys.service.ts`).
        if !outgoing.address.ends_with("@g.us") {
            return Err(Refused::because(
                "WhatsApp has mentions in groups alone: write the name without a link",
            ));
        }
        let mut called: Vec<String> = outgoing.part.mentions.iter().filter_map(|id| called(id)).collect();
        called.dedup();
        // As they are: of bare digits it makes another number in some countries (`createJid`, `src/utils/createJid.ts`).
        body["mentioned"] = json!(called);
    }
    if let Some(id) = outgoing.reply_to {
        let Some(message) = MessageId::read(id) else { return Err(Refused::because(NO_MESSAGE)) };
        body["quoted"] = json!({ "key": { "id": message.id } });
    }
    Ok(Request::post(path, body))
}

/// Anything else.
pub(super) fn compose_operation(op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
    Some(Ok(match op.operation {
        Operation::React { message, emoji, remove } => {
            let Some(id) = MessageId::read(message) else { return Some(Err(Refused::because(NO_MESSAGE))) };
            if *remove {
                return Some(Err(Refused::because(NO_TAKING_BACK)));
            }
            Request::post("message/sendReaction", json!({ "key": key(op.address, &id), "reaction": emoji }))
        }
        Operation::Delete { message } => {
            let Some(id) = MessageId::read(message) else { return Some(Err(Refused::because(NO_MESSAGE))) };
            if id.author.is_some() {
                return Some(Err(Refused::because("only messages of the account itself can be removed")));
            }
            let removal = Request::post("chat/deleteMessageForEveryone", key(op.address, &id));
            Request { method: Some("DELETE".into()), ..removal }
        }
        Operation::Poll(poll) => {
            let mut body = json!({
                "number": op.address,
                "name": poll.question,
                "selectableCount": if poll.multiple { poll.options.len() } else { 1 },
                "values": poll.options,
            });
            if let Some(id) = op.reply_to {
                let Some(message) = MessageId::read(id) else {
                    return Some(Err(Refused::because(NO_MESSAGE)));
                };
                body["quoted"] = json!({ "key": { "id": message.id } });
            }
            Request::post("message/sendPoll", body)
        }
        _ => return None,
    }))
}

fn key(address: &str, message: &MessageId<'_>) -> Value {
    let mut key = json!({ "id": message.id, "remoteJid": jid(address), "fromMe": message.author.is_none() });
    if let Some(author) = message.author.as_ref().filter(|_| address.ends_with("@g.us")) {
        key["participant"] = json!(jid(author));
    }
    key
}

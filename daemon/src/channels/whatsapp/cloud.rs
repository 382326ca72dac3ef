//! What a message becomes on the Cloud API: one object that is posted to `/messages`.
//!
//! <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages>. A file stands in it by its reference, in the
//! place of the id that its upload brings. Outside the 24 hours after a person's last message only a template is let through
//! (<https://developers.facebook.com/docs/whatsapp/pricing#customer-service-windows>): where one is configured, it stands
//! beside the message, is approved with it, and goes only when the platform refuses the message for that.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Template,
    evolution::ByEvolution,
    target::{MessageId, NO_MESSAGE, is_user},
};
use crate::{
    channels::{OperationRequest, OutgoingPart, Refused, envelope::Fallback, twice},
    message::{
        attachment::Attachment,
        operation::{Button, Operation, Press},
    },
};

/// The text above buttons, and a file's caption, in characters
/// (<https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages>).
const MAX_BODY: usize = 1024;
/// What the platform takes as a document, as a picture, as audio and as video; an upload of anything else it refuses with
/// 100, "Param file must be a file with one of the following types". A picture as WebP is a sticker to it, which is nothing
/// that somebody attaches.
///
/// <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#supported-media-types>
const DOCUMENTS: &[&str] = &[
    "application/pdf",
    "text/plain",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
];
const IMAGES: &[&str] = &["image/jpeg", "image/png"];
const AUDIO: &[&str] = &["audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"];
const VIDEO: &[&str] = &["video/mp4", "video/3gpp"];
/// All that it takes.
pub(super) const KINDS: &[&[&str]] = &[DOCUMENTS, IMAGES, AUDIO, VIDEO];
/// Images, in bytes (<https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#supported-media-types>).
const MAX_IMAGE: u64 = 5 * 1024 * 1024;
/// Audio and video.
const MAX_MOVING: u64 = 16 * 1024 * 1024;
/// Text in a template, in characters.
const MAX_PARAMETER: usize = 1024;

/// What is posted, and what goes instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The message.
    pub(super) message: Value,
    /// The same as the account's template, outside of the 24 hours.
    #[serde(default, skip_serializing_if = "Fallback::is_none")]
    pub(super) outside_window: Fallback<Value>,
    /// The same by the Evolution API, if the Cloud API turns out not to be ready.
    #[serde(default, skip_serializing_if = "Fallback::is_none")]
    pub(super) otherwise: Fallback<ByEvolution>,
}

impl Request {
    fn new(message: Value) -> Self {
        Self { message, outside_window: Fallback::default(), otherwise: Fallback::default() }
    }

    /// Whether it reacts to a message, so that no new one comes to be.
    pub(super) fn is_reaction(&self) -> bool {
        self.message["type"] == "reaction"
    }
}

/// A new message.
pub(super) fn compose(
    outgoing: &OutgoingPart<'_>,
    previews: bool,
    template: Option<&Template>,
) -> Result<Request, Refused> {
    let mut message = envelope(outgoing.address);
    if let Some(id) = outgoing.reply_to {
        let Some(message_id) = MessageId::read(id) else { return Err(Refused::because(NO_MESSAGE)) };
        message["context"] = json!({ "message_id": message_id.id });
    }
    let buttons: Vec<_> = outgoing.extras.buttons.iter().flatten().collect();
    if let Some(why) = alike(&buttons) {
        return Err(Refused(why));
    }
    if let Some(file) = outgoing.files.first() {
        if !takes(file) {
            return Err(Refused(format!(
                "WhatsApp's Cloud API takes no file of the type {}, which {} is: send it as a PDF, as plain text (.txt), or \
                 as JPEG, PNG, MP4, MP3 or OGG, or send a link to it",
                file.kind, file.name
            )));
        }
        if outgoing.part.text.chars().count() > MAX_BODY {
            return Err(Refused::because(
                "a caption has 1,024 characters at most: put the rest into the message's text",
            ));
        }
        add_file(&mut message, file, &outgoing.part.text);
    } else if buttons.is_empty() {
        message["type"] = json!("text");
        message["text"] = json!({ "body": outgoing.part.text, "preview_url": previews });
    } else {
        if outgoing.part.text.chars().count() > MAX_BODY {
            return Err(Refused::because(
                "buttons stand beneath 1,024 characters at most: send a long text before them",
            ));
        }
        let reply = |button: &&Button| json!({ "type": "reply", "reply": { "id": pressed(button), "title": button.text } });
        message["type"] = json!("interactive");
        message["interactive"] = json!({
            "type": "button",
            "body": { "text": outgoing.part.text },
            "action": { "buttons": buttons.iter().map(reply).collect::<Vec<_>>() },
        });
    }
    let mut request = Request::new(message);
    if let Some(template) = template.filter(|_| outgoing.files.is_empty() && buttons.is_empty())
        && let Some(instead) = templated(outgoing, template)
    {
        request.outside_window = Fallback::planned(instead);
    }
    Ok(request)
}

/// Each button has an id and a title of its own there
/// (<https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages>).
fn alike(buttons: &[&Button]) -> Option<String> {
    let id = twice(buttons.iter().map(|button| pressed(button)));
    let title = twice(buttons.iter().map(|button| button.text.as_str()));
    id.or(title).map(|same| {
        format!("two buttons are {same:?} on WhatsApp, where each has a text and a callback_data of its own: change one")
    })
}

fn pressed(button: &Button) -> &str {
    match &button.press {
        Press::Data(id) | Press::Url(id) => id,
        // Admission refuses them for this channel.
        Press::Form(form) => &form.title,
    }
}

/// Anything else: reactions.
pub(super) fn compose_operation(op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
    let Operation::React { message, emoji, remove } = op.operation else { return None };
    let Some(id) = MessageId::read(message) else { return Some(Err(Refused::because(NO_MESSAGE))) };
    let mut request = envelope(op.address);
    request["type"] = json!("reaction");
    request["reaction"] = json!({ "message_id": id.id, "emoji": if *remove { "" } else { emoji } });
    Some(Ok(Request::new(request)))
}

/// A user id stands in `recipient`, a number in `to`
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids>).
fn envelope(to: &str) -> Value {
    let place = if is_user(to) { "recipient" } else { "to" };
    json!({ "messaging_product": "whatsapp", "recipient_type": "individual", place: to })
}

/// The text as the only variable of a template: it takes no line breaks, tabs or more than four spaces in a row.
fn templated(outgoing: &OutgoingPart<'_>, template: &Template) -> Option<Value> {
    let text = outgoing.part.text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > MAX_PARAMETER {
        return None;
    }
    let mut message = envelope(outgoing.address);
    message["type"] = json!("template");
    message["template"] = json!({
        "name": template.name,
        "language": { "code": template.language },
        "components": [{ "type": "body", "parameters": [{ "type": "text", "text": text }] }],
    });
    Some(message)
}

/// Whether the platform takes a file of its type at all.
pub(super) fn takes(file: &Attachment) -> bool {
    KINDS.iter().any(|kinds| kinds.contains(&file.kind.as_str()))
}

/// A file is shown as what it is where WhatsApp takes it as that; else it is a document, of 100 MB at most.
/// Audio has no caption there, so with one it is a document too.
fn add_file(message: &mut Value, file: &Attachment, caption: &str) {
    let mut object = json!({ "id": file.reference() });
    let kind = kind(file, caption);
    if kind == "document" {
        object["filename"] = json!(file.name);
    }
    if kind == "audio" && file.voice && file.kind == "audio/ogg" {
        // <https://developers.facebook.com/docs/whatsapp/cloud-api/messages/audio-messages>, "Voice messages".
        object["voice"] = json!(true);
    }
    if !caption.is_empty() {
        object["caption"] = json!(caption);
    }
    message["type"] = json!(kind);
    message[kind] = object;
    message["file"] = json!({ "name": file.name, "kind": file.kind });
}

fn kind(file: &Attachment, caption: &str) -> &'static str {
    let is = |kinds: &[&str]| kinds.contains(&file.kind.as_str());
    match () {
        () if is(IMAGES) && file.size <= MAX_IMAGE => "image",
        () if is(VIDEO) && file.size <= MAX_MOVING => "video",
        () if is(AUDIO) && file.size <= MAX_MOVING && caption.is_empty() => "audio",
        () => "document",
    }
}

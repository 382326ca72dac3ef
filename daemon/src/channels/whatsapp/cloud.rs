//! What a message becomes on the Cloud API: one object that is posted to `/messages`.
//!
//! <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages>. A file stands in it by its reference, in the
//! place of the id that its upload brings. Outside the 24 hours after a person's last message only a template is let through
//! (<https://developers.facebook.com/docs/whatsapp/pricing#customer-service-windows>): where one is configured, it stands
//! beside the message, is approved with it, and goes only when the platform refuses the message for that.

use serde_json::{Value, json};

use super::{
    Template,
    target::MessageId,
    wire::{NO_MESSAGE, refused},
};
use crate::{
    channels::{Act, Letter},
    message::{
        attachment::Attachment,
        deed::{Deed, Press},
    },
};

/// The text above buttons, and a file's caption, in characters
/// (<https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages>).
const MAX_BODY: usize = 1024;
/// Images, in bytes (<https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#supported-media-types>).
const MAX_IMAGE: u64 = 5 * 1024 * 1024;
/// Audio and video.
const MAX_MOVING: u64 = 16 * 1024 * 1024;
/// Text in a template, in characters.
const MAX_PARAMETER: usize = 1024;

/// A new message.
pub(super) fn compose(letter: &Letter<'_>, previews: bool, template: Option<&Template>) -> Value {
    let mut message = envelope(letter.address);
    if let Some(id) = letter.reply_to {
        let Some(message_id) = MessageId::read(id) else { return refused(NO_MESSAGE) };
        message["context"] = json!({ "message_id": message_id.id });
    }
    let buttons: Vec<_> = letter.extras.buttons.iter().flatten().collect();
    if let Some(file) = letter.files.first() {
        if letter.part.text.chars().count() > MAX_BODY {
            return refused("a caption has 1,024 characters at most: put the rest into the message's text");
        }
        add_file(&mut message, file, &letter.part.text);
    } else if buttons.is_empty() {
        message["type"] = json!("text");
        message["text"] = json!({ "body": letter.part.text, "preview_url": previews });
    } else {
        if letter.part.text.chars().count() > MAX_BODY {
            return refused("buttons stand beneath 1,024 characters at most: send a long text before them");
        }
        let reply = |button: &&crate::message::deed::Button| {
            let (Press::Data(id) | Press::Url(id)) = &button.press;
            json!({ "type": "reply", "reply": { "id": id, "title": button.text } })
        };
        message["type"] = json!("interactive");
        message["interactive"] = json!({
            "type": "button",
            "body": { "text": letter.part.text },
            "action": { "buttons": buttons.iter().map(reply).collect::<Vec<_>>() },
        });
    }
    let mut wire = json!({ "way": "cloud", "message": message });
    if let Some(template) = template.filter(|_| letter.files.is_empty() && buttons.is_empty())
        && let Some(instead) = templated(letter, template)
    {
        wire["outside_window"] = instead;
    }
    wire
}

/// Anything else: reactions.
pub(super) fn act(act: &Act<'_>) -> Option<Value> {
    let Deed::React { message, emoji, remove } = act.deed else { return None };
    let Some(id) = MessageId::read(message) else { return Some(refused(NO_MESSAGE)) };
    let mut request = envelope(act.address);
    request["type"] = json!("reaction");
    request["reaction"] = json!({ "message_id": id.id, "emoji": if *remove { "" } else { emoji } });
    Some(json!({ "way": "cloud", "message": request }))
}

fn envelope(to: &str) -> Value {
    json!({ "messaging_product": "whatsapp", "recipient_type": "individual", "to": to })
}

/// The text as the only variable of a template: it takes no line breaks, tabs or more than four spaces in a row.
fn templated(letter: &Letter<'_>, template: &Template) -> Option<Value> {
    let text = letter.part.text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > MAX_PARAMETER {
        return None;
    }
    let mut message = envelope(letter.address);
    message["type"] = json!("template");
    message["template"] = json!({
        "name": template.name,
        "language": { "code": template.language },
        "components": [{ "type": "body", "parameters": [{ "type": "text", "text": text }] }],
    });
    Some(message)
}

/// A file is shown as what it is where WhatsApp takes it as that; else it is a document, which is anything up to 100 MB.
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
    match file.kind.as_str() {
        "image/jpeg" | "image/png" if file.size <= MAX_IMAGE => "image",
        "video/mp4" | "video/3gpp" if file.size <= MAX_MOVING => "video",
        "audio/aac" | "audio/amr" | "audio/mpeg" | "audio/mp4" | "audio/ogg"
            if file.size <= MAX_MOVING && caption.is_empty() =>
        {
            "audio"
        }
        _ => "document",
    }
}

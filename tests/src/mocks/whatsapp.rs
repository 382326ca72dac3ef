//! The Cloud API, version v24.0, as its reference says: what a message must and may hold
//! (<https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages>), who it may be for
//! (<https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids>), and the form of its
//! errors (<https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes>). Meta publishes no source; the
//! library pywa (4.5, `pywa/api.py`, `pywa/errors.py`) sends and reads the same.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use gatepost::store::now_ms;
use ring::hmac;
use serde_json::{Value, json};

use super::{Answer, MockServer, Request, members, text};
use crate::hub::secret;

/// The id of its number.
pub const NUMBER: &str = "106540352242922";
/// The token that it takes.
pub const TOKEN: &str = "EAAG-whatsapp-token";
/// The id of the first file that is uploaded; each further one has the number after it.
const MEDIA: u64 = 4_490_709_327_384_033;

/// What an upload may be, as which kinds of message it goes, and its most bytes as that
/// (<https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#supported-media-types>). Any of them goes as a
/// document of 100 MB. A sticker that does not move has 100 KB at most; a file's first bytes are not looked at here.
const KINDS: &[(&str, u64, &[&str])] = &[
    ("image", 5 << 20, &["image/jpeg", "image/png"]),
    ("audio", 16 << 20, &["audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg"]),
    ("video", 16 << 20, &["video/mp4", "video/3gpp"]),
    ("sticker", 500 << 10, &["image/webp"]),
    (
        "document",
        100 << 20,
        &[
            "text/plain",
            "application/pdf",
            "application/msword",
            "application/vnd.ms-excel",
            "application/vnd.ms-powerpoint",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ],
    ),
];

/// A file that was uploaded.
struct Upload {
    kind: String,
    size: u64,
}

/// What an account here says of it; its token is in a file of this folder.
///
/// # Errors
/// The file system's.
pub fn account(server: &MockServer, folder: &Path) -> Result<String> {
    let (token, url) = (secret(folder, "token", TOKEN)?, server.url());
    Ok(format!("phone_number_id = \"{NUMBER}\"\ntoken = {token}\ngraph_url = \"{url}/v24.0\"\n"))
}

/// Starts one.
///
/// # Errors
/// There is no port to listen on.
pub fn start() -> Result<MockServer> {
    start_with().map(|(server, _)| server)
}

/// The messages that it took, in order. It knows none again: whatever is posted twice is two messages.
#[derive(Clone, Default)]
pub struct Taken(Arc<Mutex<Vec<Value>>>);

impl Taken {
    /// Each with the id that it was given.
    pub fn all(&self) -> Vec<(String, Value)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().enumerate().map(|(at, message)| (format!("wamid.{at}"), message.clone())).collect()
    }

    /// Takes one; its id.
    fn take(&self, message: Value) -> String {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(message);
        format!("wamid.{}", all.len() - 1)
    }
}

/// Starts one, with the messages that it takes.
///
/// # Errors
/// There is no port to listen on.
pub fn start_with() -> Result<(MockServer, Taken)> {
    let taken = Taken::default();
    let taking = taken.clone();
    let uploads = Mutex::new(Vec::new());
    let server = MockServer::open(move |request| {
        if request.header("authorization") != format!("Bearer {TOKEN}") {
            return (401, error(190, "Error validating access token", ""));
        }
        let path: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET", ["v24.0", NUMBER]) => (
                200,
                json!({"display_phone_number": "+49 151 12345678", "status": "CONNECTED", "id": NUMBER}),
            ),
            ("POST", ["v24.0", NUMBER, "media"]) => {
                upload(request, &mut uploads.lock().unwrap_or_else(PoisonError::into_inner))
            }
            ("POST", ["v24.0", NUMBER, "messages"]) if !request.json()["status"].is_null() => {
                match sign(&request.json()) {
                    Ok(()) => (200, json!({"success": true})),
                    Err(why) => (400, error(100, "(#100) Invalid parameter", &why)),
                }
            }
            ("POST", ["v24.0", NUMBER, "messages"]) => {
                match message(&request.json(), &uploads.lock().unwrap_or_else(PoisonError::into_inner)) {
                    Ok(()) => {
                        let id = taking.take(request.json());
                        // "wa_id: Omitted for BSUID-only sends", where `user_id` stands in its place.
                        let (to, user) = (request.json()["to"].clone(), request.json()["recipient"].clone());
                        let contacts = match to.is_null() {
                            true => json!([{"input": user, "user_id": user}]),
                            false => json!([{"input": to, "wa_id": to}]),
                        };
                        (
                            200,
                            json!({"messaging_product": "whatsapp", "contacts": contacts, "messages": [{"id": id}]}),
                        )
                    }
                    Err(why) => (400, error(100, "(#100) Invalid parameter", &why)),
                }
            }
            _ => (404, error(100, "Unsupported request", "")),
        }
    })?;
    Ok((server, taken))
}

/// As Meta signs a notification with the app's secret, in `X-Hub-Signature-256`
/// (<https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads>).
pub fn signed(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let digits = hmac::sign(&key, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("sha256={digits}")
}

/// That a message was read, and maybe that an answer to it is being written
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators>).
fn sign(body: &Value) -> Result<(), String> {
    members(body, &["messaging_product", "status", "message_id"], &["typing_indicator"])?;
    text(body, "message_id", 128)?;
    let typing = &body["typing_indicator"];
    match body["status"] == "read" && (typing.is_null() || *typing == json!({"type": "text"})) {
        true => Ok(()),
        false => Err("status or typing_indicator".into()),
    }
}

/// A notification of these messages to its number, from somebody with this number, user's id and name
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages>).
pub fn notification((number, user, name): (&str, &str, &str), messages: &Value) -> Value {
    let contacts = json!([{"profile": {"name": name}, "wa_id": number, "user_id": user}]);
    notified(&json!({"contacts": contacts, "messages": messages}))
}

/// A notification that these messages of its number's were sent
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status>).
pub fn sent(messages: &[(String, Value)]) -> Value {
    let status = |(id, message): &(String, Value)| {
        json!({
            "id": id, "status": "sent", "timestamp": (now_ms() / 1000).to_string(), "recipient_id": message["to"],
            "biz_opaque_callback_data": message["biz_opaque_callback_data"],
        })
    };
    notified(&json!({"statuses": messages.iter().map(status).collect::<Vec<_>>()}))
}

fn notified(what: &Value) -> Value {
    let mut value = what.clone();
    value["messaging_product"] = json!("whatsapp");
    value["metadata"] = json!({"display_phone_number": "4915112345678", "phone_number_id": NUMBER});
    let changes = json!([{"field": "messages", "value": value}]);
    json!({"object": "whatsapp_business_account", "entry": [{"id": "102290129340398", "changes": changes}]})
}

/// An error as the platform words one.
pub fn refusal(status: u16, code: u64, details: &str) -> Answer {
    Answer::Says(status, error(code, &format!("(#{code}) Refused"), details))
}

fn error(code: u64, message: &str, details: &str) -> Value {
    json!({"error": {
        "message": message,
        "type": "OAuthException",
        "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": details},
        "fbtrace_id": "AbCdEf",
    }})
}

/// <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#upload-media>
fn upload(request: &Request, uploads: &mut Vec<Upload>) -> (u16, Value) {
    let refused = |words: &str, why: &str| (400, error(100, words, why));
    let body = String::from_utf8_lossy(&request.body);
    let field = |name: &str| {
        let (_, rest) = body.split_once(&format!("name=\"{name}\"\r\n\r\n"))?;
        rest.split_once("\r\n").map(|(value, _)| value.to_owned())
    };
    let multipart = request.header("content-type").starts_with("multipart/form-data");
    let file = body.split_once("name=\"file\"").and_then(|(_, rest)| rest.split_once("\r\n\r\n"));
    let (true, Some("whatsapp"), Some((head, _))) = (multipart, field("messaging_product").as_deref(), file)
    else {
        return refused("(#100) Invalid parameter", "no file, or not for whatsapp");
    };
    let kind = field("type").unwrap_or_default();
    if !head.contains(&format!("Content-Type: {kind}")) {
        return refused("(#100) Invalid parameter", "type is not the file's");
    }
    if !KINDS.iter().any(|(_, _, kinds)| kinds.contains(&kind.as_str())) {
        return refused("(#100) Param file must be a file with one of the following types: …", &kind);
    }
    // With what is around it: nothing here depends on a few hundred bytes.
    let size = request.body.len() as u64;
    if size > 100 << 20 {
        return refused("(#100) Invalid parameter", "larger than 100 MB");
    }
    uploads.push(Upload { kind, size });
    (200, json!({"id": (MEDIA + uploads.len() as u64 - 1).to_string()}))
}

/// <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages#message-object>, by the kind of message; the
/// words of a template's variable as error 132018 has them: "Param text cannot have new-line/tab characters or more than 4
/// consecutive spaces".
fn message(message: &Value, uploads: &[Upload]) -> Result<(), String> {
    let kind = text(message, "type", 20)?;
    let may = ["recipient_type", "context", "biz_opaque_callback_data", kind];
    let place = if message["to"].is_null() { "recipient" } else { "to" };
    members(message, &["messaging_product", place, "type", kind], &may)?;
    if message["messaging_product"] != "whatsapp" || message["recipient_type"] != "individual" {
        return Err("messaging_product or recipient_type".into());
    }
    if place == "to" {
        let to = text(message, "to", 15)?;
        if !to.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!("{to} is no number"));
        }
    } else {
        let user = text(message, "recipient", 135)?;
        let is_one = user.split_once('.').is_some_and(|(country, id)| country.len() == 2 && !id.is_empty());
        if !is_one {
            return Err(format!("{user} is no user id"));
        }
    }
    // `context`, `biz_opaque_callback_data` ("Maximum 512 characters") and the id of a message ("up to 128 characters"): the
    // same page, "Message object" and the words before it.
    if !message["context"].is_null() {
        members(&message["context"], &["message_id"], &[])?;
        text(&message["context"], "message_id", 128)?;
    }
    if !message["biz_opaque_callback_data"].is_null() {
        text(message, "biz_opaque_callback_data", 512)?;
    }
    let object = &message[kind];
    match kind {
        // The same page, "Text object".
        "text" => {
            members(object, &["body"], &["preview_url"])?;
            text(object, "body", 4096).map(drop)
        }
        "image" | "video" => media(kind, object, &["caption"], uploads),
        "audio" => media(kind, object, &["voice"], uploads),
        "document" => media(kind, object, &["caption", "filename"], uploads),
        // The same page, "Reaction object": without an emoji it is taken back.
        "reaction" => {
            members(object, &["message_id", "emoji"], &[])?;
            text(object, "message_id", 128).map(drop)
        }
        "interactive" => interactive(object),
        "template" => {
            members(object, &["name", "language"], &["components"])?;
            for parameter in object["components"][0]["parameters"].as_array().cloned().unwrap_or_default() {
                let words = text(&parameter, "text", 1024)?;
                if words.contains(['\n', '\t']) || words.contains("     ") {
                    return Err("a template's text takes no line breaks, tabs or five spaces".into());
                }
            }
            Ok(())
        }
        _ => Err(format!("there is no type {kind}")),
    }
}

/// <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages#media-object>: captions for pictures, films and
/// documents alone, a file's name for documents alone; the sizes as [`KINDS`] has them. A caption's 1,024 characters:
/// <https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/image-messages/>, "Request parameters".
fn media(kind: &str, object: &Value, may: &[&str], uploads: &[Upload]) -> Result<(), String> {
    members(object, &["id"], may)?;
    let id = text(object, "id", 20)?;
    let at = id.parse::<u64>().ok().and_then(|id| id.checked_sub(MEDIA));
    let file = at.and_then(|at| uploads.get(usize::try_from(at).ok()?)).ok_or("there is no such file")?;
    let (_, most, kinds) = KINDS.iter().find(|(of, ..)| *of == kind).ok_or("no kind of a file")?;
    if kind != "document" && !kinds.contains(&file.kind.as_str()) {
        return Err(format!("{} is no {kind}", file.kind));
    }
    if file.size > *most + 1024 {
        return Err(format!("{kind} has {most} bytes at most"));
    }
    if object["caption"].is_null() { Ok(()) } else { text(object, "caption", 1024).map(drop) }
}

/// <https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/interactive-reply-buttons-messages>,
/// "Request parameters": up to three buttons; that each has an id and a title of its own, of 256 and 20 characters, is in
/// <https://whatsapp.github.io/WhatsApp-Nodejs-SDK/api-reference/types/ButtonObject>.
fn interactive(object: &Value) -> Result<(), String> {
    members(object, &["type", "body", "action"], &["header", "footer"])?;
    text(&object["body"], "text", 1024)?;
    let buttons = object["action"]["buttons"].as_array().ok_or("no buttons")?;
    if object["type"] != "button" || !(1..=3).contains(&buttons.len()) {
        return Err("one to three buttons".into());
    }
    for (n, button) in buttons.iter().enumerate() {
        members(button, &["type", "reply"], &[])?;
        let same =
            |name: &str| buttons[..n].iter().any(|other| other["reply"][name] == button["reply"][name]);
        if same("id") || same("title") {
            return Err("each button has an id and a title of its own".into());
        }
        members(&button["reply"], &["id", "title"], &[])?;
        text(&button["reply"], "title", 20)?;
        text(&button["reply"], "id", 256)?;
    }
    Ok(())
}

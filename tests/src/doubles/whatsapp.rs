//! The Cloud API, as its reference says: what a message must and may hold
//! (<https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages>), and the form of its errors
//! (<https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes>).

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use serde_json::{Value, json};

use super::{Answer, Desk, Request, members, text};

/// The id of its number.
pub const NUMBER: &str = "106540352242922";
/// The token that it takes.
pub const TOKEN: &str = "EAAG-whatsapp-token";
/// The id of every file that is uploaded.
const MEDIA: &str = "4490709327384033";

/// Starts one.
///
/// # Errors
/// There is no port to listen on.
pub fn start() -> Result<Desk> {
    let count = AtomicU64::new(0);
    Desk::open(move |request| {
        if request.header("authorization") != format!("Bearer {TOKEN}") {
            return (401, error(190, "Error validating access token", ""));
        }
        let path: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET", ["v24.0", NUMBER]) => (
                200,
                json!({"display_phone_number": "+49 151 12345678", "status": "CONNECTED", "id": NUMBER}),
            ),
            ("POST", ["v24.0", NUMBER, "media"]) => upload(request),
            ("POST", ["v24.0", NUMBER, "messages"]) => match message(&request.json()) {
                Ok(()) => {
                    let id = format!("wamid.{}", count.fetch_add(1, Ordering::Relaxed));
                    let to = request.json()["to"].clone();
                    let contacts = json!([{"input": to, "wa_id": to}]);
                    (
                        200,
                        json!({"messaging_product": "whatsapp", "contacts": contacts, "messages": [{"id": id}]}),
                    )
                }
                Err(why) => (400, error(100, "(#100) Invalid parameter", &why)),
            },
            _ => (404, error(100, "Unsupported request", "")),
        }
    })
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
fn upload(request: &Request) -> (u16, Value) {
    let body = String::from_utf8_lossy(&request.body);
    let has = |name: &str| body.contains(&format!("name=\"{name}\""));
    let multipart = request.header("content-type").starts_with("multipart/form-data");
    if multipart && has("messaging_product") && has("file") && body.contains("\r\n\r\nwhatsapp\r\n") {
        (200, json!({"id": MEDIA}))
    } else {
        (400, error(100, "(#100) Invalid parameter", "no file, or not for whatsapp"))
    }
}

fn message(message: &Value) -> Result<(), String> {
    let kind = text(message, "type", 20)?;
    let may = ["recipient_type", "context", "biz_opaque_callback_data", kind];
    members(message, &["messaging_product", "to", "type", kind], &may)?;
    if message["messaging_product"] != "whatsapp" || message["recipient_type"] != "individual" {
        return Err("messaging_product or recipient_type".into());
    }
    let to = text(message, "to", 15)?;
    if !to.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{to} is no number"));
    }
    if !message["context"].is_null() {
        members(&message["context"], &["message_id"], &[])?;
    }
    if !message["biz_opaque_callback_data"].is_null() {
        text(message, "biz_opaque_callback_data", 512)?;
    }
    let object = &message[kind];
    match kind {
        "text" => {
            members(object, &["body"], &["preview_url"])?;
            text(object, "body", 4096).map(drop)
        }
        "image" | "video" => media(object, &["caption"]),
        "audio" => media(object, &["voice"]),
        "document" => media(object, &["caption", "filename"]),
        "reaction" => members(object, &["message_id", "emoji"], &[]),
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

fn media(object: &Value, may: &[&str]) -> Result<(), String> {
    members(object, &["id"], may)?;
    if object["id"] != MEDIA {
        return Err("there is no such file".into());
    }
    if object["caption"].is_null() { Ok(()) } else { text(object, "caption", 1024).map(drop) }
}

fn interactive(object: &Value) -> Result<(), String> {
    members(object, &["type", "body", "action"], &["header", "footer"])?;
    text(&object["body"], "text", 1024)?;
    let buttons = object["action"]["buttons"].as_array().ok_or("no buttons")?;
    if object["type"] != "button" || !(1..=3).contains(&buttons.len()) {
        return Err("one to three buttons".into());
    }
    for button in buttons {
        members(button, &["type", "reply"], &[])?;
        members(&button["reply"], &["id", "title"], &[])?;
        text(&button["reply"], "title", 20)?;
        text(&button["reply"], "id", 256)?;
    }
    Ok(())
}

//! The Evolution API, version 2, as its own schemas say
//! (<https://github.com/EvolutionAPI/evolution-api/tree/main/src/validate>).

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use gatepost::store::now_ms;
use serde_json::{Value, json};

use super::{Desk, members, text};

/// The key that it takes.
pub const KEY: &str = "evolution-api-key";

/// Starts one, with an instance `home` whose phone is connected.
///
/// # Errors
/// There is no port to listen on.
pub fn start() -> Result<Desk> {
    // What it has taken, the latest first, as it keeps it.
    let kept = Mutex::new(Vec::<Value>::new());
    Desk::open(move |request| {
        if request.header("apikey") != KEY {
            return (401, refused("Unauthorized", &json!("Unauthorized")));
        }
        let path: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        let body = request.json();
        let checked = match (request.method.as_str(), path.as_slice()) {
            ("GET", ["instance", "connectionState", "home"]) => {
                return (200, json!({"instance": {"instanceName": "home", "state": "open"}}));
            }
            ("POST", ["message", what, "home"]) => message(what, &body),
            ("POST", ["chat", "findMessages", "home"]) => {
                let wanted = &body["where"]["key"];
                let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let records: Vec<&Value> =
                    kept.iter().filter(|one| one["key"]["remoteJid"] == wanted["remoteJid"]).collect();
                return match members(&body, &["where"], &["page", "offset"]) {
                    Ok(()) => (
                        200,
                        json!({"messages": {"total": records.len(), "pages": 1, "currentPage": 1, "records": records}}),
                    ),
                    Err(why) => (400, refused("Bad Request", &json!([why]))),
                };
            }
            // `deleteMessageSchema` (<https://github.com/EvolutionAPI/evolution-api/blob/main/src/validate/chat.schema.ts>).
            ("DELETE", ["chat", "deleteMessageForEveryone", "home"]) => {
                members(&body, &["id", "fromMe", "remoteJid"], &["participant"])
            }
            _ => return (404, refused("Not Found", &json!(["Cannot do that"]))),
        };
        match checked {
            Ok(()) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let key = json!({"id": format!("3EB0{:016X}", kept.len()), "fromMe": true, "remoteJid": body["number"]});
                let at = now_ms() / 1_000;
                kept.insert(
                    0,
                    json!({"key": key, "message": {"conversation": body["text"]}, "messageTimestamp": at}),
                );
                (201, json!({"key": key, "status": "PENDING"}))
            }
            Err(why) => (400, refused("Bad Request", &json!([why]))),
        }
    })
}

fn refused(error: &str, message: &Value) -> Value {
    json!({"status": 400, "error": error, "response": {"message": message}})
}

/// `textMessageSchema`, `mediaMessageSchema`, `audioMessageSchema`, `reactionMessageSchema`, `pollMessageSchema`
/// (<https://github.com/EvolutionAPI/evolution-api/blob/main/src/validate/message.schema.ts>).
fn message(what: &str, body: &Value) -> Result<(), String> {
    let common = ["delay", "quoted", "mentionsEveryOne", "mentioned"];
    let with =
        |more: &[&'static str]| -> Vec<&str> { common.iter().copied().chain(more.iter().copied()).collect() };
    match what {
        "sendText" => {
            members(body, &["number", "text"], &with(&["linkPreview"]))?;
            text(body, "text", 65_536)?;
        }
        "sendMedia" => {
            members(body, &["number", "mediatype", "media"], &with(&["mimetype", "fileName", "caption"]))?;
            if !["image", "document", "video", "audio"].iter().any(|kind| body["mediatype"] == *kind) {
                return Err("mediatype is not one of image, document, video, audio".into());
            }
            encoded(&body["media"])?;
        }
        "sendWhatsAppAudio" => {
            members(body, &["number", "audio"], &with(&[]))?;
            encoded(&body["audio"])?;
        }
        "sendReaction" => {
            members(body, &["key", "reaction"], &[])?;
            return members(&body["key"], &["id", "remoteJid", "fromMe"], &["participant"]);
        }
        "sendPoll" => {
            members(body, &["number", "name", "selectableCount", "values"], &with(&[]))?;
            let values = body["values"].as_array().ok_or("values is no list")?;
            let twice = (1..values.len()).any(|at| values[..at].contains(&values[at]));
            let may_choose = body["selectableCount"].as_u64().is_some_and(|count| count <= 10);
            if !(2..=10).contains(&values.len()) || twice || !may_choose {
                return Err("values has 2 to 10 items, each once, of which up to 10 may be chosen".into());
            }
        }
        _ => return Err(format!("there is no {what}")),
    }
    if !body["quoted"].is_null() {
        members(&body["quoted"], &["key"], &["message"])?;
        text(&body["quoted"]["key"], "id", 256)?;
    }
    text(body, "number", 64).map(drop)
}

/// "Owned media must be a url or base64"
/// (<https://github.com/EvolutionAPI/evolution-api/blob/main/src/api/controllers/sendMessage.controller.ts>).
fn encoded(value: &Value) -> Result<(), String> {
    let text = value.as_str().ok_or("no text")?;
    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text)
        .map(drop)
        .map_err(|_| "Owned media must be a url or base64".into())
}

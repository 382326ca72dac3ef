//! BlueBubbles, version 1 of its interface, as its own validators say: the rules of `MessageValidator`, named beside each
//! (<https://github.com/BlueBubblesApp/bluebubbles-server/blob/master/packages/server/src/server/api/http/api/v1/validators/messageValidator.ts>).

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use serde_json::{Value, json};

use super::{Desk, Request, members, text};

/// Its password, as it stands in an address.
pub const PASSWORD: &str = "bluebubbles-password";
/// `sendReactionRules`: `MessageInterface.possibleReactions`, and each with a minus before it, which takes it back.
const REACTIONS: [&str; 6] = ["love", "like", "dislike", "laugh", "emphasize", "question"];

/// Starts one whose Private API works.
///
/// # Errors
/// There is no port to listen on.
pub fn start() -> Result<Desk> {
    let count = AtomicU64::new(0);
    Desk::open(move |request| {
        if request.query != format!("password={PASSWORD}") {
            return (
                401,
                json!({"status": 401, "message": "Unauthorized", "error": {"type": "Authentication Error"}}),
            );
        }
        let path: Vec<&str> = request.path.trim_start_matches("/api/v1/").split('/').collect();
        let body = request.json();
        let checked = match (request.method.as_str(), path.as_slice()) {
            ("GET", ["server", "info"]) => {
                let data = json!({"server_version": "1.9.9", "private_api": true, "helper_connected": true});
                return (200, json!({"status": 200, "data": data}));
            }
            ("POST", ["message", "text"]) => sent(&body),
            ("POST", ["message", "attachment"]) => attached(request),
            ("POST", ["message", "react"]) => reacted(&body),
            // `editParamRules`, and `unsendParamRules` after it.
            ("POST", ["message", _, "edit"]) => {
                members(&body, &["editedMessage", "backwardsCompatibilityMessage"], &["partIndex"])
            }
            ("POST", ["message", _, "unsend"]) => members(&body, &[], &["partIndex"]),
            _ => return (404, json!({"status": 404, "error": {"error": "Not Found"}})),
        };
        match checked {
            Ok(()) => {
                let guid = format!("GUID-{}", count.fetch_add(1, Ordering::Relaxed));
                (200, json!({"status": 200, "message": "Message sent!", "data": {"guid": guid, "error": 0}}))
            }
            Err(why) => (400, json!({"status": 400, "error": {"type": "Validation Error", "error": why}})),
        }
    })
}

/// `service;kind;address`, as the GUIDs of Apple's database are
/// (<https://github.com/BlueBubblesApp/bluebubbles-server/blob/master/packages/server/src/server/api/http/api/v1/validators/chatValidator.ts>
/// has no rule for their form; one of another form finds no chat).
fn chat(guid: &str) -> Result<(), String> {
    match guid.split(';').collect::<Vec<_>>().as_slice() {
        [_, "-" | "+", id] if !id.is_empty() => Ok(()),
        _ => Err(format!("{guid} is no chat's GUID")),
    }
}

/// `sendTextRules` and `validateText`: what only the Private API does is refused here without it, where the server would
/// choose that by itself.
fn sent(body: &Value) -> Result<(), String> {
    let may = ["effectId", "subject", "selectedMessageGuid", "partIndex"];
    members(body, &["chatGuid", "tempGuid", "message", "method"], &may)?;
    text(body, "message", 65_536)?;
    chat(text(body, "chatGuid", 256)?)?;
    let private = body["method"] == "private-api";
    if !private && (body["method"] != "apple-script" || may.iter().any(|name| !body[*name].is_null())) {
        return Err("only the Private API does that".into());
    }
    match body["effectId"].as_str() {
        Some(id) if !id.starts_with("com.apple.") => Err(format!("{id} is no effect")),
        _ => Ok(()),
    }
}

/// `sendAttachmentRules` and `validateAttachment`.
fn attached(request: &Request) -> Result<(), String> {
    let body = String::from_utf8_lossy(&request.body);
    for name in ["chatGuid", "tempGuid", "name", "attachment"] {
        if !body.contains(&format!("name=\"{name}\"")) {
            return Err(format!("{name} is missing"));
        }
    }
    Ok(())
}

/// `sendReactionRules`.
fn reacted(body: &Value) -> Result<(), String> {
    members(body, &["chatGuid", "selectedMessageGuid", "reaction"], &["partIndex"])?;
    let reaction = text(body, "reaction", 20)?;
    let known = REACTIONS.contains(&reaction.trim_start_matches('-'));
    if known { Ok(()) } else { Err(format!("{reaction} is no reaction")) }
}

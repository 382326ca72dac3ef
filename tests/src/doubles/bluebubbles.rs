//! BlueBubbles, version 1 of its interface, as its own validators say: the rules of `MessageValidator`, named beside each
//! (<https://github.com/BlueBubblesApp/bluebubbles-server/blob/master/packages/server/src/server/api/http/api/v1/validators/messageValidator.ts>).

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use gatepost::store::now_ms;
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
    holding(&[])
}

/// The same with messages that people have written: the GUIDs of each one's chat, and its own.
///
/// # Errors
/// There is no port to listen on.
pub fn holding(written: &[(&str, &str)]) -> Result<Desk> {
    let written = written.iter().map(|(chat, guid)| {
        (
            json!(chat),
            json!({"guid": guid, "text": "I say.", "isFromMe": false, "error": 0, "dateCreated": 0}),
        )
    });
    // What it has taken, as Messages keeps it.
    let kept = Mutex::new(written.collect::<Vec<(Value, Value)>>());
    Desk::open(move |request| {
        let mut query: Vec<&str> = request.query.split('&').collect();
        let with = query.iter().position(|pair| *pair == "with=chats").map(|at| query.remove(at));
        if query != [format!("password={PASSWORD}")] {
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
            // `MessageRouter.find`; its chats are named where they are asked for.
            ("GET", ["message", guid]) => {
                let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let Some((chat, message)) = kept.iter().find(|(_, message)| message["guid"] == *guid) else {
                    return (404, json!({"status": 404, "error": {"error": "Message does not exist!"}}));
                };
                let mut data = message.clone();
                data["chats"] = if with.is_some() { json!([{"guid": chat}]) } else { json!([]) };
                return (200, json!({"status": 200, "message": "Success", "data": data}));
            }
            ("POST", ["message", "text"]) => sent(&body),
            ("POST", ["message", "query"]) => {
                let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let of = |(chat, message): &(Value, Value)| {
                    (*chat == body["chatGuid"] && message["dateCreated"].as_i64() >= body["after"].as_i64())
                        .then(|| message.clone())
                };
                let found: Vec<Value> = kept.iter().rev().filter_map(of).collect();
                return match queried(&body) {
                    Ok(()) => (
                        200,
                        json!({"status": 200, "message": "Successfully fetched messages!", "data": found}),
                    ),
                    Err(why) => {
                        (400, json!({"status": 400, "error": {"type": "Validation Error", "error": why}}))
                    }
                };
            }
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
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let (guid, at) = (format!("GUID-{}", kept.len()), now_ms());
                let message = json!({"guid": guid, "text": body["message"], "isFromMe": true, "error": 0, "dateCreated": at});
                kept.push((body["chatGuid"].clone(), message));
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

/// `queryBodyRules`.
fn queried(body: &Value) -> Result<(), String> {
    members(body, &["chatGuid"], &["with", "where", "sort", "after", "before", "offset", "limit"])?;
    match (body["sort"].as_str(), body["limit"].as_u64()) {
        (Some("ASC" | "DESC"), Some(1..=1_000)) => Ok(()),
        other => Err(format!("{other:?} is no order and limit")),
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

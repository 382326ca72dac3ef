//! What it checks of a body: `textMessageSchema`, `mediaMessageSchema`, `audioMessageSchema`, `reactionMessageSchema`,
//! `pollMessageSchema` of `src/validate/message.schema.ts`. Members that they do not name pass there; here they fail, for
//! nothing that is sent is to be ignored.

use serde_json::Value;

use crate::doubles::{members, text};

/// Whether `/message/WHAT` takes it.
pub(super) fn message(what: &str, body: &Value) -> Result<(), String> {
    let common = ["delay", "quoted", "mentionsEveryOne", "mentioned"];
    let with =
        |more: &[&'static str]| -> Vec<&str> { common.iter().copied().chain(more.iter().copied()).collect() };
    match what {
        "sendText" => {
            members(body, &["number", "text"], &with(&["linkPreview"]))?;
            text(body, "text", 65_536)?;
        }
        "sendMedia" => {
            members(body, &["number", "mediatype"], &with(&["media", "mimetype", "fileName", "caption"]))?;
            if !["image", "document", "video", "audio"].iter().any(|kind| body["mediatype"] == *kind) {
                return Err("mediatype is not one of image, document, video, audio".into());
            }
        }
        "sendWhatsAppAudio" => members(body, &["number"], &with(&["audio"]))?,
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

//! What it checks of a body: the schemas of `src/validate/message.schema.ts`@00e191fff9514a2fa9d37d523a83ed2a9bf45e01,
//! whose lines stand below (later than 2.3.6: `gifPlayback` and `everyOne`, which it has more, are refused here).
//! Members that they do not name pass there; here they fail, for nothing that is sent is to be ignored. That a text and
//! a number are not empty, and their bounds, are this mock's.

use serde_json::Value;

use crate::mocks::{members, text};

/// Whether `/message/WHAT` takes it.
pub(super) fn message(what: &str, body: &Value) -> Result<(), String> {
    let common = ["delay", "quoted", "mentionsEveryOne", "mentioned"];
    let with =
        |more: &[&'static str]| -> Vec<&str> { common.iter().copied().chain(more.iter().copied()).collect() };
    match what {
        // `textMessageSchema`, lines 68 to 94.
        "sendText" => {
            members(body, &["number", "text"], &with(&["linkPreview"]))?;
            text(body, "text", 65_536)?;
        }
        // `mediaMessageSchema`, lines 96 to 134.
        "sendMedia" => {
            members(body, &["number", "mediatype"], &with(&["media", "mimetype", "fileName", "caption"]))?;
            if !["image", "document", "video", "audio"].iter().any(|kind| body["mediatype"] == *kind) {
                return Err("mediatype is not one of image, document, video, audio".into());
            }
        }
        // `audioMessageSchema`, lines 163 to 188.
        "sendWhatsAppAudio" => members(body, &["number"], &with(&["audio"]))?,
        // `reactionMessageSchema`, lines 303 to 320; `participant` is not named there and is handed on.
        "sendReaction" => {
            members(body, &["key", "reaction"], &[])?;
            body["reaction"].as_str().ok_or("reaction is not of a type(s) string")?;
            body["key"]["fromMe"].as_bool().ok_or("fromMe is not of a type(s) boolean")?;
            text(&body["key"], "id", 256)?;
            text(&body["key"], "remoteJid", 256)?;
            return members(&body["key"], &["id", "remoteJid", "fromMe"], &["participant"]);
        }
        // `pollMessageSchema`, lines 322 to 357.
        "sendPoll" => {
            members(body, &["number", "name", "selectableCount", "values"], &with(&[]))?;
            let values = body["values"].as_array().ok_or("values is no list")?;
            let twice = (1..values.len()).any(|at| values[..at].contains(&values[at]));
            let may_choose = body["selectableCount"].as_u64().is_some_and(|count| count <= 10);
            let texts = values.iter().all(Value::is_string) && body["name"].is_string();
            if !(2..=10).contains(&values.len()) || twice || !may_choose || !texts {
                return Err("values has 2 to 10 items, each once, of which up to 10 may be chosen".into());
            }
        }
        _ => return Err(format!("there is no {what}")),
    }
    // `quotedOptionsSchema`, lines 41 to 55, which does without a key too.
    if !body["quoted"].is_null() {
        members(&body["quoted"], &["key"], &["message"])?;
        text(&body["quoted"]["key"], "id", 256)?;
    }
    let number = text(body, "number", 64)?;
    // The same lines: `mentioned`. Outside of a group `sendMessageWithTyping` of the service at 00e191f hands none on, and who is
    // called is not seen where the text does not have their number.
    if !body["mentioned"].is_null() {
        let called = body["mentioned"].as_array().filter(|called| !called.is_empty());
        let words = body["text"].as_str().or(body["caption"].as_str()).unwrap_or_default();
        for (at, one) in called.ok_or("mentioned is a list that is not empty")?.iter().enumerate() {
            let id = one.as_str().unwrap_or_default();
            let is_one = id.starts_with(|c: char| c.is_ascii_digit()) && !id.ends_with("@g.us");
            let user = id.split('@').next().unwrap_or_default();
            let is_there = number.ends_with("@g.us") && words.contains(&format!("@{user}"));
            let is_again = called.is_some_and(|called| called[..at].contains(one));
            if !is_one || !is_there || is_again {
                return Err(format!("\"mentioned\" must be an array of numeric strings: {one}"));
            }
        }
    }
    Ok(())
}

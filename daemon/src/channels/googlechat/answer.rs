//! What Google Chat's answers mean.

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict},
    limits::Scope,
};

/// <https://cloud.google.com/apis/design/errors#error_model>
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Refusal {
    message: String,
    pub(super) status: String,
}

/// Why it says no.
pub(super) fn refusal(answer: &Answer) -> Refusal {
    Refusal::deserialize(&answer.body["error"]).unwrap_or_default()
}

/// The name of a message that was made, or of the thread that it opens.
pub(in crate::channels) fn created(created: &Value, opens: bool) -> Result<String, Verdict> {
    let id = if opens { &created["thread"]["name"] } else { &created["name"] };
    match id.as_str().or(created["name"].as_str()) {
        Some(id) => Ok(id.to_owned()),
        None => Err(Verdict::Unknown("Google Chat said yes, but not as which message".into())),
    }
}

/// What an answer other than yes means. 60 writes a minute count for the space
/// (<https://developers.google.com/workspace/chat/limits>).
pub(in crate::channels) fn verdict(reader: &Reader, answer: &Answer, webhook: bool) -> Verdict {
    let refusal = refusal(answer);
    let hint = match (refusal.status.as_str(), webhook) {
        ("PERMISSION_DENIED", false) => "; add the Chat app to the space",
        ("PERMISSION_DENIED" | "NOT_FOUND", true) => "; the webhook may be gone: make a new one in the space",
        ("NOT_FOUND", false) => "; is there such a space, thread or message, and the Chat app in it?",
        ("INVALID_ARGUMENT", _) => "; what it names is wrong in the card, the thread or the id",
        _ => "",
    };
    let words = match (refusal.status.as_str(), refusal.message.as_str()) {
        ("", _) => answer.status.to_string(),
        (status, message) => format!("{status}: {message}{hint}"),
    };
    if answer.status != StatusCode::UNAUTHORIZED {
        return reader.classify(answer, &words, Scope::Chat);
    }
    let what = if webhook { "webhook" } else { "access token" };
    Verdict::Token(format!("Google Chat refused the {what}: {}", reader.words(&words)))
}

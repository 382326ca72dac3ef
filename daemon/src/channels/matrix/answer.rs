//! What a homeserver's answers mean.

use std::time::Duration;

use serde::Deserialize;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict, quota},
    limits::Scope,
};

/// <https://spec.matrix.org/v1.18/client-server-api/#standard-error-response>
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Refusal {
    pub(super) errcode: String,
    error: String,
    retry_after_ms: Option<u64>,
}

pub(super) fn refusal(answer: &Answer) -> Refusal {
    Refusal::deserialize(&answer.body).unwrap_or_default()
}

/// The id of an event that was sent.
pub(in crate::channels) fn sent(reader: &Reader, answer: &Answer) -> Result<String, Verdict> {
    if !answer.status.is_success() {
        return Err(verdict(reader, answer));
    }
    match answer.body["event_id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => Err(Verdict::Unknown("the homeserver said yes, but not as which event".into())),
    }
}

/// The address of a file that was uploaded.
pub(in crate::channels) fn uploaded(reader: &Reader, answer: &Answer) -> Result<String, Verdict> {
    if !answer.status.is_success() {
        return Err(verdict(reader, answer));
    }
    match answer.body["content_uri"].as_str().filter(|uri| uri.starts_with("mxc://")) {
        Some(uri) => Ok(uri.to_owned()),
        None => Err(Verdict::Retry("the homeserver took the file, but did not say as what".into())),
    }
}

/// What an answer other than yes means for the event.
pub(super) fn verdict(reader: &Reader, answer: &Answer) -> Verdict {
    let refusal = refusal(answer);
    let words = match (refusal.errcode.as_str(), refusal.error.as_str()) {
        ("", _) => answer.status.to_string(),
        (code, "") => code.to_owned(),
        (code, error) => format!("{code}: {error}"),
    };
    match answer.status.as_u16() {
        // #rate-limiting: the header since v1.10, the member before; servers send either or both. A homeserver counts a
        // user's messages over all rooms (Synapse: rc_message, "per user").
        429 => {
            let body = refusal.retry_after_ms.map(|after| Duration::from_millis(after).min(quota::LONGEST));
            let answer = Answer { retry_after: answer.retry_after.max(body), ..answer.clone() };
            reader.classify(&answer, &words, Scope::Account)
        }
        401 => {
            let said = format!("the homeserver answered 401, {}; log in anew", reader.words(&words));
            Verdict::Token(said)
        }
        400..=499 if refusal.errcode.is_empty() => {
            let words = format!("{words}, which is not how one speaks; check homeserver");
            reader.classify(answer, &words, Scope::Account)
        }
        _ => reader.classify(answer, &words, Scope::Account),
    }
}

//! What Telegram's answers mean.
//!
//! Every answer is an object that says `ok`, and if not, why, in words that people know
//! (<https://core.telegram.org/bots/api#making-requests>).

use std::time::Duration;

use serde_json::Value;

use super::request::BETWEEN;
use crate::channels::{
    kit::http::{Answer, Reader, Verdict, quota},
    limits::Scope,
};

/// Why Telegram did not do it.
pub(in crate::channels) struct Refused {
    pub(super) answer: Answer,
    /// Its words.
    pub(super) said: String,
}

/// What it did, if it says yes.
pub(in crate::channels) fn result(mut answer: Answer) -> Result<Value, Refused> {
    if answer.status.is_success() && answer.body["ok"] == true {
        return Ok(answer.body["result"].take());
    }
    let said = answer.body["description"].as_str().unwrap_or_default().to_owned();
    Err(Refused { answer, said })
}

/// The id of what was made, a topic or messages; of a request that makes nothing, of what it was about.
pub(in crate::channels) fn made(result: &Value, topic: bool, about: String) -> Result<String, Verdict> {
    let made = if topic { "message_thread_id" } else { "message_id" };
    let id = match result {
        // An album is as many messages as it has items.
        Value::Array(items) => {
            let ids = items.iter().map(|item| item[made].as_i64().map(|id| id.to_string()));
            ids.collect::<Option<Vec<_>>>().map(|ids| ids.join(&BETWEEN.to_string()))
        }
        Value::Bool(true) => Some(about),
        one => one[made].as_i64().map(|id| id.to_string()),
    };
    id.filter(|id| !id.is_empty())
        .ok_or_else(|| Verdict::Unknown("Telegram said yes, but not as which message".into()))
}

impl Refused {
    /// What that means for the request.
    pub(in crate::channels) fn verdict(&self, reader: &Reader) -> Verdict {
        let Self { answer, said } = self;
        let parameters = &answer.body["parameters"];
        if let Some(moved) = parameters["migrate_to_chat_id"].as_i64() {
            return Verdict::Permanent(format!(
                "the group has become a supergroup, whose id is {moved}: send to telegram:{moved}, which is allowed and \
                 approved by itself ({})",
                reader.words(said)
            ));
        }
        match answer.status.as_u16() {
            // An address with a token that cannot be one is no address there.
            401 | 404 if answer.body["ok"] == false && (said == "Unauthorized" || said == "Not Found") => {
                let status = answer.status.as_u16();
                Verdict::Token(format!("bot token rejected (Telegram answered {status}, {said})"))
            }
            429 => {
                let body = parameters["retry_after"]
                    .as_u64()
                    .map(Duration::from_secs)
                    .map(|after| after.min(quota::LONGEST));
                let answer = Answer { retry_after: answer.retry_after.max(body), ..answer.clone() };
                reader.classify(&answer, said, Scope::Chat)
            }
            400..=499 if said.is_empty() => {
                reader.classify(answer, "which is not how Telegram speaks; check base_url", Scope::Chat)
            }
            _ => reader.classify(answer, said, Scope::Chat),
        }
    }
}

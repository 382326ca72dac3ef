//! What Discord's answers mean.
//!
//! A refusal is passed on in Discord's words (`said`). How long to wait stands in the body, in seconds with decimals, and
//! what the buckets have left in the headers, which the shared client reads.

use std::time::Duration;

use serde_json::Value;

use super::refusal::said;
use crate::channels::{
    kit::http::{Answer, Reader, Verdict, quota},
    limits::Scope,
};

/// "API resource is currently overloaded. Try again a little later", under several statuses.
const OVERLOADED: u64 = 130_000;

/// <https://docs.discord.com/developers/topics/opcodes-and-status-codes#json-json-error-codes>.
pub(super) const UNKNOWN_MEMBER: u64 = 10_007;
pub(super) const UNKNOWN_MESSAGE: u64 = 10_008;

/// The id of what was made.
pub(in crate::channels) fn made(answer: &Value) -> Result<String, Verdict> {
    match answer["id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => Err(Verdict::Unknown("Discord said yes, but not as which message".into())),
    }
}

/// What an answer means that says no.
pub(in crate::channels) fn verdict(reader: &Reader, answer: &Answer) -> Verdict {
    let said = said(&answer.body);
    match answer.status.as_u16() {
        401 => Verdict::Token(format!("bot token rejected ({})", reader.answered(401, &said))),
        // <https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit>: without a word about it, it is one
        // bucket's. An answer without any such body is from the network before Discord, which counts all that comes from here.
        429 => {
            let global = answer.body["global"].as_bool().unwrap_or(!answer.body.is_object());
            let body = answer.body["retry_after"].as_f64().and_then(seconds);
            let answer = Answer { retry_after: answer.retry_after.max(body), ..answer.clone() };
            reader.classify(&answer, &said, if global { Scope::Account } else { Scope::Chat })
        }
        _ if answer.body["code"] == OVERLOADED => {
            Verdict::Retry(format!("Discord answered {}", reader.words(&said)))
        }
        400..=499 if said.is_empty() => {
            reader.classify(answer, "which is not how Discord speaks; check base_url", Scope::Chat)
        }
        _ => reader.classify(answer, &said, Scope::Chat),
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).map_or_else(
        |_| (seconds > 0.0).then_some(quota::LONGEST),
        |seconds| Some(seconds.min(quota::LONGEST)),
    )
}

//! What an error of signal-cli means for the message: whether something may have left by then.
//!
//! Where an error arises decides (0.13.19; <https://github.com/AsamK/signal-cli>):
//!
//! - To one recipient, all that may fail once encrypting begins is caught where it is sent (`SendHelper.handleSendMessage`)
//!   and becomes a result of that recipient. An exception that gets out of it, named in brackets at the end (`SendCommand`:
//!   "Failed to send message: … (IOException)"), comes from before: files being uploaded, a quote or a recipient being
//!   resolved (`ManagerImpl.applyMessage`, `RecipientHelper.resolveRecipient`). Nothing has left.
//! - To a group, an exception may also come from between its members, or from the copy for the account's other devices, which
//!   goes when the members have it (`SendHelper.sendGroupMessageInternal`). But for failed uploads nobody knows.
//! - `NETWORK_FAILURE` of a recipient is whatever went wrong with the connection or the server while it was being sent
//!   (`JsonSendMessageResult.Type`); the cause is in signal-cli's log alone. Nobody knows; so it is asked before each message
//!   whether Signal can be reached at all.

use std::time::Duration;

use serde_json::Value;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict, quota},
    limits::Scope,
};

/// What went wrong, by signal-cli's numbers (`SignalJsonRpcCommandHandler` and JSON-RPC 2.0 §5.1).
pub(super) mod code {
    pub(in super::super) const USER: i64 = -1;
    pub(in super::super) const UNTRUSTED: i64 = -4;
    pub(in super::super) const RATE_LIMIT: i64 = -5;
    pub(in super::super) const METHOD: i64 = -32601;
    pub(in super::super) const PARAMETERS: i64 = -32602;
    pub(in super::super) const REQUEST: i64 = -32600;
    pub(in super::super) const JSON: i64 = -32700;
}

/// Exceptions of an upload: the message is not made yet.
const UPLOADS: [&str; 2] =
    ["NonSuccessfulResumableUploadResponseCodeException", "ResumeLocationInvalidException"];
/// Exceptions of a file or a message that Signal never takes.
const NEVER: [&str; 2] = ["AttachmentInvalidException", "ServerRejectedException"];

/// An error, and the request that it answers.
pub(super) struct Judged<'a> {
    /// The error's number.
    pub(super) number: i64,
    /// Its words, without anything that must not be told.
    pub(super) words: &'a str,
    /// What became of each recipient, where that is said.
    pub(super) results: &'a [Value],
    /// The method that was asked for.
    pub(super) method: &'a str,
    /// Whether it went to a group.
    pub(super) group: bool,
}

impl Judged<'_> {
    /// What it means for the message.
    pub(super) fn verdict(&self) -> Verdict {
        let said = format!("signal-cli said {}, {}", self.number, self.words);
        match self.number {
            code::METHOD => {
                Verdict::Permanent(format!("{said}: this signal-cli has no {}, use a newer one", self.method))
            }
            code::PARAMETERS | code::REQUEST | code::JSON => Verdict::Permanent(said),
            code::UNTRUSTED => Verdict::Permanent(format!(
                "{said}: the recipient has a new safety number; compare it, then run signal-cli trust"
            )),
            code::RATE_LIMIT => limited(said, self.results),
            code::USER => self.of_results(said),
            _ => self.thrown(said),
        }
    }

    /// Nobody was reached.
    fn of_results(&self, said: String) -> Verdict {
        let any = |kind: &str| self.results.iter().any(|result| result["type"] == kind);
        if any("NETWORK_FAILURE") {
            return Verdict::Unknown(format!("{said}: its network failed"));
        }
        if any("RATE_LIMIT_FAILURE") {
            return limited(said, self.results);
        }
        // No session could be made, so there was nothing to send.
        if any("INVALID_PRE_KEY_FAILURE") {
            return Verdict::Retry(format!("{said}: the recipient's keys are not valid now"));
        }
        if any("UNREGISTERED_FAILURE") {
            return Verdict::Permanent(format!("{said}: the recipient is not on Signal"));
        }
        Verdict::Permanent(said)
    }

    /// An exception got out of a command.
    fn thrown(&self, said: String) -> Verdict {
        let Some(exception) = self.exception() else { return Verdict::Unknown(said) };
        if NEVER.contains(&exception) {
            return Verdict::Permanent(said);
        }
        if self.group && !UPLOADS.contains(&exception) {
            return Verdict::Unknown(said);
        }
        before(said, exception, self.results)
    }

    /// The class in brackets at the end.
    fn exception(&self) -> Option<&str> {
        let (before, exception) = self.words.strip_suffix(')')?.rsplit_once(" (")?;
        (before.starts_with("Failed to ") && exception.ends_with("Exception")).then_some(exception)
    }
}

/// Signal refused or could not be reached before anything had left.
pub(super) fn before(said: String, exception: &str, results: &[Value]) -> Verdict {
    // `NonSuccessfulResponseCodeException`: "[401] …".
    let status = |status: &str| said.contains(&format!("[{status}]"));
    if exception == "AuthorizationFailedException" || status("401") || status("403") {
        return Verdict::Retry(format!(
            "{said}: Signal does not know this device any more; link or register it again"
        ));
    }
    if exception == "ProofRequiredException" || status("428") {
        return Verdict::Retry(human(&said));
    }
    if exception == "RateLimitException" || status("413") || status("429") {
        return limited(said, results);
    }
    if exception == "DeprecatedVersionException" || status("499") {
        return Verdict::Retry(format!(
            "{said}: Signal takes nothing from this signal-cli any more; use a newer one"
        ));
    }
    Verdict::Retry(said)
}

/// Signal wants nothing for a while, or a proof.
fn limited(said: String, results: &[Value]) -> Verdict {
    let seconds = results.iter().filter_map(|result| result["retryAfterSeconds"].as_u64()).max();
    let why = if results.iter().any(|result| result["token"].is_string()) { human(&said) } else { said };
    match seconds.filter(|seconds| *seconds > 0) {
        Some(seconds) => {
            let after = Duration::from_secs(seconds).min(quota::LONGEST);
            Verdict::Wait { by: Some(Scope::Account), after, why }
        }
        None => Verdict::Retry(why),
    }
}

fn human(said: &str) -> String {
    format!("{said}: Signal wants to see a person; run signal-cli submitRateLimitChallenge, or wait")
}

/// The result of an answer to a request of this method, or what its error means; `group` says that it went to one.
pub(in crate::channels) fn decode(
    reader: &Reader,
    answer: &Answer,
    method: &str,
    group: bool,
) -> Result<Value, Verdict> {
    if !answer.status.is_success() {
        return Err(reader.classify(answer, &format!("{}; check url", answer.status), Scope::Account));
    }
    match &answer.body["error"] {
        Value::Null => Ok(answer.body["result"].clone()),
        error => Err(of_error(reader, error, method, group)),
    }
}

/// What an error means for a request of this method.
pub(super) fn of_error(reader: &Reader, error: &Value, method: &str, group: bool) -> Verdict {
    let words = error["message"].as_str().filter(|words| !words.trim().is_empty());
    let words = words.unwrap_or("it gave no reason");
    let results = error["data"]["response"]["results"].as_array().map_or(&[][..], Vec::as_slice);
    let number = error["code"].as_i64().unwrap_or(0);
    Judged { number, words: &reader.words(words), results, method, group }.verdict()
}

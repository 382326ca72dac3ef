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
    Failure, heard,
    http::quota,
    limits::{Allowance, Scope},
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
    pub(super) fn failure(&self) -> Failure {
        let said = format!("signal-cli said {}, {}", self.number, self.words);
        match self.number {
            code::METHOD => {
                Failure::Permanent(format!("{said}: this signal-cli has no {}, use a newer one", self.method))
            }
            code::PARAMETERS | code::REQUEST | code::JSON => Failure::Permanent(said),
            code::UNTRUSTED => Failure::Permanent(format!(
                "{said}: the recipient has a new safety number; compare it, then run signal-cli trust"
            )),
            code::RATE_LIMIT => limited(said, self.results),
            code::USER => self.of_results(said),
            _ => self.thrown(said),
        }
    }

    /// Nobody was reached.
    fn of_results(&self, said: String) -> Failure {
        let any = |kind: &str| self.results.iter().any(|result| result["type"] == kind);
        if any("NETWORK_FAILURE") {
            return Failure::Unknown(format!("{said}: its network failed"));
        }
        if any("RATE_LIMIT_FAILURE") {
            return limited(said, self.results);
        }
        // No session could be made, so there was nothing to send.
        if any("INVALID_PRE_KEY_FAILURE") {
            return Failure::Retry(format!("{said}: the recipient's keys are not valid now"));
        }
        if any("UNREGISTERED_FAILURE") {
            return Failure::Permanent(format!("{said}: the recipient is not on Signal"));
        }
        Failure::Permanent(said)
    }

    /// An exception got out of a command.
    fn thrown(&self, said: String) -> Failure {
        let Some(exception) = self.exception() else { return Failure::Unknown(said) };
        if NEVER.contains(&exception) {
            return Failure::Permanent(said);
        }
        if self.group && !UPLOADS.contains(&exception) {
            return Failure::Unknown(said);
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
pub(super) fn before(said: String, exception: &str, results: &[Value]) -> Failure {
    // `NonSuccessfulResponseCodeException`: "[401] …".
    let status = |status: &str| said.contains(&format!("[{status}]"));
    if exception == "AuthorizationFailedException" || status("401") || status("403") {
        return Failure::Retry(format!(
            "{said}: Signal does not know this device any more; link or register it again"
        ));
    }
    if exception == "ProofRequiredException" || status("428") {
        return Failure::Retry(human(&said));
    }
    if exception == "RateLimitException" || status("413") || status("429") {
        return limited(said, results);
    }
    if exception == "DeprecatedVersionException" || status("499") {
        return Failure::Retry(format!(
            "{said}: Signal takes nothing from this signal-cli any more; use a newer one"
        ));
    }
    Failure::Retry(said)
}

/// Signal wants nothing for a while, or a proof.
fn limited(said: String, results: &[Value]) -> Failure {
    let seconds = results.iter().filter_map(|result| result["retryAfterSeconds"].as_u64()).max();
    let why = if results.iter().any(|result| result["token"].is_string()) { human(&said) } else { said };
    match seconds.filter(|seconds| *seconds > 0) {
        Some(seconds) => {
            let after = Duration::from_secs(seconds).min(quota::LONGEST);
            heard::note(Allowance::none(Scope::Account, after));
            Failure::Wait { after, why }
        }
        None => Failure::Retry(why),
    }
}

fn human(said: &str) -> String {
    format!("{said}: Signal wants to see a person; run signal-cli submitRateLimitChallenge, or wait")
}

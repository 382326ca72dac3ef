//! What the Cloud API's error codes mean for a message.
//!
//! Meta says no with a code, and the HTTP status beside it is no guide: some codes that are about the message or the number
//! come with 500, and some limits with 400. So the code decides, and the status only where there is none. Each code is in
//! the reference at <https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes>; those of every Graph API at
//! <https://developers.facebook.com/docs/graph-api/guides/error-handling>.

use reqwest::StatusCode;
use serde_json::Value;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict},
    limits::Scope,
};

/// More than 24 hours have passed since the person wrote last ("Re-engagement message").
pub(super) const OUTSIDE_WINDOW: u64 = 131_047;
/// What can be done about that.
pub(super) const WINDOW_HINT: &str =
    "more than 24 hours have passed since the person wrote: configure a template, or wait until they write";

/// What an answer that says no means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The access token is not taken.
    Token,
    /// The number, its account or what the app may do: every message would be refused until somebody mends it.
    NotReady,
    /// Too much of the app, the account, the number, or between the two.
    TooMuch(Scope),
    /// Trouble of theirs, which passes; the message was not taken.
    Trouble,
    /// The message, or who it is for; with what to do.
    Refused(&'static str),
    /// There is no code.
    Unsaid,
}

impl Meaning {
    /// Whether another way to WhatsApp may carry the message.
    pub(super) fn is_not_ready(self) -> bool {
        matches!(self, Self::Token | Self::NotReady)
    }
}

/// What it means.
pub(super) fn meaning(answer: &Answer) -> Meaning {
    match code(answer) {
        // AuthException, "Access token has expired".
        0 if answer.status.as_u16() == 401 || answer.body["error"]["code"].is_u64() => Meaning::Token,
        0 => Meaning::Unsaid,
        190 => Meaning::Token,
        // "API Method", "Permission Denied" and 200 to 299, "API Permission": capabilities and permissions of the app.
        3 | 10 | 200..=299
        // "Parameter value is not valid": the number's id is none of this business.
        | 33
        // "Temporarily blocked for policies violations", "Account has been locked".
        | 368 | 131_031
        // "Access denied", "Business eligibility payment issue", "Display name approval needed".
        | 131_005 | 131_042 | 131_037
        // "Incorrect certificate", which is of the number's registration; "Incomplete Deregistration", "Phone number Not Registered".
        | 131_045 | 133_000 | 133_010 => Meaning::NotReady,
        // "API Too Many Calls", "Rate limit issues", "Rate limit hit", "Spam Rate limit hit".
        4 | 80_007 | 130_429 | 131_048 => Meaning::TooMuch(Scope::Account),
        // "(Business Account, Consumer Account) pair rate limit hit".
        131_056 => Meaning::TooMuch(Scope::Chat),
        // "API Unknown", "API Service", "Something went wrong", "Service unavailable", "Account in maintenance mode",
        // "Server Temporarily Unavailable".
        1 | 2 | 131_000 | 131_016 | 131_057 | 133_004 => Meaning::Trouble,
        OUTSIDE_WINDOW => Meaning::Refused(WINDOW_HINT),
        // "Recipient phone number not in allowed list".
        131_030 => Meaning::Refused("add the number to the test number's list"),
        // "Business-scoped User ID (BSUID) recipients are not supported for this message".
        131_062 => Meaning::Refused("send this kind of message to a number"),
        // Among them 131026, "Message undeliverable", and 132069, "Flow blocked", which comes with 500.
        _ => Meaning::Refused(""),
    }
}

/// Meta's code; 0 where there is none.
pub(super) fn code(answer: &Answer) -> u64 {
    answer.body["error"]["code"].as_u64().unwrap_or(0)
}

/// The id of a message that was taken.
pub(in crate::channels) fn sent(body: &Value) -> Result<String, Verdict> {
    match body["messages"][0]["id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => Err(Verdict::Unknown("the Cloud API said yes, but not as which message".into())),
    }
}

/// What an answer that says no means for the message: by Meta's code where it has one, whatever the status.
pub(in crate::channels) fn verdict(reader: &Reader, answer: &Answer) -> Verdict {
    let error = &answer.body["error"];
    let message = error["message"].as_str().unwrap_or_default();
    let details = error["error_data"]["details"].as_str().unwrap_or_default();
    let words = match (code(answer), message.is_empty()) {
        (0, true) => answer.status.to_string(),
        _ if details.is_empty() => message.to_owned(),
        _ => format!("{message}: {details}"),
    };
    let said = reader.answered(answer.status.as_u16(), &words);
    match meaning(answer) {
        Meaning::Token => Verdict::Token(said),
        Meaning::NotReady => Verdict::Permanent(said),
        Meaning::TooMuch(scope) => {
            // Some of these come with 400.
            let limited = Answer { status: StatusCode::TOO_MANY_REQUESTS, ..answer.clone() };
            reader.classify(&limited, &words, scope)
        }
        Meaning::Trouble => Verdict::Retry(said),
        Meaning::Refused("") => Verdict::Permanent(said),
        Meaning::Refused(hint) => Verdict::Permanent(format!("{said}; {hint}")),
        Meaning::Unsaid => reader.classify(answer, &words, Scope::Account),
    }
}

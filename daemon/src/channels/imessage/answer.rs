//! What the answers mean of what speaks for a Mac: BlueBubbles, and `imsg rpc`.

use serde_json::Value;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict},
    limits::Scope,
};

/// The longest words of `imsg` that are passed on, in characters.
const MAX_WORDS: usize = 300;

/// The GUID of a message that BlueBubbles has sent. Of a file or a reaction it says so too where Messages could not send it: the
/// message that it names is marked then (`sendAttachment` and `react` of `messageRouter.ts` at 172b95f, lines 329 to 402 and 607 to
/// 661, do not look at its error as `sendText` does).
pub(in crate::channels) fn sent(body: &Value) -> Result<String, Verdict> {
    if let Some(number) = error_number(body) {
        return Err(Verdict::Permanent(format!("Messages did not send it: {}", error_of_messages(number))));
    }
    match body["data"]["guid"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => Err(Verdict::Unknown("BlueBubbles said yes, but not as which message".into())),
    }
}

/// Messages' own number of what went wrong, where a message has one.
fn error_number(body: &Value) -> Option<i64> {
    body["data"]["error"].as_i64().filter(|number| *number != 0)
}

/// What an answer that says no means for the message (`responses/errors.ts` at 560b1e5, `middleware/errorMiddleware.ts` at
/// 8621aa5).
pub(in crate::channels) fn verdict(reader: &Reader, answer: &Answer) -> Verdict {
    let words = [&answer.body["error"]["message"], &answer.body["message"]];
    let words = words.iter().find_map(|words| words.as_str()).unwrap_or_default();
    let words = if words.is_empty() { answer.status.to_string() } else { words.to_owned() };
    let said = reader.answered(answer.status.as_u16(), &words);
    match answer.status.as_u16() {
        401 | 403 => Verdict::Token(said),
        // The request before this one is still at it.
        400 if words.contains("already queued") => Verdict::Unknown(said),
        // Messages' own number of what went wrong: the message is there, marked as not delivered.
        500 => match error_number(&answer.body) {
            Some(number) => Verdict::Permanent(format!("{said}: {}", error_of_messages(number))),
            // The same by the Private API, whose number gets lost on its way (`messageRouter.ts` at 172b95f, lines 284 to 324).
            _ if words.contains("sent with an error") => {
                Verdict::Permanent(format!("{said}: Messages did not send it"))
            }
            // Thrown before anything is done (`messageInterface.ts` at 8621aa5, `editMessage`, `unsendMessage`).
            _ if words.contains("only supported on macOS") => Verdict::Permanent(said),
            // `checkPrivateApiStatus`, before anything is sent: Messages is not open on the Mac, or was just begun.
            _ if words.contains("Helper is not connected") => {
                Verdict::Retry(format!("{said}; open Messages on the Mac"))
            }
            _ if words.contains("Private API") => Verdict::Permanent(format!(
                "{said}; set the Private API up on the Mac, or private_api = false"
            )),
            _ => Verdict::Unknown(said),
        },
        404 => Verdict::Permanent(format!("{said}; check url")),
        _ => reader.classify(answer, &words, Scope::Account),
    }
}

/// What Messages' own number of an error means, in words.
fn error_of_messages(number: i64) -> String {
    match number {
        22 => "error 22, the recipient is not on iMessage".into(),
        number => format!("error {number} of Messages"),
    }
}

/// What `message.send_status` says of one message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SendStatus {
    /// It left.
    Sent,
    /// Messages has it and has not sent it yet.
    Pending,
    /// Messages has no such message.
    Missing,
    /// It did not leave: why.
    Failed(String),
}

/// Reads an answer of `message.send_status` (openclaw/imsg at d76d681, `Sources/imsg/RPCServer+MessageStatusHandlers.swift`
/// lines 5 to 43): any error number of Messages makes it "failed".
pub(super) fn send_status(answer: &Value) -> SendStatus {
    // A row that is missing is "pending" without fields.
    if !answer["status_fields"].is_object() {
        return SendStatus::Missing;
    }
    match answer["send_state"].as_str() {
        Some("sent" | "delivered") => SendStatus::Sent,
        Some("failed") => {
            let number = answer["status_fields"]["error"].as_i64().unwrap_or(0);
            SendStatus::Failed(format!("Messages did not send it: {}", error_of_messages(number)))
        }
        _ => SendStatus::Pending,
    }
}

/// Why a call has no result.
#[derive(Debug)]
pub(in crate::channels) enum CallError {
    /// It was refused: its number, its words, and what else is known.
    Refused { code: i64, words: String, data: Value },
    /// The answer is longer than is read.
    TooLong,
    /// The program ended or said nothing.
    Gone(String),
}

impl CallError {
    /// In words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Refused { code, words, .. } => format!("imsg said {code}, {words}"),
            Self::TooLong => "imsg's answer is too long".into(),
            Self::Gone(why) => why.clone(),
        }
    }
}

/// The outcome of call `id` of `imsg rpc`, if this line is the answer to it.
pub(in crate::channels) fn line(line: &[u8], id: u64) -> Option<Result<Value, CallError>> {
    let mut answer = serde_json::from_slice::<Value>(line).ok().filter(|answer| answer["id"] == id)?;
    let error = answer["error"].take();
    if error.is_null() {
        return Some(Ok(answer["result"].take()));
    }
    let data = error["data"].clone();
    // Older ones have their words beside "Internal error".
    let detail = data["detail"].as_str().or(data.as_str()).unwrap_or_default();
    let message = error["message"].as_str().unwrap_or_default();
    let words = [message, detail].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>();
    let code = error["code"].as_i64().unwrap_or(0);
    Some(Err(CallError::Refused { code, words: short(&words.join(": ")), data }))
}

/// On one line, bounded.
pub(super) fn short(said: &str) -> String {
    said.trim().replace(char::is_control, " ").chars().take(MAX_WORDS).collect()
}

//! What the answers of the Bot Connector and of workflows mean.

use serde::Deserialize;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict},
    limits::Scope,
};

/// <https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference#errorresponse-object>
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Refusal {
    pub(super) code: String,
    message: String,
}

/// Why it says no.
pub(super) fn refusal(answer: &Answer) -> Refusal {
    Refusal::deserialize(&answer.body["error"]).unwrap_or_default()
}

/// What an answer other than yes means.
///
/// <https://learn.microsoft.com/microsoftteams/platform/bots/build-conversational-capability#status-codes-from-bot-conversational-apis>
pub(in crate::channels) fn verdict(reader: &Reader, answer: &Answer, webhook: bool) -> Verdict {
    let refusal = refusal(answer);
    let hint = match (answer.status.as_u16(), refusal.code.as_str()) {
        (_, "BotNotInConversationRoster") | (403, "ForbiddenOperationException" | "BotDisabledByAdmin") => {
            "; add the bot's app to the conversation, or have it allowed"
        }
        (403, "ConversationBlockedByUser" | "MessageWritesBlocked") => {
            "; the person has blocked or removed the bot"
        }
        (403, _) => "; is the bot in the conversation, and may it write there?",
        (404, _) if webhook => "; the workflow may be gone or switched off: copy its address anew",
        (404, _) => "; is there such a conversation or message, and is it the bot's? check service_url",
        (413, _) => "; send less",
        _ => "",
    };
    let words = match (refusal.code.as_str(), refusal.message.as_str()) {
        ("", _) => format!("{}{hint}", answer.status),
        (code, message) => format!("{code}: {message}{hint}"),
    };
    let words = reader.words(&words);
    match (answer.status.as_u16(), webhook) {
        (401, false) => Verdict::Token(format!("Teams refused the access token: {words}")),
        (401 | 403, true) => Verdict::Token(format!("the workflow refused the webhook: {words}")),
        // "Retry with exponential backoff"; nothing was done.
        (412, _) => Verdict::Retry(format!("Teams answered 412, {words}")),
        _ => reader.classify(answer, &words, Scope::Chat),
    }
}

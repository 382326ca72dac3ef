//! What Slack's errors mean. It says no with status 200 and a word; the word decides what the queue may do.
//!
//! A word that stands in no row is a refusal that trying again does not change: that is what all the others are. Only
//! two say that something may have happened nevertheless.

use serde::Deserialize;
use serde_json::Value;

use crate::channels::{
    kit::http::{Answer, Reader, Verdict},
    limits::Scope,
};

/// What a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is as it was asked to be already.
    Done,
    /// Not now.
    Later,
    /// Too many requests.
    Limited,
    /// Slack does not know itself.
    Unknown,
    /// The token.
    Token,
    /// No.
    Never,
}

/// Words with a meaning of their own, or with something that a person can do. From the tables "Errors" of the methods'
/// pages, <https://docs.slack.dev/reference/methods/chat.postMessage> and the others that are called.
const WORDS: &[(&str, Meaning, &str)] = &[
    ("already_reacted", Meaning::Done, ""),
    ("no_reaction", Meaning::Done, ""),
    ("already_pinned", Meaning::Done, ""),
    ("no_pin", Meaning::Done, ""),
    ("not_pinned", Meaning::Done, ""),
    ("ratelimited", Meaning::Limited, ""),
    ("rate_limited", Meaning::Limited, ""),
    ("message_limit_exceeded", Meaning::Limited, ""),
    // "It's possible some aspect of the operation succeeded before the error was raised."
    ("internal_error", Meaning::Unknown, ""),
    ("fatal_error", Meaning::Unknown, ""),
    ("service_unavailable", Meaning::Later, ""),
    // The body that was sent did not arrive whole.
    ("request_timeout", Meaning::Later, ""),
    ("team_added_to_org", Meaning::Later, "the workspace is being moved"),
    ("org_login_required", Meaning::Later, "the workspace is being moved"),
    ("external_channel_migrating", Meaning::Later, "the channel is being moved"),
    ("update_failed", Meaning::Later, ""),
    ("invalid_auth", Meaning::Token, ""),
    ("not_authed", Meaning::Token, ""),
    ("account_inactive", Meaning::Token, ""),
    ("token_revoked", Meaning::Token, ""),
    ("token_expired", Meaning::Token, ""),
    ("not_allowed_token_type", Meaning::Never, "use the app's bot token, which begins with xoxb-"),
    ("no_permission", Meaning::Never, "install the app again with the permissions that it lacks"),
    ("not_in_channel", Meaning::Never, "invite the bot to the conversation"),
    (
        "channel_not_found",
        Meaning::Never,
        "use the id of a conversation that the bot is in; invite it to a private one",
    ),
    ("user_not_found", Meaning::Never, "use the member id of somebody in this workspace"),
    ("user_disabled", Meaning::Never, "the person's account is switched off"),
    ("cannot_dm_bot", Meaning::Never, "a bot cannot write to a bot: use a person's or a conversation's id"),
    ("is_archived", Meaning::Never, "the conversation is archived: use another one, or bring it back"),
    ("msg_too_long", Meaning::Never, "send less text, or a file"),
    ("msg_blocks_too_long", Meaning::Never, "send fewer or shorter blocks"),
    ("no_text", Meaning::Never, "a message needs a text"),
    (
        "invalid_blocks",
        Meaning::Never,
        "a message has 50 blocks at most, those of its text and buttons included",
    ),
    ("invalid_blocks_format", Meaning::Never, "a card is a list of Block Kit's blocks"),
    ("restricted_action", Meaning::Never, "the workspace's settings let the bot not write there"),
    ("restricted_action_read_only_channel", Meaning::Never, "nobody may write there"),
    (
        "restricted_action_thread_only_channel",
        Meaning::Never,
        "only answers are allowed there: name a thread",
    ),
    (
        "restricted_action_non_threadable_channel",
        Meaning::Never,
        "no answers are allowed there: name no thread",
    ),
    ("restricted_action_thread_locked", Meaning::Never, "the thread is closed"),
    ("messages_tab_disabled", Meaning::Never, "switch on the Messages tab in the app's settings (App Home)"),
    (
        "message_not_found",
        Meaning::Never,
        "there is no such message, or no more: give the id from its receipt",
    ),
    (
        "thread_not_found",
        Meaning::Never,
        "there is no such message, or no more: give the id of the thread's first one",
    ),
    ("cant_update_message", Meaning::Never, "only the bot's own messages can be changed"),
    ("edit_window_closed", Meaning::Never, "the workspace lets messages be changed for a while only"),
    ("cant_delete_message", Meaning::Never, "only the bot's own messages can be deleted"),
    ("invalid_name", Meaning::Never, "name the emoji as Slack does: thumbsup"),
    ("too_many_emoji", Meaning::Never, "the message has as many different reactions as it can have"),
    ("too_many_reactions", Meaning::Never, "the message has as many different reactions as it can have"),
    ("file_upload_size_restricted", Meaning::Never, "the workspace takes smaller files only"),
    ("file_uploads_disabled", Meaning::Never, "the workspace takes no files: send a link"),
    ("file_uploads_except_images_disabled", Meaning::Never, "the workspace takes pictures only: send a link"),
    ("storage_limit_reached", Meaning::Never, "the workspace's storage is full"),
    ("posting_to_channel_denied", Meaning::Never, "the bot may not share files there"),
    ("metadata_must_be_sent_from_app", Meaning::Never, "use an app's bot token, which begins with xoxb-"),
    ("two_factor_setup_required", Meaning::Never, "the account has to set up its second factor"),
    ("ekm_access_denied", Meaning::Never, "the workspace's administrators have stopped messages"),
    ("access_denied", Meaning::Never, "the workspace's administrators do not let the app do that"),
    ("accesslimited", Meaning::Never, "the workspace may not be reached from this network"),
    ("team_access_not_granted", Meaning::Never, "the app is not installed in that workspace"),
];

/// <https://docs.slack.dev/apis/web-api/#responses>
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Refusal {
    /// The word.
    pub(super) error: String,
    needed: String,
    provided: String,
    response_metadata: Details,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    messages: Vec<String>,
}

impl Refusal {
    /// What the answer says, where that is no.
    pub(super) fn of(answer: &Answer) -> Option<Self> {
        if answer.status.is_success() && answer.body["ok"] == true {
            return None;
        }
        Some(Self::deserialize(&answer.body).unwrap_or_default())
    }

    /// What it means.
    pub(super) fn meaning(&self) -> Meaning {
        WORDS.iter().find(|(word, ..)| *word == self.error).map_or(Meaning::Never, |row| row.1)
    }

    /// Whether what was to be removed is not there (<https://docs.slack.dev/reference/methods/chat.delete>, and
    /// `files.delete`).
    pub(super) fn is_gone(&self) -> bool {
        ["message_not_found", "file_not_found", "file_deleted"].contains(&self.error.as_str())
    }

    /// Whether there is no such message or file as was asked for.
    pub(super) fn is_missing(&self) -> bool {
        self.is_gone() || self.error == "thread_not_found"
    }

    /// What it means for the queue. `by` is whom a limit counts.
    pub(super) fn classify(&self, reader: &Reader, answer: &Answer, by: Scope) -> Verdict {
        if self.error.is_empty() {
            return match answer.status.is_success() {
                true => Verdict::Unknown("Slack's answer says neither yes nor no; check base_url".into()),
                false => reader.classify(answer, &answer.status.to_string(), by),
            };
        }
        let words = reader.words(&self.words());
        let said = format!("Slack answered {words}");
        match self.meaning() {
            Meaning::Limited => match answer.retry_after {
                Some(after) => {
                    let mut answer = answer.clone();
                    answer.status = reqwest::StatusCode::TOO_MANY_REQUESTS;
                    answer.retry_after = Some(after);
                    reader.classify(&answer, &words, by)
                }
                None => Verdict::Retry(said),
            },
            Meaning::Later => Verdict::Retry(said),
            Meaning::Unknown => Verdict::Unknown(said),
            Meaning::Token => Verdict::Token(format!("bot token rejected: {said}")),
            // A server in trouble may word it.
            Meaning::Done | Meaning::Never if answer.status.is_server_error() => {
                reader.classify(answer, &words, by)
            }
            Meaning::Done | Meaning::Never => Verdict::Permanent(said),
        }
    }

    fn words(&self) -> String {
        let hint = match WORDS.iter().find(|(word, ..)| *word == self.error).map_or("", |row| row.2) {
            "" if self.error == "missing_scope" => format!(
                ": the app needs {}, and has {}; add the scope and install the app again",
                self.needed, self.provided
            ),
            "" => String::new(),
            hint => format!(": {hint}"),
        };
        let details = match self.response_metadata.messages.as_slice() {
            [] => String::new(),
            messages => format!(" ({})", messages.join("; ")),
        };
        format!("{}{hint}{details}", self.error)
    }
}

/// What came of a request.
pub(in crate::channels) enum Outcome {
    /// Slack's yes, with what it says.
    Yes(Value),
    /// It was so already.
    Already,
}

/// What an answer says came of a request. `by` is whom a limit counts.
pub(in crate::channels) fn decode(reader: &Reader, answer: &Answer, by: Scope) -> Result<Outcome, Verdict> {
    match Refusal::of(answer) {
        None => Ok(Outcome::Yes(answer.body.clone())),
        Some(refusal) if refusal.meaning() == Meaning::Done && answer.status.is_success() => {
            Ok(Outcome::Already)
        }
        Some(refusal) => Err(refusal.classify(reader, answer, by)),
    }
}

/// The id of a message that was posted.
pub(in crate::channels) fn posted(said: &Value) -> Result<String, Verdict> {
    match said["ts"].as_str() {
        Some(ts) => Ok(ts.to_owned()),
        None => Err(Verdict::Unknown("Slack said yes, but not as which message".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_once() {
        for (n, (word, ..)) in WORDS.iter().enumerate() {
            assert!(WORDS[n + 1..].iter().all(|(other, ..)| other != word), "{word}");
        }
    }

    #[test]
    fn an_unknown_word_is_a_refusal() {
        let refusal = Refusal { error: "moon_is_full".into(), ..Refusal::default() };
        assert_eq!(refusal.meaning(), Meaning::Never);
    }
}

//! Receipts: what a caller is told of a message.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    MessageId,
    attachment::Attachment,
    recipients::Recipients,
    refusal::Code,
    state::{PartState, State},
};

/// What an agent can do about a message that people are asked about.
const ASKED: &str = "a person is being asked; ask again later, and do not send it a second time";

/// A message's state, and how far it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Receipt {
    /// False only for an end other than `sent`.
    pub ok: bool,
    /// The message.
    pub id: MessageId,
    /// Where it is.
    pub state: State,
    /// For an end other than `sent`: the kind of error. `rate_limited` while it is held and nobody is asked yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why it is where it is, as a sentence: why it waits, for instance. Only while `ok` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What went wrong, as a sentence. Only if `ok` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is to be said of a message that was sent: whom it did not reach, `2 of 3 members; not: Carol (not on Signal)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What the caller can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'static, str>>,
    /// While it is held: until when a person can decide; it expires then. RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// While its platform takes nothing: until when, as the platform asked. RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// While it is held: who can be asked now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Whether a software companion decided on it, or approved it with others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub decided_by_software: bool,
    /// Where it goes, as `channel:address[#thread]`.
    pub to: String,
    /// The address as the call wrote it, where that is another one of whoever it goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_as: Option<String>,
    /// `k of n` parts confirmed, once it is split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// Whether it is the receipt of a message that was taken a moment before, of which the call was a repetition.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deduplicated: bool,
    /// What stands in for what was asked for, where the platform has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<&'static str>,
    /// What an operator has said or done about parts of which nobody knew whether they arrived. A message that is `sent` with
    /// a history may have arrived twice, or not in whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// Each part.
    pub parts: Vec<PartReceipt>,
    /// The files that go along, as the hub found them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// Who can be asked about a message that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Asked {
    /// How many companions must still approve it.
    pub needed: u32,
    /// How many can be asked now.
    pub able: u32,
    /// If these are too few: why. Nobody can let the message go then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One part's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PartReceipt {
    /// Where it is.
    pub state: PartState,
    /// The platform's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_id: Option<String>,
    /// What is to be said of it if nothing is wrong: why it waits for another attempt, or in what form it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The platform's words on why it did not arrive. Only of a part that is `failed` or `unknown`, if `ok` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whom it reached, where it went to several people and the platform says so of each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipients: Option<Recipients>,
    /// When it came to the device of the person whom it was for, in RFC 3339, where the platform tells (WhatsApp's Cloud API, Signal).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<String>,
    /// When they read it, where the platform tells and they let it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_at: Option<String>,
    /// What is seen of it, where the message is looked at and not only answered for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl PartReceipt {
    /// A part in this state of a message in that one, with the words on it.
    pub fn new(message: State, state: PartState, words: Option<String>) -> Self {
        let wrong = !message.is_ok() && matches!(state, PartState::Failed | PartState::Unknown);
        let (reason, error) = if wrong { (None, words) } else { (words, None) };
        Self {
            state,
            platform_id: None,
            reason,
            error,
            recipients: None,
            delivered_at: None,
            read_at: None,
            text: None,
        }
    }
}

impl Receipt {
    /// The same with who can be asked about it now.
    pub fn asked(self, asked: Option<Asked>) -> Self {
        let problem = asked.as_ref().and_then(|asked| asked.problem.as_deref());
        let hint = match problem {
            Some(problem) => Some(Cow::Owned(nobody(problem, self.deadline.as_deref()))),
            None => self.hint,
        };
        Self { asked, hint, ..self }
    }

    /// What an agent can do about a message in this state, with this kind of error.
    pub fn hint(state: State, code: Option<&str>) -> Option<&'static str> {
        match state {
            State::Held if code == Some(Code::RateLimited.word()) => Some(
                "it waits for its turn to be asked about; do not send it a second time, and ask for less that leaves its conversation",
            ),
            State::Held => Some(ASKED),
            State::Denied => Some("do not send it again unchanged"),
            State::Expired => Some("send it again if it still matters"),
            State::Failed
                if [Code::InputInvalid, Code::TooLarge].map(Code::word).map(Some).contains(&code) =>
            {
                Some("nothing of it was sent; change it as the error says, and send it again")
            }
            State::Failed if code == Some(Code::NotAllowed.word()) => {
                Some("do not send it again there; ask the operator if this agent should write there")
            }
            State::Failed if code == Some(Code::AccountChanged.word()) => {
                Some("the rest of it was not sent; send it anew if it may go from the account as it is now")
            }
            State::Failed => Some("the hub has given up on it; read the error before you send it again"),
            State::Unknown => Some("do not send it again without asking the person it was for"),
            State::Accepted | State::Ready | State::Sending => {
                Some("it is on its way; do not send it a second time")
            }
            State::Cancelled => {
                Some("it was taken back and did not leave; send it again only if that was a mistake")
            }
            State::Sent => None,
        }
    }
}

/// What an agent can do about a held message that nobody can be asked about, for this reason.
pub(crate) fn nobody(problem: &str, deadline: Option<&str>) -> String {
    // To the second, as people read times.
    let until =
        deadline.map_or("", |deadline| deadline.split_once('.').map_or(deadline, |(seconds, _)| seconds));
    format!(
        "nobody can be asked: {problem}. It waits until {until}Z, then expires; do not send it a second time"
    )
}

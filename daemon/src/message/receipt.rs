//! Receipts: what a caller is told of a message.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    MessageId,
    attachment::Attachment,
    refusal::Code,
    state::{PartState, State},
};

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
    /// Why it is where it is, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the caller can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
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
    /// Each part.
    pub parts: Vec<PartReceipt>,
    /// The files that go along, as the hub found them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// One part's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PartReceipt {
    /// Where it is.
    pub state: PartState,
    /// The platform's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_id: Option<String>,
    /// The platform's words on why it did not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is seen of it, where the message is looked at and not only answered for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Receipt {
    /// What an agent can do about a message in this state, with this kind of error.
    pub fn hint(state: State, code: Option<&str>) -> Option<&'static str> {
        match state {
            State::Held if code == Some(Code::RateLimited.word()) => Some(
                "it waits for its turn to be asked about; do not send it a second time, and ask for less that leaves its conversation",
            ),
            State::Held => Some("a person is being asked; ask again later, and do not send it a second time"),
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

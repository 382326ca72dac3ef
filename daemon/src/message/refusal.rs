//! The errors that a caller sees: one shape on every interface.

use serde::Serialize;
use utoipa::ToSchema;

/// What kind of error it is. Agents decide by this word, so it never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Missing, malformed or contradictory input; or, with the reason `not_allowed`, a target that is not allowed.
    InputInvalid,
    /// No valid token.
    Unauthorized,
    /// A valid token that may not do this.
    Forbidden,
    /// Its agent may not write there any more: the end of a message that was taken before.
    NotAllowed,
    /// Its account is another one than the one it was taken for, by another configuration: it is not sent.
    AccountChanged,
    /// There is no such thing, or none that this caller may see.
    NotFound,
    /// No adapter, or the adapter's refusal, in the platform's words.
    ExecutionFailed,
    /// The queue or its disk has no room; nothing was taken.
    QueueFull,
    /// Too many at once, or too often: nothing was taken, or nobody is asked about it yet.
    RateLimited,
    /// A body or a text over its bound.
    TooLarge,
    /// The same idempotency key with another body, or a change that the state does not allow.
    Conflict,
    /// A person refused it.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It was taken back.
    Cancelled,
    /// It may or may not have arrived.
    UnknownOutcome,
}

impl Code {
    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::InputInvalid => 400,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::NotAllowed => 403,
            Self::NotFound => 404,
            Self::ExecutionFailed => 502,
            Self::QueueFull => 503,
            Self::RateLimited => 429,
            Self::TooLarge => 413,
            Self::Conflict | Self::AccountChanged => 409,
            Self::Denied | Self::Expired | Self::Cancelled | Self::UnknownOutcome => 200,
        }
    }

    /// The word on the wire and in the database.
    pub const fn word(self) -> &'static str {
        match self {
            Self::InputInvalid => "input_invalid",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotAllowed => "not_allowed",
            Self::AccountChanged => "account_changed",
            Self::NotFound => "not_found",
            Self::ExecutionFailed => "execution_failed",
            Self::QueueFull => "queue_full",
            Self::RateLimited => "rate_limited",
            Self::TooLarge => "too_large",
            Self::Conflict => "conflict",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::UnknownOutcome => "unknown_outcome",
        }
    }
}

/// The reason of a refusal for a channel or an account that the hub has not.
pub const NO_ACCOUNT: &str = "no_account";

/// How the reason of a message begins that its platform refused. `send_message` says it in the words of the seed's tool.
pub const NOT_SENT: &str = "not sent: ";

/// Why a call was refused, and what the caller can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, ToSchema)]
#[error("{error}")]
pub struct Refusal {
    /// The kind.
    pub code: Code,
    /// A finer word where one code has several causes, such as `not_allowed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// What is wrong, as a sentence.
    pub error: String,
    /// What to do about it.
    pub hint: String,
    /// How to write for the channel that the call was for, where a model reads this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guide: Option<String>,
}

impl Refusal {
    /// A refusal without a finer reason.
    pub fn new(code: Code, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, reason: None, error: error.into(), hint: hint.into(), guide: None }
    }

    /// Bad input.
    pub fn input(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Code::InputInvalid, error, hint)
    }

    /// The HTTP status. That the hub has no such account is nothing that failed: it is the call that cannot be taken.
    pub fn status(&self) -> u16 {
        match self.reason {
            Some(NO_ACCOUNT) => 422,
            _ => self.code.status(),
        }
    }

    /// The same with a finer reason.
    pub fn because(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }
}

//! Questions to a person, who says yes or no on an approver, for every interface.
//!
//! A question is a message to `person:owner` ([`crate::delivery::actions::questions`]): written down first, held, shown, signed and
//! proved like any other, and counted among the cards of whoever asks. Nothing happens at its end but the answer.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::message_service::{self, broken};
use crate::{
    admission::submit::Idempotency,
    delivery::actions::{ACCOUNT, questions::OWNER},
    message::{
        MessageId,
        action::Action,
        call::{Call, MAX_TEXT},
        receipt::{Asked, Receipt},
        refusal::{Code, Refusal},
        state::State,
        target::PERSON,
    },
    outbox::row::MessageRow,
    pipeline::Pipeline,
};

/// A question as it is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asking {
    /// What a person is asked, in Markdown. They read it as plain text, as a companion shows it.
    #[schema(min_length = 1, max_length = 102_400)]
    pub question: String,
    /// How long they have, in seconds; as long as for a message, where it is left out, and never longer.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<u64>,
    /// For how many seconds the call waits for the answer.
    #[serde(default)]
    #[schema(maximum = 600)]
    pub wait: Option<u64>,
    /// The token of the conversation that the turn came from: the card names it.
    #[serde(default)]
    pub context: Option<String>,
}

/// How a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answered {
    /// Nobody has answered yet.
    Waiting,
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// Nobody answered in time. It is no yes.
    Expired,
    /// Whoever asked, or the operator, took it back.
    Cancelled,
    /// It could not be asked, or does not count any more: the reason says why. It is no yes.
    Failed,
}

impl Answered {
    /// A message's end tells it. One that was approved and is not done yet may still fail.
    const fn of(state: State) -> Self {
        match state {
            State::Sent => Self::Approved,
            State::Denied => Self::Denied,
            State::Expired => Self::Expired,
            State::Cancelled => Self::Cancelled,
            State::Failed | State::Unknown => Self::Failed,
            State::Accepted | State::Held | State::Ready | State::Sending => Self::Waiting,
        }
    }
}

/// A question, and what was answered.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Question {
    /// Always true: that a person said no is an answer.
    pub ok: bool,
    /// Its id, by which it can be looked at, waited for, taken back, and proved.
    pub id: MessageId,
    /// How it stands.
    pub state: Answered,
    /// `rate_limited` while it waits and nobody is asked yet; the kind of error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why it is so, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What whoever asks can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'static, str>>,
    /// While it waits: until when a person can answer. RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// While it waits: who can be asked now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Whether a software companion answered, alone or with others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub decided_by_software: bool,
    /// Whether it had been asked a moment before, and this call was a repetition.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deduplicated: bool,
}

impl Question {
    /// How a question stands by its message's receipt.
    pub(super) fn of(receipt: Receipt) -> Self {
        let state = Answered::of(receipt.state);
        let has_problem = receipt.asked.as_ref().is_some_and(|asked| asked.problem.is_some());
        let hint = match state {
            // That nobody can be asked, or not yet, is said as it is of a message.
            Answered::Waiting if receipt.code.is_some() || has_problem => receipt.hint.clone(),
            Answered::Waiting => {
                Some(Cow::Borrowed("a person is being asked; look again later, and do not ask a second time"))
            }
            Answered::Denied => Some(Cow::Borrowed("the answer is no: do not ask the same again")),
            Answered::Expired => {
                Some(Cow::Borrowed("nobody answered, which is no yes; ask again if it still matters"))
            }
            Answered::Approved | Answered::Cancelled | Answered::Failed => None,
        };
        Self {
            ok: true,
            id: receipt.id,
            state,
            code: receipt.code.filter(|_| matches!(state, Answered::Waiting | Answered::Failed)),
            reason: receipt.reason.or(receipt.error),
            hint,
            deadline: receipt.deadline,
            asked: receipt.asked,
            decided_by_software: receipt.decided_by_software,
            deduplicated: receipt.deduplicated,
        }
    }

    /// Whether there will be no other answer.
    pub(super) fn is_final(&self) -> bool {
        self.state != Answered::Waiting
    }
}

/// Whether a message is a question.
pub(super) fn is_question(message: &MessageRow) -> bool {
    message.channel == PERSON
}

/// Asks.
///
/// # Errors
/// The question cannot be shown to anybody, or whoever asks has no right to: its turn has a stranger's words in it.
pub(super) async fn ask(
    pipeline: &Pipeline,
    agent: &str,
    asking: Asking,
    idempotency: Idempotency,
    wait: Duration,
) -> Result<Question, Refusal> {
    let receipt = pipeline.submit(agent, call(asking)?, idempotency).await?;
    let receipt = message_service::wait(pipeline, receipt, Instant::now() + wait).await?;
    Ok(Question::of(receipt))
}

/// How a question stands, when it has ended or after a while.
///
/// # Errors
/// The message is no question; the database.
pub(super) async fn look(
    pipeline: &Pipeline,
    message: &MessageRow,
    wait: Duration,
) -> Result<Question, Refusal> {
    if !is_question(message) {
        let hint = "GET /v1/messages has messages";
        return Err(Refusal::new(Code::NotFound, "there is no such question", hint));
    }
    Ok(Question::of(pipeline.wait(message.seq, wait).await.map_err(broken)?))
}

fn call(asking: Asking) -> Result<Call, Refusal> {
    let Asking { question: text, ttl_seconds, wait: _, context } = asking;
    if text.trim().is_empty() {
        let hint = "write what a person can answer with yes or no";
        return Err(Refusal::input("\"question\" is missing or empty", hint).because("missing"));
    }
    if text.len() > MAX_TEXT {
        let error = format!("the question has {} bytes, at most {MAX_TEXT} are taken", text.len());
        return Err(Refusal::new(Code::TooLarge, error, "shorten it"));
    }
    if ttl_seconds == Some(0) {
        let hint = "leave it out, or give a person time to answer";
        return Err(Refusal::input("\"ttl_seconds\" is 0", hint).because("ttl_seconds"));
    }
    let call = Call::to_hub(Action::Ask, (PERSON, ACCOUNT, OWNER), text);
    Ok(Call { context, ttl: ttl_seconds.map(Duration::from_secs), ..call })
}

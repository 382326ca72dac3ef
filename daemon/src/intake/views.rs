//! Messages as the HTTP interface shows them.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    message::{
        receipt::{Asked, Receipt},
        state::State,
    },
    outbox::{
        pauses::Wait,
        row::{MessageRow, PartRow},
    },
};

/// A line of a listing.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Summary {
    /// The message.
    id: String,
    /// Where it is.
    state: State,
    /// Whose it is.
    agent: String,
    /// Where it goes, as `channel:address[#thread]`.
    to: String,
    /// The address book's name of that.
    known_as: Option<String>,
    /// The account that it goes from.
    account: String,
    /// When it was accepted.
    accepted_at: String,
    /// The first line of its text that is not empty, at most 200 characters.
    line: String,
    /// How many files go along.
    files: usize,
    /// For an end other than `sent`: the kind of error.
    code: Option<String>,
    /// Why it is where it is. Only if nothing went wrong.
    reason: Option<String>,
    /// While its platform takes nothing: until when, as the platform asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_until: Option<String>,
    /// What went wrong.
    error: Option<String>,
    /// Who can be asked about it, if it is held; with a `problem` if these are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
}

impl Summary {
    /// A message, who can be asked about it now, and what it waits for if its platform takes nothing.
    pub(super) fn of(message: MessageRow, asked: Option<Asked>, wait: Option<&Wait>) -> Self {
        let (reason, error) = message.why();
        Self {
            to: message.target().to_string(),
            line: message.line(),
            files: message.attachments.len(),
            known_as: message.known_as,
            id: message.id,
            state: message.state,
            agent: message.agent,
            account: message.account,
            accepted_at: time(message.accepted_at),
            code: message.code,
            reason: wait.map(Wait::reason).or(reason),
            paused_until: wait.map(Wait::until),
            error,
            asked,
        }
    }
}

/// Everything about one message that its owner may see: its receipt, and more.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Whole {
    #[serde(flatten)]
    receipt: Receipt,
    /// Whose it is.
    agent: String,
    /// What was asked for, by its word.
    action: String,
    /// The address book's name of where it goes.
    known_as: Option<String>,
    /// The account that it goes from.
    account: String,
    /// The platform's id of the message that it answers.
    reply_to: Option<String>,
    /// Without a notification.
    silent: bool,
    /// The conversation that its turn came from.
    origin: Option<String>,
    /// What is sent: what the agent wrote, or what the hooks made of it.
    message: String,
    /// What the agent wrote, where the hooks made something else of it.
    written: Option<String>,
    /// When it was accepted.
    accepted_at: String,
    /// Before this it is not sent again.
    due_at: Option<String>,
    /// When it came to its end.
    ended_at: Option<String>,
    /// Attempts that failed.
    attempts: u32,
    /// `k of n` companions have approved it, where several must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) approvals: Option<String>,
    /// Which companions those were; for the operator alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) approved_by: Option<Vec<String>>,
    /// Where else the same goes: people are asked, or were asked, about all of it on one card.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) asked_together: Vec<String>,
    /// The request by which people are asked about it, or were; for the operator alone: `GET /v1/approvals/{request}`.
    pub(super) request: Option<String>,
}

impl Whole {
    /// A message with its receipt and its parts.
    pub(super) fn of(message: MessageRow, mut receipt: Receipt, parts: Vec<PartRow>) -> Self {
        for (part, row) in receipt.parts.iter_mut().zip(parts) {
            part.text = Some(row.shown);
        }
        // Of a held one the approval's, which is earlier.
        receipt.deadline.get_or_insert_with(|| time(message.deadline));
        // So written, times sort as texts.
        let due_at = time(message.due_at).max(receipt.paused_until.clone().unwrap_or_default());
        Self {
            receipt,
            agent: message.agent,
            action: message.action,
            known_as: message.known_as,
            account: message.account,
            reply_to: message.reply_to,
            silent: message.silent,
            origin: message.origin.map(|origin| origin.place.to_string()),
            message: message.text,
            written: message.written,
            accepted_at: time(message.accepted_at),
            due_at: (!message.state.is_final()).then_some(due_at),
            ended_at: message.ended_at.map(time),
            attempts: message.attempts,
            approvals: None,
            approved_by: None,
            asked_together: vec![],
            request: None,
        }
    }
}

pub(super) use crate::clock::rfc3339 as time;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_as_texts() {
        assert_eq!(time(1_500), "1970-01-01T00:00:01.500Z");
        assert!(time(1_500) < time(1_584));
    }
}

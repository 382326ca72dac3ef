//! The one request of a message that is not a new text.

use super::{
    capability_check,
    content::{Content, never, rendered},
    mentions, shown,
};
use crate::{
    blocking,
    channels::{
        Adapter, OperationRequest,
        envelope::{Envelope, Fallback},
        sender::Composed,
    },
    message::{
        new_part_key,
        operation::{Operation, Poll},
        refusal::{Code, Refusal},
    },
    outbox::transition::NewPart,
    render::{self, Part},
};

/// Composes it. `prefix` stands before what others read.
pub(super) fn part(
    adapter: &dyn Adapter,
    content: &Content<'_>,
    prefix: Option<&str>,
) -> Result<Option<NewPart>, Refusal> {
    let text = text(adapter, content, prefix)?;
    let operation = match (content.operation, prefix) {
        (Operation::Poll(poll), Some(prefix)) => {
            let poll = Poll { question: format!("{prefix}{}", poll.question), ..poll.clone() };
            // With whose it is before it, the question may have become too long.
            capability_check::polled(adapter.capabilities(), &poll)?;
            Operation::Poll(poll)
        }
        // Nothing else of it is read.
        (Operation::Thread { name, message }, Some(prefix)) if text.is_none() => {
            Operation::Thread { name: format!("{prefix}{name}"), message: message.clone() }
        }
        (operation, _) => operation.clone(),
    };
    let op = OperationRequest {
        address: content.recipient(adapter),
        thread: content.target.thread.as_deref(),
        reply_to: content.reply_to,
        silent: content.silent,
        operation: &operation,
        part: text.as_ref(),
    };
    let Some(composed) = adapter.plan_operation(&op, content.made_by) else {
        return Err(capability_check::lacks(adapter.capabilities(), operation.action()));
    };
    let Composed { request, route } = composed.map_err(never)?;
    let mut shown = shown::operation(&operation, text.as_ref().map(|part| part.shown.as_str()));
    if let Some(line) = text.as_ref().and_then(mentions::shown) {
        shown = format!("{shown}\n{line}");
    }
    for line in shown::locations(content) {
        shown = format!("{line}\n{shown}");
    }
    let request = Envelope { request, fallback: Fallback::default() }.to_text();
    Ok(Some(NewPart { key: new_part_key(), shown, request, route }))
}

/// The text beside an operation: one part, or none.
fn text(adapter: &dyn Adapter, content: &Content<'_>, prefix: Option<&str>) -> Result<Option<Part>, Refusal> {
    blocking::expect_off_runtime(content.text.len());
    let mut document = render::parse(content.text);
    if document.is_blank() {
        return match content.operation {
            Operation::Edit { .. } => {
                let hint = "write some visible text, or use the action \"delete\"";
                Err(Refusal::input("the new text shows nothing", hint).because("blank"))
            }
            _ => Ok(None),
        };
    }
    mentions::check(adapter, &document)?;
    if let Some(prefix) = prefix {
        document.decorate(prefix);
    }
    let mut parts = rendered(&document, &adapter.flavour())?;
    match parts.len() {
        1 => Ok(parts.pop()),
        several => {
            let error = format!("the text of this action would become {several} messages, and it is one");
            Err(Refusal::new(Code::TooLarge, error, "shorten it, or send the rest as a message of its own"))
        }
    }
}

//! The one request of a message that is not a new text.

use super::{
    able,
    parts::{Content, never, rendered},
    shown,
};
use crate::{
    blocking,
    channels::{Act, Adapter},
    message::{
        deed::{Deed, Poll},
        new_part_key,
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
    let deed = match (content.deed, prefix) {
        (Deed::Poll(poll), Some(prefix)) => {
            let poll = Poll { question: format!("{prefix}{}", poll.question), ..poll.clone() };
            // With whose it is before it, the question may have become too long.
            able::polled(adapter.capabilities(), &poll)?;
            Deed::Poll(poll)
        }
        // Nothing else of it is read.
        (Deed::Thread { name, message }, Some(prefix)) if text.is_none() => {
            Deed::Thread { name: format!("{prefix}{name}"), message: message.clone() }
        }
        (deed, _) => deed.clone(),
    };
    let act = Act {
        address: content.recipient(adapter),
        thread: content.target.thread.as_deref(),
        reply_to: content.reply_to,
        silent: content.silent,
        deed: &deed,
        part: text.as_ref(),
    };
    let Some(wire) = adapter.act(&act) else {
        return Err(able::lacks(adapter.capabilities(), deed.action()));
    };
    let wire = match content.made_by {
        Some(made) => adapter.keeping(wire, made),
        None => wire,
    };
    if let Some(why) = adapter.refusal(&wire) {
        return Err(never(why));
    }
    let mut shown = shown::deed(&deed, text.as_ref().map(|part| part.shown.as_str()));
    for line in shown::locations(content) {
        shown = format!("{line}\n{shown}");
    }
    let route = adapter.route(&wire);
    Ok(Some(NewPart { key: new_part_key(), shown, wire: wire.to_string(), route }))
}

/// The text beside a deed: one part, or none.
fn text(adapter: &dyn Adapter, content: &Content<'_>, prefix: Option<&str>) -> Result<Option<Part>, Refusal> {
    blocking::expect_off_runtime(content.text.len());
    let mut document = render::parse(content.text);
    if document.is_blank() {
        return match content.deed {
            Deed::Edit { .. } => {
                let hint = "write some visible text, or use the action \"delete\"";
                Err(Refusal::input("the new text shows nothing", hint).because("blank"))
            }
            _ => Ok(None),
        };
    }
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

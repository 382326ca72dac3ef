//! Whom a text calls: `[Ann](mention:ID)`, a link to a person's id on the channel that it goes to.
//!
//! A text calls nobody but so: what looks like a mention, `@everyone` or `<@U012AB3CD>`, is escaped by the renderer. Only what
//! the channel knows to be one person's id goes through, so neither a group nor a whole conversation is called. Where a
//! channel has no mentions the call is refused: a link to nobody would be read as a notification that there was not.

use super::capability_check::without;
use crate::{
    blocking,
    channels::Adapter,
    message::{call::Call, refusal::Refusal},
    render::{self, Document, Part},
};

/// What a link begins with that calls somebody.
const SCHEME: &[u8] = b"mention:";

/// The most people whom a text calls: who is named needs no more, and an approver reads each.
const MOST: usize = 10;
/// Characters of a refused id that its error repeats.
const MOST_SHOWN: usize = 80;

/// Refuses a call, before it is taken, whose texts call whom its channel cannot. One that hides it behind character references is
/// refused when it is rendered, as what a hook wrote is.
pub(in crate::admission) async fn check_call(adapter: &dyn Adapter, call: &Call) -> Result<(), Refusal> {
    let has_scheme =
        |text: &&str| text.as_bytes().windows(SCHEME.len()).any(|at| at.eq_ignore_ascii_case(SCHEME));
    let captions = call.attachments.iter().filter_map(|file| file.caption.as_deref());
    let texts: Vec<&str> = [call.text.as_str()].into_iter().chain(captions).filter(has_scheme).collect();
    let check = || texts.iter().try_for_each(|text| check(adapter, &render::parse(text)));
    blocking::run(texts.iter().map(|text| text.len()).sum(), check).await
}

/// Refuses a text that calls whom its channel cannot.
pub(super) fn check(adapter: &dyn Adapter, document: &Document) -> Result<(), Refusal> {
    let (can, ids) = (adapter.capabilities(), document.mentions());
    if ids.is_empty() {
        return Ok(());
    }
    if !can.mentions {
        return Err(without(can.channel, "mentions", "write the name without a link"));
    }
    if ids.len() > MOST {
        let error = format!("a text calls {MOST} people at most, and this one {}", ids.len());
        return Err(Refusal::input(error, "call fewer by mention:").because("over_the_bound"));
    }
    match ids.into_iter().find(|id| !adapter.is_mentionable(id)) {
        None => Ok(()),
        Some(id) => {
            let id: String = id.chars().take(MOST_SHOWN).collect();
            let error = format!("mention:{id} names no person on {}", can.channel);
            let hint = "write [name](mention:ID) with one person's id, as an inbound message of theirs names its sender; groups are not called";
            Err(Refusal::input(error, hint).because("bad_mention"))
        }
    }
}

/// Whom a part calls, as an approver reads it.
pub(super) fn shown(part: &Part) -> Option<String> {
    (!part.mentions.is_empty()).then(|| format!("[notifies] {}", part.mentions.join(", ")))
}

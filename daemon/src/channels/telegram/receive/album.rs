//! Albums: messages with one `media_group_id` (<https://core.telegram.org/bots/api#message>), which a person sent as one.
//!
//! Only the first has the caption as a rule, and so the mention of the bot: taken one by one, the other pictures would be for
//! nobody.

use std::collections::HashMap;

use serde_json::Value;

use super::read::{Read, Update};
use crate::channels::received::{Event, Received, Words};

/// Moves what the messages of an album say to its first. They keep their places, by which the account counts how far it has read.
pub(super) fn merge(updates: &mut [Update]) {
    let mut firsts: HashMap<String, usize> = HashMap::new();
    for at in 0..updates.len() {
        let Some(album) = updates[at].album.clone() else { continue };
        let Some(&first) = firsts.get(&album) else {
            firsts.insert(album, at);
            continue;
        };
        let (before, from) = updates.split_at_mut(at);
        let (into, from) = (&mut before[first], &mut from[0]);
        if let ([into], [_]) = (into.events.as_mut_slice(), from.events.as_slice())
            && let Some(other) = from.events.pop()
        {
            match join(into, other) {
                Ok(()) => from.merged = true,
                Err(other) => from.events.push(*other),
            }
        }
    }
}

/// Joins a message to the first; gives it back if it is of somebody else.
fn join(into: &mut Read, other: Read) -> Result<(), Box<Read>> {
    if into.received.author.id != other.received.author.id {
        return Err(Box::new(other));
    }
    match (&mut into.received.event, other.received.event) {
        (Event::Message(words), Event::Message(more)) => {
            add(words, more);
            into.received.mentions_me |= other.received.mentions_me;
            into.files.extend(other.files);
            Ok(())
        }
        (_, event) => {
            let received = Received { event, ..other.received };
            Err(Box::new(Read { received, ..other }))
        }
    }
}

fn add(words: &mut Words, more: Words) {
    if !words.text.is_empty() && !more.text.is_empty() {
        words.text.push('\n');
    }
    words.text.push_str(&more.text);
    words.missing.extend(more.missing);
    words.reply_to = words.reply_to.take().or(more.reply_to);
    words.forwarded |= more.forwarded;
}

/// The album that an answer ends in: more of it may be on its way.
pub(super) fn open(updates: &[Value]) -> Option<&Value> {
    let last = updates.last()?;
    ["message", "channel_post"]
        .iter()
        .map(|kind| &last[*kind]["media_group_id"])
        .find(|album| album.is_string())
}

/// Leaves out the album in which a full answer ends, which is read whole next time; unless nothing else is in it.
pub(super) fn without_cut(mut updates: Vec<Value>) -> Vec<Value> {
    let Some(album) = open(&updates).cloned() else { return updates };
    let is_of = |update: &Value| open(std::slice::from_ref(update)) == Some(&album);
    let whole = updates.iter().rposition(|update| !is_of(update)).map_or(0, |last| last + 1);
    if whole > 0 {
        updates.truncate(whole);
    }
    updates
}

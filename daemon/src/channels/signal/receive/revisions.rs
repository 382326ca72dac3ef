//! Under which id a message came first.
//!
//! An edit has a time of its own, and what is done to the message afterwards, another edit too, names that time
//! (<https://github.com/signalapp/Signal-Android/blob/main/app/src/main/java/org/thoughtcrime/securesms/messages/EditMessageProcessor.kt>). The hub
//! knows the message by its first. What was edited before the hub started is not known here: it is told under the id that it has then.

use std::collections::{HashMap, VecDeque};

use super::envelope::Draft;
use crate::channels::received::Event;

/// How many edits are remembered.
const MOST: usize = 512;

/// The newest edits: the id of each, and the first id of its message.
#[derive(Debug, Default)]
pub(super) struct Revisions {
    firsts: HashMap<String, String>,
    order: VecDeque<String>,
}

impl Revisions {
    /// Names messages by their first ids, and remembers an edit.
    pub(super) fn settle(&mut self, draft: &mut Draft) {
        let received = &mut draft.received;
        received.message_id.iter_mut().for_each(|id| self.first(id));
        if let Event::Message(words) | Event::Edit(words) = &mut received.event {
            words.reply_to.iter_mut().for_each(|reply| self.first(&mut reply.id));
        }
        if let Some((revision, first)) = draft.revision.take().zip(received.message_id.clone()) {
            self.note(revision, first);
        }
    }

    fn first(&self, id: &mut String) {
        if let Some(first) = self.firsts.get(id) {
            id.clone_from(first);
        }
    }

    fn note(&mut self, revision: String, first: String) {
        // One that comes again, or that names itself.
        if revision == first || self.firsts.contains_key(&revision) {
            return;
        }
        if self.order.len() >= MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.firsts.remove(&oldest);
        }
        self.order.push_back(revision.clone());
        self.firsts.insert(revision, first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_edits_are_remembered_each_once() {
        let mut revisions = Revisions::default();
        for number in 0..MOST + 10 {
            for _ in 0..2 {
                revisions.note(format!("r{number}"), "first".into());
            }
        }
        revisions.note("same".into(), "same".into());
        let first = |id: &str| {
            let mut id = id.to_owned();
            revisions.first(&mut id);
            id
        };
        assert_eq!(
            (first("r9"), first("r10"), first(&format!("r{}", MOST + 9))),
            ("r9".into(), "first".into(), "first".into())
        );
        assert_eq!(
            (revisions.order.len(), revisions.firsts.len(), first("same")),
            (MOST, MOST, "same".into())
        );
    }
}

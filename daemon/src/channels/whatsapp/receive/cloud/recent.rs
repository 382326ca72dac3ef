//! The newest message of each conversation: Meta is told of a message, and not of a conversation, that somebody writes an answer to it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::channels::received::{Event, Received};

/// Conversations that are remembered. One that is forgotten shows nothing until the next message there.
const MAX_CONVERSATIONS: usize = 1024;

/// Conversations, and the id of the newest message of each.
#[derive(Default)]
pub(super) struct Recent(Mutex<HashMap<String, String>>);

/// The conversation and the id of what is a message that can be answered.
pub(super) fn named(received: &Received) -> Option<(String, String)> {
    let id = match received.event {
        Event::Message(_) => received.message_id.clone()?,
        // These are about another message; the press itself is one as well.
        Event::Press { .. } | Event::Entry(_) => received.key.clone(),
        _ => return None,
    };
    Some((received.conversation.address.clone(), id))
}

impl Recent {
    pub(super) fn note(&self, address: String, id: String) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.len() >= MAX_CONVERSATIONS && !newest.contains_key(&address) {
            newest.clear();
        }
        newest.insert(address, id);
    }

    pub(super) fn of(&self, address: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(address).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_the_newest_stays() {
        let recent = Recent::default();
        for number in 0..3 * MAX_CONVERSATIONS {
            recent.note(number.to_string(), "wamid.1".into());
            assert!(recent.of(&number.to_string()).is_some());
        }
        assert!(recent.0.lock().unwrap().len() <= MAX_CONVERSATIONS);
    }
}

//! How conversations with people are called at the Evolution API.
//!
//! WhatsApp knows many numbers of Brazil, Mexico and Argentina in a form of its own: without or with a digit that is, or was,
//! dialled (`src/utils/createJid.ts`, 2.3.6). What is sent finds its conversation by itself; what is done to a message must
//! name it as WhatsApp does, or it is done nowhere and answered with a yes. So every answer's `key.remoteJid` is remembered.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Conversations that are remembered.
const MAX_CHATS: usize = 4096;
/// The longest name of one that is believed, in bytes.
const MAX_JID: usize = 64;
/// The codes of countries whose numbers may be spelled otherwise: Brazil, Mexico, Argentina.
const COUNTRIES: [&str; 3] = ["55", "52", "54"];

/// Numbers, and how the conversations with them are called.
#[derive(Default)]
pub(super) struct Chats(Mutex<HashMap<String, String>>);

impl Chats {
    /// A number's conversation is called so.
    pub(super) fn learn(&self, number: &str, jid: &str) {
        let is_one = jid.len() <= MAX_JID
            && jid.bytes().all(|b| b.is_ascii_graphic())
            && ["@s.whatsapp.net", "@lid"].iter().any(|end| jid.ends_with(end));
        if !is_one || number.contains('@') {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CHATS && !known.contains_key(number) {
            // It is asked again where that matters.
            known.clear();
        }
        known.insert(number.to_owned(), jid.to_owned());
    }

    /// How it is called, if that is known.
    pub(super) fn of(&self, number: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }
}

/// Whether a number's conversation may have another one.
pub(super) fn may_be_spelled_otherwise(number: &str) -> bool {
    COUNTRIES.iter().any(|country| number.starts_with(country))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_calls_a_conversation_is_remembered_within_bounds() {
        let chats = Chats::default();
        chats.learn("5511987654321", "551187654321@s.whatsapp.net");
        assert_eq!(chats.of("5511987654321").as_deref(), Some("551187654321@s.whatsapp.net"));
        for odd in ["", "x", "1@g.us", &format!("{}@lid", "1".repeat(100)), "1\n@lid"] {
            chats.learn("49151", odd);
        }
        chats.learn("120363012345678901@g.us", "1@s.whatsapp.net");
        assert_eq!((chats.of("49151"), chats.of("120363012345678901@g.us")), (None, None));
        (0..2 * MAX_CHATS).for_each(|n| chats.learn(&n.to_string(), "1@lid"));
        assert!(chats.0.lock().unwrap().len() <= MAX_CHATS);
    }
}

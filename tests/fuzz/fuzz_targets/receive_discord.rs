//! An event of Discord's Gateway, whatever it says: it is read within the bounds, or left with a reason.
#![no_main]

use gatepost::channels::{
    discord::receive::reader::read_in_a_channel,
    received::{MAX_FILES, MAX_TEXT_CHARS},
};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 10] = [
    "MESSAGE_CREATE",
    "MESSAGE_UPDATE",
    "MESSAGE_DELETE",
    "MESSAGE_DELETE_BULK",
    "MESSAGE_REACTION_ADD",
    "MESSAGE_REACTION_REMOVE",
    "MESSAGE_POLL_VOTE_ADD",
    "MESSAGE_POLL_VOTE_REMOVE",
    "INTERACTION_CREATE",
    "ANYTHING",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((name, data)) = bytes.split_first() else { return };
    let Ok(data) = serde_json::from_slice(data) else { return };
    let batch = read_in_a_channel(NAMES[usize::from(*name) % NAMES.len()], &data);
    assert!(batch.received.len() + batch.dropped.len() <= 100);
    for received in batch.received {
        assert!(!received.author.id.is_empty() && !received.conversation.address.is_empty());
        if let Some(words) = received.event.words() {
            assert!(words.text.chars().count() <= MAX_TEXT_CHARS && words.missing.len() <= MAX_FILES);
        }
    }
    for dropped in batch.dropped {
        assert!(dropped.what.chars().count() <= 60);
    }
});

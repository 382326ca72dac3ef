//! What Slack's Socket Mode brings, whatever it says: it is read within the bounds, or left with a reason.
#![no_main]

use gatepost::channels::{
    received::{MAX_FILES, MAX_TEXT_CHARS},
    slack::receive::reader::read_alone,
};
use libfuzzer_sys::fuzz_target;

const KINDS: [&str; 3] = ["events_api", "interactive", "anything"];

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, payload)) = bytes.split_first() else { return };
    let Ok(payload) = serde_json::from_slice(payload) else { return };
    let batch = read_alone(KINDS[usize::from(*kind) % KINDS.len()], &payload);
    assert!(batch.received.len() + batch.dropped.len() <= 8);
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

//! What a homeserver tells, and strangers write in it: an answer whose events are any bytes, and any bytes as an answer. Whatever it
//! is, the position is there, and what is received keeps within its bounds.
#![no_main]

use gatepost::channels::{
    matrix::receive::read,
    received::{MAX_TEXT_CHARS, Received},
};
use libfuzzer_sys::fuzz_target;

const ME: &str = "@hub:hub.test";

fuzz_target!(|bytes: &[u8]| {
    let _ = read(bytes, ME);
    let Ok(events) = std::str::from_utf8(bytes) else { return };
    let head = r#"{"next_batch":"s2","rooms":{"join":{"!r:hub.test":{"timeline":{"events":["#;
    let Some(batch) = read(format!("{head}{events}]}}}}}}}}}}").as_bytes(), ME) else { return };
    assert!(batch.positions.len() == 1 && !batch.positions[0].value.is_empty());
    for dropped in &batch.dropped {
        assert!(dropped.what.len() < 64, "{dropped:?}");
    }
    for received in batch.received.into_iter().filter_map(|received| Received::bounded(received).ok()) {
        assert!(received.conversation.address.starts_with('!') && received.author.id.starts_with('@'));
        assert!(received.event.words().is_none_or(|words| words.text.chars().count() <= MAX_TEXT_CHARS));
    }
});

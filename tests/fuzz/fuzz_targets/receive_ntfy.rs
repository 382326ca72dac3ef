//! A line of ntfy's stream, whatever it says: it is read within bounds, or dropped for a reason.
#![no_main]

use std::sync::LazyLock;

use gatepost::channels::ntfy::receive::event::{Line, read};
use libfuzzer_sys::fuzz_target;

static TOPICS: LazyLock<Vec<String>> = LazyLock::new(|| vec!["kitchen".into(), "garden".into()]);

fuzz_target!(|line: &[u8]| match read(line, &TOPICS) {
    Line::Open(_) | Line::Alive => {}
    Line::Said(draft) => {
        assert!(!draft.received.key.is_empty() && draft.received.author.unverified);
        if let Ok(received) = draft.received.bounded() {
            assert_eq!(received.clone().bounded(), Ok(received));
        }
    }
    Line::Dropped(dropped) => assert!(dropped.what.chars().count() <= 40),
});

//! An activity of Teams', whatever it says: it is read within bounds, or left with a reason.
#![no_main]

use gatepost::channels::{
    received::{Event, MAX_BATCH},
    teams::receive::read,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match read(bytes, "app-1") {
    Ok(all) => {
        assert!((1..=MAX_BATCH).contains(&all.len()));
        for received in all {
            assert!(!received.key.is_empty() && !received.author.id.is_empty());
            assert!(!received.conversation.address.contains(';'));
            if let Event::Entry(entry) = &received.event {
                assert!(
                    entry.values.len() <= 50
                        && entry.values.values().all(|value| value.chars().count() <= 4_000)
                );
            }
            if let Ok(received) = received.bounded() {
                assert_eq!(received.clone().bounded(), Ok(received));
            }
        }
    }
    Err(dropped) => assert!(dropped.what.chars().count() <= 60),
});

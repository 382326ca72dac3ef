//! An event of Google Chat's, whatever it says: it is read within bounds, or left with a reason.
#![no_main]

use gatepost::channels::{googlechat::receive::read, received::Event};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match read(bytes) {
    Ok(all) => {
        assert!((1..=2).contains(&all.len()));
        for received in all {
            assert!(
                received.author.id.starts_with("users/")
                    && received.conversation.address.starts_with("spaces/")
            );
            if let Event::Entry(entry) = &received.event {
                assert!(
                    entry.values.len() <= 100
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

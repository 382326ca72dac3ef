//! An answer of Telegram's to `getUpdates`, whatever it says: all of it is read within bounds, or dropped for a reason.
#![no_main]

use std::sync::LazyLock;

use gatepost::channels::telegram::receive::{self, Me};
use libfuzzer_sys::fuzz_target;

static ME: LazyLock<Me> =
    LazyLock::new(|| Me { id: 99, username: "House_Bot".into(), topics_in_chats: true });

fuzz_target!(|body: &[u8]| {
    let (received, dropped) = receive::read(body, &ME);
    for received in received {
        assert!(!received.key.is_empty(), "Telegram names all that it tells");
        assert_eq!(received.clone().bounded(), Ok(received));
    }
    assert!(dropped.iter().all(|dropped| dropped.what.chars().count() <= 40));
});

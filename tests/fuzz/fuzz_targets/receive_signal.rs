//! Bytes of signal-cli's stream of events, whatever they say: all of it is read within bounds, or dropped for a reason.
#![no_main]

use std::sync::LazyLock;

use gatepost::channels::signal::receive::{self, Me};
use libfuzzer_sys::fuzz_target;

static ME: LazyLock<Me> = LazyLock::new(|| Me {
    number: "+4915112345678".into(),
    uuid: Some("aaaaaaaa-0000-4000-8000-00000000000a".into()),
});

fuzz_target!(|body: &[u8]| {
    let (received, dropped) = receive::read(body, &ME);
    for received in received {
        assert!(!received.key.is_empty(), "Signal names all that it tells");
        let bounded = received.bounded().expect("its ids are Signal's");
        assert_eq!(bounded.clone().bounded(), Ok(bounded));
    }
    assert!(dropped.iter().all(|dropped| dropped.what.chars().count() <= 40));
});

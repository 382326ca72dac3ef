//! A notification of Meta's, or an answer or a notification of an Evolution API, whatever it says: all of it is read within bounds, or
//! dropped for a reason.
#![no_main]

use gatepost::channels::{
    received::{Dropped, Received},
    whatsapp::receive::{cloud, evolution},
};
use libfuzzer_sys::fuzz_target;

fn check((received, dropped): (Vec<Received>, Vec<Dropped>)) {
    for received in received {
        let bounded = received.bounded().expect("its ids are WhatsApp's");
        assert_eq!(bounded.clone().bounded(), Ok(bounded));
    }
    assert!(dropped.iter().all(|dropped| dropped.what.chars().count() <= 60));
}

fuzz_target!(|body: &[u8]| {
    check(cloud::read(body, "106540352242922"));
    check(evolution::read(body, "home", "4915112345678"));
});

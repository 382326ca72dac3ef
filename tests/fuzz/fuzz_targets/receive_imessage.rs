//! Rows of Messages as a BlueBubbles server or `imsg` hands them over, whatever they say: all of it is read within bounds, or dropped for a
//! reason.
#![no_main]

use gatepost::channels::{
    imessage::receive::{program, server},
    received::{Dropped, Received},
};
use libfuzzer_sys::fuzz_target;

fn check((received, dropped): (Vec<Received>, Vec<Dropped>)) {
    for received in received {
        let bounded = received.bounded().expect("its ids are Messages' own");
        assert_eq!(bounded.clone().bounded(), Ok(bounded));
    }
    assert!(dropped.iter().all(|dropped| dropped.what.chars().count() <= 60));
}

fuzz_target!(|body: &[u8]| {
    check(server::read(body));
    check(program::read(body));
});

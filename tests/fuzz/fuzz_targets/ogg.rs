//! A recording, whatever its bytes: one that is spoken for the hub is measured, and one that goes to Messages is wrapped anew. Both take
//! it or leave it, and what is wrapped grows by no more than its table of packets.
#![no_main]

use gatepost::{channels::imessage::caf, voice::recording};
use libfuzzer_sys::fuzz_target;

/// A packet has a byte at least, and its length takes three in the table at most.
const MAX_GROWTH: usize = 3;
/// The chunks of a Core Audio file, without what is in the table and the sound.
const MAX_HEAD_BYTES: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let _ = recording::length(bytes);
    if let Some(caf) = caf::of_ogg(bytes) {
        assert!(caf.starts_with(b"caff"), "the head of a Core Audio file");
        assert!(caf.len() <= MAX_GROWTH * bytes.len() + MAX_HEAD_BYTES, "{} of {}", caf.len(), bytes.len());
    }
});

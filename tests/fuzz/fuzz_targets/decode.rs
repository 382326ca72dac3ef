//! Every decoder of the link, on either side: no bytes make any of them panic, and what decodes encodes to something that
//! decodes to the same.
#![no_main]

use gatepost_link::{
    document::{Document, MAX_DOCUMENT},
    envelope::{self, MAX_FRAME},
    frame,
    pairing::{self, FromDevice, FromHub},
    topic::PairingTopics,
};
use libfuzzer_sys::fuzz_target;

/// Decodes; what decodes is encoded and decoded again, to the same.
macro_rules! round {
    ($codec:ident, $type:ty, $bytes:expr $(, $more:expr)?) => {
        if let Ok(value) = $codec::decode::<$type>($bytes $(, $more)?) {
            let mut buffer = [0; 2 * MAX_FRAME];
            let again = $codec::encode(&value, &mut buffer).expect("what was decoded fits");
            assert_eq!($codec::decode::<$type>(again $(, $more)?), Ok(value));
        }
    };
}

fuzz_target!(|bytes: &[u8]| {
    round!(envelope, envelope::Up<'_>, bytes, 0);
    round!(envelope, envelope::Down<'_>, bytes, 0);
    round!(envelope, pairing::Up<'_>, bytes, 0);
    round!(envelope, pairing::Down<'_>, bytes, 0);
    round!(frame, frame::Up, bytes);
    round!(frame, frame::Down<'_>, bytes);
    round!(frame, FromHub, bytes);
    round!(frame, FromDevice, bytes);
    if let Ok(document) = Document::decode(bytes) {
        let mut buffer = [0; MAX_DOCUMENT];
        if let Ok(again) = document.encode(&mut buffer) {
            assert_eq!(Document::decode(again), Ok(document));
        }
    }
    if let Ok(topic) = core::str::from_utf8(bytes)
        && let Some(attempt) = PairingTopics::attempt(topic)
    {
        assert_eq!(PairingTopics::new(attempt).up, topic);
    }
});

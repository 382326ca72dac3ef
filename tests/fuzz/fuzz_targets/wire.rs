//! Every decoder of the link, on either side, and what both do with what they decoded: no bytes make any of them panic,
//! and what decodes encodes to something that decodes to the same.
#![no_main]

use gatepost_link::{
    decision::PublicKey,
    document::{Document, MAX_DOCUMENT},
    envelope::{self, MAX_FRAME},
    frame,
    pairing::{self, Candidate, FromDevice, FromHub, Host},
    seal::{Random, SealSecret},
    session::{self, Ends, Opening, Session},
    topic::PairingTopics,
};
use libfuzzer_sys::fuzz_target;

const HUB: SealSecret = SealSecret([1; 32]);
const DEVICE: SealSecret = SealSecret([2; 32]);
const ENDS: Ends = Ends { hub: PublicKey([3; 32]), device: PublicKey([4; 32]) };

struct Dice(u8);

impl Random for Dice {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0 = self.0.wrapping_add(1);
        bytes.fill(self.0);
    }
}

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
    handshakes(bytes);
});

/// Nobody without the keys opens a session, answers for one, or puts anything into it.
fn handshakes(bytes: &[u8]) {
    let mut dice = Dice(0);
    assert!(session::answer(&ENDS, &HUB, &DEVICE.public(), bytes, &mut dice).is_err());
    let mut opening = Opening::start(&ENDS, &DEVICE, &HUB.public(), &mut dice);
    assert!(opening.finish(bytes).is_err());
    let (mut hub, answer) = session::answer(&ENDS, &HUB, &DEVICE.public(), opening.message(), &mut dice)
        .expect("the device's own message");
    let mut device = opening.finish(&answer).expect("the hub's own answer");
    for session in [&mut hub, &mut device] {
        refuse(session, bytes);
    }

    let mut candidate = Candidate::start(ENDS.device, &DEVICE, &mut dice);
    assert!(candidate.second(bytes).is_err());
    let mut host = Host::answer(ENDS.hub, &HUB, candidate.first(), &mut dice).expect("the device's own message");
    assert!(host.third(bytes).is_err());
    let (third, _) = candidate.second(host.second()).expect("the hub's own answer");
    assert!(host.third(&third).is_ok(), "what came before did no harm");
}

fn refuse(session: &mut Session, bytes: &[u8]) {
    let (number, sealed) = bytes.split_at(bytes.len().min(8));
    let number = number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    assert!(session.open(number, sealed, &mut [0; MAX_FRAME]).is_err());
}

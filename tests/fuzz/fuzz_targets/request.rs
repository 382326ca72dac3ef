//! Handshakes and sessions of the link: nobody without the keys opens a session, answers for one or puts anything into it, and
//! what they tried does no harm. What an input is tried on is prepared once, for the keys of a handshake take longer than all
//! the rest; the decoders have a target of their own.
#![no_main]

use std::{cell::RefCell, sync::LazyLock};

use gatepost_fuzz::Dice;
use gatepost_link::{
    decision::PublicKey,
    envelope::MAX_FRAME,
    pairing::{Candidate, Host},
    seal::{SealKey, SealSecret},
    session::{self, Ends, Opening, Session},
};
use libfuzzer_sys::fuzz_target;

const HUB: SealSecret = SealSecret([1; 32]);
const DEVICE: SealSecret = SealSecret([2; 32]);
const ENDS: Ends = Ends::new(PublicKey([3; 32]), PublicKey([4; 32]));

/// Handshakes that wait for an answer, a session, and the first text of each of its sides.
struct Prepared {
    opening: Opening,
    candidate: Candidate,
    host: Host,
    hub: Session,
    device: Session,
    from_hub: (u64, Vec<u8>),
    from_device: (u64, Vec<u8>),
}

thread_local! {
    static PREPARED: RefCell<Prepared> = RefCell::new(Prepared::new(&mut Dice(0)));
}

impl Prepared {
    fn new(dice: &mut Dice) -> Self {
        let (mut hub, mut device) = session(&mut Opening::start(&ENDS, &DEVICE, &hub_key(), dice), dice);
        let seal = |session: &mut Session, text: &[u8]| {
            let mut buffer = [0; MAX_FRAME];
            let (number, sealed) = session.seal(text, &mut buffer).expect("it fits");
            (number, sealed.to_vec())
        };
        let (from_hub, from_device) =
            (seal(&mut hub, b"from the hub"), seal(&mut device, b"from the device"));
        let candidate = Candidate::start(ENDS.device, &DEVICE, dice);
        let host = Host::answer(ENDS.hub, &HUB, candidate.first(), dice).expect("the device's own message");
        let opening = Opening::start(&ENDS, &DEVICE, &hub_key(), dice);
        Self { opening, candidate, host, hub, device, from_hub, from_device }
    }

    /// Nothing that was not sealed opens; what was sealed still does.
    fn sessions(&mut self, bytes: &[u8]) {
        let ends = [(&mut self.hub, &self.from_device), (&mut self.device, &self.from_hub)];
        for (session, (number, sealed)) in ends {
            let (claimed, forged) = bytes.split_at(bytes.len().min(8));
            let claimed = claimed.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let mut buffer = [0; MAX_FRAME];
            assert!(session.open(claimed, forged, &mut buffer).is_err());
            let altered = altered(sealed, bytes);
            if altered != *sealed {
                assert!(session.open(*number, &altered, &mut buffer).is_err());
            }
            assert!(session.open(*number, sealed, &mut buffer).is_ok(), "what came before did no harm");
        }
    }
}

fn hub_key() -> SealKey {
    static KEY: LazyLock<SealKey> = LazyLock::new(|| HUB.public());
    *KEY
}

fn device_key() -> SealKey {
    static KEY: LazyLock<SealKey> = LazyLock::new(|| DEVICE.public());
    *KEY
}

/// Both ends of a session.
fn session(opening: &mut Opening, dice: &mut Dice) -> (Session, Session) {
    let (hub, answer) = session::answer(&ENDS, &HUB, &device_key(), opening.message(), dice)
        .expect("the device's own message");
    (hub, opening.finish(&answer).expect("the hub's own answer"))
}

/// A message with these bytes laid over it, which gets past more checks than any other.
fn altered(message: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut altered = message.to_vec();
    altered.iter_mut().zip(bytes).for_each(|(to, byte)| *to ^= byte);
    altered
}

fuzz_target!(|bytes: &[u8]| {
    PREPARED.with_borrow_mut(|prepared| prepared.sessions(bytes));
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut dice = Dice(100);
    match kind {
        0 => assert!(session::answer(&ENDS, &HUB, &device_key(), bytes, &mut dice).is_err()),
        1 => PREPARED.with_borrow_mut(|prepared| assert!(prepared.opening.finish(bytes).is_err())),
        2 => PREPARED.with_borrow_mut(|prepared| assert!(prepared.candidate.second(bytes).is_err())),
        3 => PREPARED.with_borrow_mut(|prepared| assert!(prepared.host.third(bytes).is_err())),
        4 => afterwards(bytes, &mut dice),
        _ => {}
    }
});

/// After messages that were refused the true ones are taken.
fn afterwards(bytes: &[u8], dice: &mut Dice) {
    let mut opening = Opening::start(&ENDS, &DEVICE, &hub_key(), dice);
    assert!(opening.finish(bytes).is_err());
    session(&mut opening, dice);

    let mut candidate = Candidate::start(ENDS.device, &DEVICE, dice);
    assert!(candidate.second(bytes).is_err());
    let mut host = Host::answer(ENDS.hub, &HUB, candidate.first(), dice).expect("the device's own message");
    assert!(host.third(bytes).is_err());
    let changed = altered(host.second(), bytes);
    if changed != *host.second() {
        assert!(candidate.second(&changed).is_err());
    }
    let (third, _) = candidate.second(host.second()).expect("the hub's own answer");
    assert!(host.third(&third).is_ok(), "what came before did no harm");
}

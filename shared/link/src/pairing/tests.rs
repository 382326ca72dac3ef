//! Pairing, and somebody who stands between.

use proptest::prelude::*;

use super::*;
use crate::{envelope, session::Arrived, testing::Seeded};

/// Somebody with keys.
struct Somebody {
    sign: PublicKey,
    seal: SealSecret,
    random: Seeded,
}

impl Somebody {
    fn new(seed: u64) -> Self {
        let mut random = Seeded(seed);
        Self { sign: PublicKey(seal::draw(&mut random)), seal: SealSecret(seal::draw(&mut random)), random }
    }

    fn as_device(&mut self) -> Candidate {
        Candidate::start(self.sign, &self.seal, &mut self.random)
    }

    fn as_hub(&mut self, first: &[u8]) -> Host {
        Host::answer(self.sign, &self.seal, first, &mut self.random).unwrap()
    }
}

fn text<'b>(arrived: Result<Arrived<'b>, SealError>) -> &'b [u8] {
    match arrived {
        Ok(Arrived::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_sides_come_to_the_same_code_each_others_keys_and_a_session() {
    let (mut device, mut hub) = (Somebody::new(1), Somebody::new(2));
    let mut candidate = device.as_device();
    let mut host = hub.as_hub(candidate.first());
    let (third, at_device) = candidate.second(host.second()).unwrap();
    let at_hub = host.third(&third).unwrap();
    assert_eq!(at_device.code, at_hub.code);
    assert_eq!((at_device.sign, at_device.seal), (hub.sign, hub.seal.public()));
    assert_eq!((at_hub.sign, at_hub.seal), (device.sign, device.seal.public()));
    let (mut ours, mut theirs) = (at_hub.session, at_device.session);
    let mut buffers = ([0; 64], [0; 64]);
    let (number, sealed) = ours.seal(b"a login", &mut buffers.0).unwrap();
    assert_eq!(text(theirs.open(number, sealed, &mut buffers.1)), b"a login");
    let (number, sealed) = theirs.seal(b"kept", &mut buffers.0).unwrap();
    assert_eq!(text(ours.open(number, sealed, &mut buffers.1)), b"kept");
}

#[test]
fn a_code_has_six_digits_and_its_leading_zeros() {
    assert_eq!(std::format!("{}", Code(417)), "000417");
    let party = |byte| Party { sign: PublicKey([byte; 32]), seal: SealKey([byte; 32]), nonce: [byte; 32] };
    let codes: std::vec::Vec<u32> =
        (0..200).map(|byte| code(&[byte; 32], &party(1), &party(2)).number()).collect();
    assert!(codes.iter().all(|code| *code < 1_000_000));
    assert!(codes.iter().any(|code| *code < 100_000) && codes.iter().any(|code| *code > 900_000));
}

#[test]
fn every_key_and_nonce_is_in_the_code() {
    let party = |sign, seal, nonce| Party {
        sign: PublicKey([sign; 32]),
        seal: SealKey([seal; 32]),
        nonce: [nonce; 32],
    };
    let (hub, device) = (party(1, 2, 3), party(4, 5, 6));
    let usual = code(&[0; 32], &hub, &device);
    assert_ne!(code(&[1; 32], &hub, &device), usual);
    for other in [party(9, 2, 3), party(1, 9, 3), party(1, 2, 9)] {
        assert_ne!(code(&[0; 32], &other, &device), usual);
    }
    for other in [party(9, 5, 6), party(4, 9, 6), party(4, 5, 9)] {
        assert_ne!(code(&[0; 32], &hub, &other), usual);
    }
}

/// Somebody between device and hub: a hub for the one, a device for the other. Returns the code that the device shows, the
/// device that they are for the hub, and the hub that answered it.
fn between(seed: u64) -> (Code, Somebody, Candidate, Host) {
    let (mut device, mut hub) = (Somebody::new(seed), Somebody::new(seed + 1));
    let (mut false_hub, false_device) = (Somebody::new(seed + 2), Somebody::new(seed + 3));
    let mut candidate = device.as_device();
    let answered = false_hub.as_hub(candidate.first());
    let (_, at_device) = candidate.second(answered.second()).unwrap();
    let candidate = Candidate::start(false_device.sign, &false_device.seal, &mut Seeded(seed + 4));
    let host = hub.as_hub(candidate.first());
    (at_device.code, false_device, candidate, host)
}

/// What a grinder wants to be the same; all six digits would take it a million tries and the test too long.
fn digits(code: Code) -> u32 {
    code.number() % 50
}

/// Tries nonces until the hub's number will be the device's, and says so to the hub. All else is as it was committed to.
fn grind(device: Code, somebody: &Somebody, seed: u64, host: &Host) -> [u8; THIRD] {
    for nonce in 0..u64::MAX {
        // The same handshake every time, up to the third message.
        let mut candidate = Candidate::start(somebody.sign, &somebody.seal, &mut Seeded(seed + 4));
        candidate.own.nonce = Digest::of(&nonce.to_be_bytes()).0;
        let (third, agreed) = candidate.second(host.second()).unwrap();
        if digits(agreed.code) == digits(device) {
            return third;
        }
    }
    unreachable!("one in fifty fits");
}

#[test]
fn keys_ground_for_a_matching_code_would_do_without_the_commitment_and_do_not_with_it() {
    let seed = 70;
    let (shown, somebody, _, host) = between(seed);
    let third = grind(shown, &somebody, seed, &host);
    let (noise, told) = host.told(&third).unwrap();
    let without = host.agree(noise, &told).unwrap();
    assert_eq!(digits(without.code), digits(shown), "both would show the same");

    let (shown, somebody, _, mut host) = between(seed);
    let third = grind(shown, &somebody, seed, &host);
    assert_eq!(host.third(&third).unwrap_err(), PairingError::Commitment);
}

#[test]
fn who_keeps_to_the_commitment_has_one_guess() {
    let tries = 200;
    let same = (0..tries).filter(|round| {
        let (shown, _, mut candidate, mut host) = between(1_000 + 10 * round);
        let (third, _) = candidate.second(host.second()).unwrap();
        digits(host.third(&third).unwrap().code) == digits(shown)
    });
    let same = same.count();
    assert!((1..=12).contains(&same), "{same} of {tries}, where 4 are to be expected");
}

#[test]
fn other_keys_than_committed_to_are_refused() {
    let change: [fn(&mut Party); 2] = [|own| own.sign.0[0] ^= 1, |own| own.nonce[31] ^= 1];
    for change in change {
        let (mut device, mut hub) = (Somebody::new(1), Somebody::new(2));
        let mut candidate = device.as_device();
        let mut host = hub.as_hub(candidate.first());
        change(&mut candidate.own);
        let (third, _) = candidate.second(host.second()).unwrap();
        assert_eq!(host.third(&third).unwrap_err(), PairingError::Commitment);
    }
}

#[test]
fn damaged_messages_change_nothing() {
    let (mut device, mut hub) = (Somebody::new(1), Somebody::new(2));
    let mut candidate = device.as_device();
    let mut host = hub.as_hub(candidate.first());
    let second = *host.second();
    for at in 0..SECOND {
        let mut damaged = second;
        damaged[at] ^= 1;
        assert!(candidate.second(&damaged).is_err(), "byte {at}");
    }
    assert_eq!(candidate.second(&second[..SECOND - 1]).unwrap_err(), SealError::Length.into());
    let (third, at_device) = candidate.second(&second).unwrap();
    assert_eq!(candidate.second(&second).unwrap_err(), SealError::UsedUp.into());
    for at in 0..THIRD {
        let mut damaged = third;
        damaged[at] ^= 1;
        assert!(host.third(&damaged).is_err(), "byte {at}");
    }
    let longer = [&third[..], &[0]].concat();
    assert_eq!(host.third(&longer).unwrap_err(), SealError::Length.into());
    assert_eq!(host.third(&third).unwrap().code, at_device.code);
    assert_eq!(host.third(&third).unwrap_err(), SealError::UsedUp.into());
}

#[test]
fn a_changed_first_message_leads_to_other_codes() {
    let (mut device, mut hub) = (Somebody::new(1), Somebody::new(2));
    let mut candidate = device.as_device();
    let mut first = *candidate.first();
    first[63] ^= 1;
    let host = hub.as_hub(&first);
    assert_eq!(candidate.second(host.second()).unwrap_err(), SealError::Forged.into());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_either_side_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (mut device, mut hub) = (Somebody::new(1), Somebody::new(2));
        let mut candidate = device.as_device();
        prop_assert!(candidate.second(&bytes).is_err());
        if bytes.len() != FIRST {
            prop_assert!(Host::answer(hub.sign, &hub.seal, &bytes, &mut hub.random).is_err());
        }
        prop_assert!(hub.as_hub(candidate.first()).third(&bytes).is_err());
        let _ = envelope::decode::<Up<'_>>(&bytes, 0);
        let _ = envelope::decode::<Down<'_>>(&bytes, 0);
        let _ = envelope::whole::<FromHub>(&bytes);
        let _ = envelope::whole::<FromDevice>(&bytes);
    }
}

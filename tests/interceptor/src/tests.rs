//! The handshake that is written here is the one that hubs speak.

use gatepost_link::{
    pairing::{Host, PairingError},
    session::Arrived,
};

use super::*;

/// Somebody at a hub, whose answer he has.
fn at_a_hub() -> (Host, Answered, PublicKey) {
    let (device, (sign, seal)) = (keys(), keys());
    let forger = Forger::start(device.clone());
    let host = Host::answer(sign, &seal, forger.first(), &mut System).unwrap();
    let answered = forger.second(host.second()).expect("it is an answer to him");
    (host, answered, device.0)
}

#[test]
fn who_says_what_he_committed_himself_to_is_a_device_like_any_other() {
    let (mut host, answered, device) = at_a_hub();
    let third = answered.third();
    let mut agreed = host.third(&third.message).unwrap();
    assert_eq!((agreed.code.number(), agreed.sign), (third.code, device));
    let mut plain = [0; 64];
    for (number, text) in [(0, &b"about"[..]), (1, b"kept")] {
        let arrived = agreed.session.open(number, &third.sealed(number, text), &mut plain);
        assert!(matches!(arrived, Ok(Arrived::Text(found)) if found == text), "{number}");
    }
}

#[test]
fn who_looks_finds_digits_and_the_hub_refuses_what_he_found() {
    for ground in [Ground::Nonce, Ground::Key] {
        let (mut host, answered, _) = at_a_hub();
        let wanted = (answered.third().code + 500_001) % 1_000_000;
        let (third, tries) = answered.grind(ground, wanted, |tries| tries < 2_000);
        assert!(tries == 2_000 || third.code == wanted, "{tries}");
        // One in ten has the last digit: none of 2,000 has it in no lifetime.
        assert!(fitting(third.code, wanted) >= 1, "{} for {wanted}", third.code);
        assert_eq!(host.third(&third.message).unwrap_err(), PairingError::Commitment);
    }
}

#[test]
fn digits_fit_from_the_last_one_on() {
    for (one, other, digits) in
        [(123_456, 123_456, 6), (23_456, 123_456, 5), (123_456, 123_457, 0), (7, 1_007, 3), (0, 0, 6)]
    {
        assert_eq!(fitting(one, other), digits, "{one} {other}");
    }
}

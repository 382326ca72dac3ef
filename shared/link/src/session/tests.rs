//! Sessions, and a carrier that doubles, loses, changes and repeats.

use proptest::prelude::*;
use std::{vec, vec::Vec};

use super::*;
use crate::{seal::draw, testing::Seeded};

struct Pair {
    ends: Ends,
    hub: SealSecret,
    device: SealSecret,
    random: Seeded,
}

impl Pair {
    fn new() -> Self {
        let mut random = Seeded(1);
        let ends = Ends::new(PublicKey([1; 32]), PublicKey([2; 32]));
        Self { ends, hub: SealSecret(draw(&mut random)), device: SealSecret(draw(&mut random)), random }
    }

    fn opening(&mut self) -> Opening {
        Opening::start(&self.ends, &self.device, &self.hub.public(), &mut self.random)
    }

    fn answer(&mut self, message: &[u8]) -> Result<(Session, [u8; MESSAGE]), SealError> {
        answer(&self.ends, &self.hub, &self.device.public(), message, &mut self.random)
    }

    /// A session: the hub's side and the device's.
    fn session(&mut self) -> (Session, Session) {
        let mut opening = self.opening();
        let (hub, answer) = self.answer(opening.message()).unwrap();
        (hub, opening.finish(&answer).unwrap())
    }
}

fn seal(session: &mut Session, text: &[u8]) -> (u64, Vec<u8>) {
    let mut buffer = vec![0; text.len() + TAG];
    let (number, sealed) = session.seal(text, &mut buffer).unwrap();
    (number, sealed.to_vec())
}

/// The text; `None` if it came before.
fn open(session: &mut Session, number: u64, sealed: &[u8]) -> Result<Option<Vec<u8>>, SealError> {
    let mut buffer = [0; MAX_PLAIN];
    Ok(match session.open(number, sealed, &mut buffer)? {
        Arrived::Text(text) => Some(text.to_vec()),
        Arrived::Again => None,
    })
}

#[test]
fn both_sides_have_the_same_session_and_what_one_seals_the_other_opens() {
    let (mut hub, mut device) = Pair::new().session();
    assert_eq!(hub.hash(), device.hash());
    for text in [&b"first"[..], b"", &[7; MAX_PLAIN]] {
        let (number, sealed) = seal(&mut hub, text);
        assert!(!text.is_empty() || sealed.len() == TAG);
        assert_eq!(open(&mut device, number, &sealed), Ok(Some(text.to_vec())));
        let (number, sealed) = seal(&mut device, text);
        assert_eq!(open(&mut hub, number, &sealed), Ok(Some(text.to_vec())));
    }
}

#[test]
fn every_session_is_another_one() {
    let mut pair = Pair::new();
    let (one, other) = (pair.session(), pair.session());
    assert_ne!(one.0.hash(), other.0.hash());
}

#[test]
fn sealed_texts_show_nothing_of_themselves() {
    let mut pair = Pair::new();
    let (_, sealed) = seal(&mut pair.session().0, &[0; 64]);
    let (_, other) = seal(&mut pair.session().0, &[0; 64]);
    assert!(sealed != other && !sealed.windows(4).any(|four| four == [0; 4]));
}

#[test]
fn what_is_delivered_twice_is_dropped_without_a_word() {
    let (mut hub, mut device) = Pair::new().session();
    let (one, two) = (seal(&mut device, b"one"), seal(&mut device, b"two"));
    assert_eq!(open(&mut hub, one.0, &one.1), Ok(Some(b"one".to_vec())));
    assert_eq!(open(&mut hub, one.0, &one.1), Ok(None));
    assert_eq!(open(&mut hub, two.0, &two.1), Ok(Some(b"two".to_vec())));
    assert_eq!((open(&mut hub, one.0, &one.1), open(&mut hub, two.0, &two.1)), (Ok(None), Ok(None)));
    let forged = [&one.1[..1], &two.1[1..]].concat();
    assert_eq!(
        open(&mut hub, one.0, &forged),
        Err(SealError::Forged),
        "a number that was seen excuses nothing"
    );
}

#[test]
fn a_gap_ends_the_session_and_so_does_another_order() {
    let (mut hub, mut device) = Pair::new().session();
    let _lost = seal(&mut device, b"one");
    let two = seal(&mut device, b"two");
    assert_eq!(open(&mut hub, two.0, &two.1), Err(SealError::Gap));
}

#[test]
fn a_forged_number_is_no_gap() {
    let (mut hub, mut device) = Pair::new().session();
    let one = seal(&mut device, b"one");
    for number in [1, 2, u64::MAX - 1, u64::MAX] {
        assert_eq!(open(&mut hub, number, &one.1), Err(SealError::Forged), "{number}");
    }
    assert_eq!(open(&mut hub, one.0, &one.1), Ok(Some(b"one".to_vec())), "the session goes on");
}

#[test]
fn what_was_changed_cut_or_lengthened_on_its_way_does_not_open() {
    let (mut hub, mut device) = Pair::new().session();
    let (number, sealed) = seal(&mut device, b"approve");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 0x80;
        assert_eq!(open(&mut hub, number, &changed), Err(SealError::Forged), "byte {at}");
    }
    for length in 0..sealed.len() {
        let cut = open(&mut hub, number, &sealed[..length]);
        let expected = if length < TAG { SealError::Length } else { SealError::Forged };
        assert_eq!(cut, Err(expected), "{length} bytes");
    }
    let longer = [&sealed[..], &[0]].concat();
    assert_eq!(open(&mut hub, number, &longer), Err(SealError::Forged));
    assert_eq!(open(&mut hub, number, &sealed), Ok(Some(b"approve".to_vec())), "nothing of it did harm");
}

#[test]
fn what_was_sealed_in_one_session_opens_in_no_other_nor_for_its_own_side() {
    let mut pair = Pair::new();
    let (_, mut device) = pair.session();
    let (mut hub, mut later) = pair.session();
    let (number, sealed) = seal(&mut device, b"approve");
    assert_eq!(open(&mut hub, number, &sealed), Err(SealError::Forged));
    assert_eq!(open(&mut later, number, &sealed), Err(SealError::Forged));
    let (number, sealed) = seal(&mut later, b"approve");
    assert_eq!(open(&mut later, number, &sealed), Err(SealError::Forged), "turned round");
}

#[test]
fn nobody_else_can_open_a_session_or_answer_for_the_hub() {
    let mut pair = Pair::new();
    let (mut opening, mut stranger) = (pair.opening(), Pair::new());
    stranger.random = Seeded(99);
    stranger.device = SealSecret([9; 32]);
    let strange = stranger.opening();
    assert_eq!(pair.answer(strange.message()).unwrap_err(), SealError::Forged);
    stranger.device = pair.device.clone();
    stranger.hub = SealSecret([9; 32]);
    assert_eq!(stranger.answer(opening.message()).unwrap_err(), SealError::Forged);

    let (_, for_another) = {
        let another = pair.opening();
        pair.answer(another.message()).unwrap()
    };
    assert_eq!(opening.finish(&for_another).unwrap_err(), SealError::Forged);
    let (hub, answer) = pair.answer(opening.message()).unwrap();
    assert_eq!(opening.finish(&answer).unwrap().hash(), hub.hash(), "wrong answers changed nothing");
    assert_eq!(opening.finish(&answer).unwrap_err(), SealError::UsedUp);
}

#[test]
fn other_signing_keys_make_no_session() {
    let mut pair = Pair::new();
    let opening = pair.opening();
    for ends in
        [Ends { hub: PublicKey([9; 32]), ..pair.ends }, Ends { device: PublicKey([9; 32]), ..pair.ends }]
    {
        let answered = answer(&ends, &pair.hub, &pair.device.public(), opening.message(), &mut pair.random);
        assert_eq!(answered.unwrap_err(), SealError::Forged);
    }
}

#[test]
fn a_replayed_beginning_makes_a_session_in_which_nothing_can_be_said() {
    let mut pair = Pair::new();
    let opening = pair.opening();
    let (first, mut again) = {
        let mut opening = opening;
        let message = *opening.message();
        let (_, answer) = pair.answer(&message).unwrap();
        (opening.finish(&answer).unwrap(), pair.answer(&message).unwrap().0)
    };
    let mut first = first;
    let (number, sealed) = seal(&mut first, b"ready");
    assert_eq!(open(&mut again, number, &sealed), Err(SealError::Forged));
}

#[test]
fn what_does_not_fit_is_not_sealed_and_uses_no_number() {
    let (mut hub, _) = Pair::new().session();
    assert_eq!(hub.seal(&[0; MAX_PLAIN + 1], &mut [0; 5_000]), Err(SealError::Length));
    assert_eq!(hub.seal(b"text", &mut [0; TAG + 3]), Err(SealError::Length));
    assert_eq!(seal(&mut hub, b"text").0, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_either_side_panic(
        number in any::<u64>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut pair = Pair::new();
        prop_assert!(pair.opening().finish(&bytes).is_err());
        prop_assert!(pair.answer(&bytes).is_err());
        let (mut hub, mut device) = pair.session();
        prop_assert!(open(&mut hub, number, &bytes).is_err());
        prop_assert!(open(&mut device, number, &bytes).is_err());
        let one = seal(&mut device, b"one");
        prop_assert_eq!(open(&mut hub, one.0, &one.1), Ok(Some(b"one".to_vec())));
    }
}

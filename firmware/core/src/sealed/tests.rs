//! The device's sessions against the hub's side of the handshake.

use std::vec::Vec;

use gatepost_link::{
    decision::PublicKey,
    envelope::{MAX_FRAME, OLDEST, VERSION},
    session,
};

use super::*;
use crate::testing::Dice;

struct Table {
    sealed: Sealed,
    hub: SealSecret,
    ends: Ends,
    device: SealKey,
    dice: Dice,
    session: Option<Session>,
}

impl Table {
    fn new() -> Self {
        let (hub, device) = (SealSecret([1; 32]), SealSecret([2; 32]));
        let ends = Ends::new(PublicKey([3; 32]), PublicKey([4; 32]));
        let sealed = Sealed::new(ends, device.clone(), hub.public());
        Self { sealed, hub, ends, device: device.public(), dice: Dice(0), session: None }
    }

    /// One with a session, since the time 0.
    fn open() -> Self {
        let mut table = Self::new();
        table.sealed.connected(Millis(0), &mut table.dice);
        let open = table.sealed.opening(Millis(0)).unwrap();
        let hash = table.answer(Millis(0), &open);
        assert_eq!(table.session.as_ref().unwrap().hash(), hash);
        table
    }

    /// Answers as the hub, and what the session is at the device then.
    fn answer(&mut self, now: Millis, open: &[u8]) -> SessionHash {
        let Ok(Up::Open { noise }) = envelope::decode(open, VERSION) else { panic!("{open:?}") };
        let (session, noise) =
            session::answer(&self.ends, &self.hub, &self.device, noise, &mut self.dice).unwrap();
        self.session = Some(session);
        match self.hear(now, &Down::Opened { noise: &noise }) {
            Told::Begun(hash) => hash,
            other => panic!("{other:?}"),
        }
    }

    fn hear(&mut self, now: Millis, down: &Down<'_>) -> Told {
        let mut buffer = [0; MAX_FRAME];
        let bytes = envelope::encode(down, &mut buffer).unwrap().to_vec();
        self.hear_bytes(now, &bytes)
    }

    fn hear_bytes(&mut self, now: Millis, bytes: &[u8]) -> Told {
        let mut plain = [0; MAX_FRAME];
        match self.sealed.received(now, bytes, VERSION, &mut plain, &mut self.dice) {
            Heard::Ignored => Told::Ignored,
            Heard::Again => Told::Again,
            Heard::Begun(hash) => Told::Begun(hash),
            Heard::Lost => Told::Lost,
            Heard::Frame(bytes) => Told::Frame(bytes.to_vec()),
        }
    }

    /// A sealed payload of the hub's.
    fn seal(&mut self, text: &[u8]) -> Vec<u8> {
        let mut sealed = [0; MAX_FRAME];
        let (number, bytes) = self.session.as_mut().unwrap().seal(text, &mut sealed).unwrap();
        let mut buffer = [0; MAX_FRAME];
        envelope::encode(&Down::Sealed { number, bytes }, &mut buffer).unwrap().to_vec()
    }
}

#[derive(Debug, PartialEq)]
enum Told {
    Ignored,
    Again,
    Begun(SessionHash),
    Lost,
    Frame(Vec<u8>),
}

#[test]
fn a_connection_opens_a_session_and_frames_go_both_ways() {
    let mut table = Table::open();
    let frame = table.seal(b"hello");
    assert_eq!(table.hear_bytes(Millis(1), &frame), Told::Frame(b"hello".to_vec()));
    let ready = table.sealed.seal(&frame::Up::Ready).unwrap();
    let Ok(Up::Sealed { number, bytes }) = envelope::decode(&ready, VERSION) else { panic!() };
    let mut plain = [0; MAX_UP];
    let opened = table.session.as_mut().unwrap().open(number, bytes, &mut plain).unwrap();
    let Arrived::Text(text) = opened else { panic!("{opened:?}") };
    assert_eq!(frame::decode(text), Ok(frame::Up::Ready));
}

#[test]
fn a_beginning_without_an_answer_is_said_again_in_the_same_words() {
    let mut table = Table::new();
    table.sealed.connected(Millis(0), &mut table.dice);
    let first = table.sealed.opening(Millis(0)).unwrap();
    assert_eq!(table.sealed.opening(Millis(OPEN_AGAIN - 1)), None);
    assert_eq!(table.sealed.next_tick(), Some(Millis(OPEN_AGAIN)));
    assert_eq!(table.sealed.opening(Millis(OPEN_AGAIN)), Some(first.clone()));
    let mut said = std::vec![];
    for now in OPEN_AGAIN + 1..30_000 {
        if let Some(again) = table.sealed.opening(Millis(now)) {
            assert_eq!(again, first);
            said.push(now);
        }
    }
    assert_eq!(said, [900, 2_100, 4_500, 9_300, 14_300, 19_300, 24_300, 29_300], "ever more seldom");
    table.answer(Millis(30_000), &first);
    assert_eq!(table.sealed.opening(Millis(60_000)), None);
}

#[test]
fn what_is_delivered_twice_is_one_frame_and_a_gap_is_another_session() {
    let mut table = Table::open();
    let (one, _lost, three) = (table.seal(b"1"), table.seal(b"2"), table.seal(b"3"));
    assert_eq!(table.hear_bytes(Millis(1), &one), Told::Frame(b"1".to_vec()));
    assert_eq!(table.hear_bytes(Millis(2), &one), Told::Again);
    assert_eq!(table.hear_bytes(Millis(2_000), &three), Told::Lost);
    assert_eq!(table.sealed.seal(&frame::Up::Ready), None, "nothing is said in a session that is over");
    let open = table.sealed.opening(Millis(2_000)).unwrap();
    table.answer(Millis(2_001), &open);
    assert_eq!(
        table.hear_bytes(Millis(2_002), &three),
        Told::Ignored,
        "what was sealed before is worth nothing"
    );
}

#[test]
fn whoever_greets_causes_one_handshake_a_second() {
    let mut table = Table::open();
    let mut said = 0;
    for now in 0..10_000 {
        table.hear(Millis(now), &Down::Greet);
        if let Some(open) = table.sealed.opening(Millis(now)) {
            said += 1;
            table.answer(Millis(now), &open);
        }
    }
    assert_eq!(said, 9, "after the one at the start");
}

#[test]
fn a_greeting_while_a_session_is_being_opened_begins_no_other() {
    let mut table = Table::new();
    table.sealed.connected(Millis(0), &mut table.dice);
    let first = table.sealed.opening(Millis(0)).unwrap();
    for now in 1..=100 {
        assert_eq!(table.hear(Millis(now), &Down::Greet), Told::Again);
    }
    assert_eq!(table.sealed.next_tick(), Some(Millis(OPEN_AGAIN)));
    assert_eq!(table.sealed.opening(Millis(OPEN_AGAIN)), Some(first.clone()));
    (1_000..2_000).for_each(|now| assert_eq!(table.hear(Millis(now), &Down::Greet), Told::Again));
    assert_eq!(table.sealed.opening(Millis(2_000)), Some(first), "the same again");
}

#[test]
fn forged_payloads_change_nothing() {
    let mut table = Table::open();
    let genuine = table.seal(b"1");
    for at in 3..genuine.len() {
        let mut forged = genuine.clone();
        forged[at] ^= 1;
        let told = table.hear_bytes(Millis(1), &forged);
        assert_eq!(told, Told::Ignored, "byte {at}");
    }
    for version in [0, OLDEST, VERSION + 1, 255] {
        let mut other = genuine.clone();
        other[0] = version;
        assert_eq!(table.hear_bytes(Millis(1), &other), Told::Ignored);
    }
    assert_eq!(table.hear(Millis(1), &Down::Opened { noise: &[7; 48] }), Told::Ignored);
    assert_eq!(table.hear_bytes(Millis(1), &genuine), Told::Frame(b"1".to_vec()));
}

#[test]
fn a_hub_below_the_highest_version_seen_is_not_heard() {
    let mut table = Table::open();
    let genuine = table.seal(b"1");
    let mut plain = [0; MAX_FRAME];
    let heard = table.sealed.received(Millis(1), &genuine, VERSION + 1, &mut plain, &mut table.dice);
    assert_eq!(heard, Heard::Ignored);
}

#[test]
fn a_hub_that_falls_silent_is_asked_for_another_session() {
    let mut table = Table::open();
    let one = table.seal(b"1");
    table.hear_bytes(Millis(60_000), &one);
    assert!(!table.sealed.tick(Millis(SILENCE), &mut table.dice));
    assert_eq!(table.sealed.next_tick(), Some(Millis(60_000 + SILENCE)));
    assert!(table.sealed.tick(Millis(60_000 + SILENCE), &mut table.dice));
    assert!(table.sealed.opening(Millis(60_000 + SILENCE)).is_some());
}

#[test]
fn without_a_connection_nothing_is_heard_or_said() {
    let mut table = Table::open();
    let frame = table.seal(b"1");
    table.sealed.disconnected();
    assert_eq!(table.hear_bytes(Millis(1), &frame), Told::Ignored);
    assert_eq!((table.sealed.opening(Millis(9_999)), table.sealed.next_tick()), (None, None));
    assert_eq!(table.sealed.seal(&frame::Up::Ready), None);
}

//! The device's session against the hub's side of the handshake.

use std::vec::Vec;

use gatepost_link::{
    decision::PublicKey,
    envelope::{MAX_FRAME, OLDEST, VERSION},
    session,
};

use super::*;
use crate::testing::TestRandom;

/// A device's session and the hub's side of it.
struct Fixture {
    device_session: HubSession,
    hub: SealSecret,
    ends: Ends,
    device: SealKey,
    random: TestRandom,
    hub_session: Option<Session>,
}

impl Fixture {
    fn new() -> Self {
        let (hub, device) = (SealSecret([1; 32]), SealSecret([2; 32]));
        let ends = Ends::new(PublicKey([3; 32]), PublicKey([4; 32]));
        let device_session = HubSession::new(ends, device.clone(), hub.public());
        Self { device_session, hub, ends, device: device.public(), random: TestRandom(0), hub_session: None }
    }

    /// A device with a session since time 0.
    fn open() -> Self {
        let mut fixture = Self::new();
        fixture.device_session.connected(Millis(0), &mut fixture.random);
        let open = fixture.device_session.handshake_message(Millis(0)).unwrap();
        let hash = fixture.answer(Millis(0), &open);
        assert_eq!(fixture.hub_session.as_ref().unwrap().hash(), hash);
        fixture
    }

    /// Answers as the hub; returns the session that the device has then.
    fn answer(&mut self, now: Millis, open: &[u8]) -> SessionHash {
        let Ok(Up::Open { noise }) = envelope::decode(open, VERSION) else { panic!("{open:?}") };
        let (session, noise) =
            session::answer(&self.ends, &self.hub, &self.device, noise, &mut self.random).unwrap();
        self.hub_session = Some(session);
        match self.receive(now, &Down::Opened { noise: &noise }) {
            Outcome::Opened(hash) => hash,
            other => panic!("{other:?}"),
        }
    }

    fn receive(&mut self, now: Millis, down: &Down<'_>) -> Outcome {
        let mut buffer = [0; MAX_FRAME];
        let bytes = envelope::encode(down, &mut buffer).unwrap().to_vec();
        self.receive_bytes(now, &bytes)
    }

    fn receive_bytes(&mut self, now: Millis, bytes: &[u8]) -> Outcome {
        let mut plain = [0; MAX_FRAME];
        match self.device_session.received(now, bytes, VERSION, &mut plain, &mut self.random) {
            Received::Ignored => Outcome::Ignored,
            Received::Duplicate => Outcome::Duplicate,
            Received::Opened(hash) => Outcome::Opened(hash),
            Received::Lost => Outcome::Lost,
            Received::Frame(bytes) => Outcome::Frame(bytes.to_vec()),
        }
    }

    /// A sealed payload of the hub.
    fn seal(&mut self, text: &[u8]) -> Vec<u8> {
        let mut sealed = [0; MAX_FRAME];
        let (number, bytes) = self.hub_session.as_mut().unwrap().seal(text, &mut sealed).unwrap();
        let mut buffer = [0; MAX_FRAME];
        envelope::encode(&Down::Sealed { number, bytes }, &mut buffer).unwrap().to_vec()
    }
}

/// [`Received`], with the frame's own bytes.
#[derive(Debug, PartialEq)]
enum Outcome {
    Ignored,
    Duplicate,
    Opened(SessionHash),
    Lost,
    Frame(Vec<u8>),
}

#[test]
fn a_connection_opens_a_session_and_frames_go_both_ways() {
    let mut fixture = Fixture::open();
    let frame = fixture.seal(b"hello");
    assert_eq!(fixture.receive_bytes(Millis(1), &frame), Outcome::Frame(b"hello".to_vec()));
    let ready = fixture.device_session.seal(&frame::Up::Ready).unwrap();
    let Ok(Up::Sealed { number, bytes }) = envelope::decode(&ready, VERSION) else { panic!() };
    let mut plain = [0; MAX_UP];
    let opened = fixture.hub_session.as_mut().unwrap().open(number, bytes, &mut plain).unwrap();
    let Arrived::Text(text) = opened else { panic!("{opened:?}") };
    assert_eq!(frame::decode(text), Ok(frame::Up::Ready));
}

#[test]
fn a_handshake_without_an_answer_is_sent_again_unchanged() {
    let mut fixture = Fixture::new();
    fixture.device_session.connected(Millis(0), &mut fixture.random);
    let first = fixture.device_session.handshake_message(Millis(0)).unwrap();
    assert_eq!(fixture.device_session.handshake_message(Millis(FIRST_RESEND_MS - 1)), None);
    assert_eq!(fixture.device_session.next_tick(), Some(Millis(FIRST_RESEND_MS)));
    assert_eq!(fixture.device_session.handshake_message(Millis(FIRST_RESEND_MS)), Some(first.clone()));
    let mut sent_at = std::vec![];
    for now in FIRST_RESEND_MS + 1..30_000 {
        if let Some(again) = fixture.device_session.handshake_message(Millis(now)) {
            assert_eq!(again, first);
            sent_at.push(now);
        }
    }
    assert_eq!(sent_at, [900, 2_100, 4_500, 9_300, 14_300, 19_300, 24_300, 29_300], "at growing intervals");
    fixture.answer(Millis(30_000), &first);
    assert_eq!(fixture.device_session.handshake_message(Millis(60_000)), None);
}

#[test]
fn a_payload_delivered_twice_is_one_frame_and_a_gap_starts_a_new_session() {
    let mut fixture = Fixture::open();
    let (one, _lost, three) = (fixture.seal(b"1"), fixture.seal(b"2"), fixture.seal(b"3"));
    assert_eq!(fixture.receive_bytes(Millis(1), &one), Outcome::Frame(b"1".to_vec()));
    assert_eq!(fixture.receive_bytes(Millis(2), &one), Outcome::Duplicate);
    assert_eq!(fixture.receive_bytes(Millis(2_000), &three), Outcome::Lost);
    assert_eq!(
        fixture.device_session.seal(&frame::Up::Ready),
        None,
        "nothing is sent in a session that is over"
    );
    let open = fixture.device_session.handshake_message(Millis(2_000)).unwrap();
    fixture.answer(Millis(2_001), &open);
    assert_eq!(
        fixture.receive_bytes(Millis(2_002), &three),
        Outcome::Ignored,
        "payloads of the old session are void"
    );
}

#[test]
fn greetings_cause_at_most_one_handshake_per_second() {
    let mut fixture = Fixture::open();
    let mut handshakes = 0;
    for now in 0..10_000 {
        fixture.receive(Millis(now), &Down::Greet);
        if let Some(open) = fixture.device_session.handshake_message(Millis(now)) {
            handshakes += 1;
            fixture.answer(Millis(now), &open);
        }
    }
    assert_eq!(handshakes, 9, "after the one at the start");
}

#[test]
fn a_greeting_during_a_handshake_starts_no_other() {
    let mut fixture = Fixture::new();
    fixture.device_session.connected(Millis(0), &mut fixture.random);
    let first = fixture.device_session.handshake_message(Millis(0)).unwrap();
    for now in 1..=100 {
        assert_eq!(fixture.receive(Millis(now), &Down::Greet), Outcome::Duplicate);
    }
    assert_eq!(fixture.device_session.next_tick(), Some(Millis(FIRST_RESEND_MS)));
    assert_eq!(fixture.device_session.handshake_message(Millis(FIRST_RESEND_MS)), Some(first.clone()));
    (1_000..2_000).for_each(|now| assert_eq!(fixture.receive(Millis(now), &Down::Greet), Outcome::Duplicate));
    assert_eq!(fixture.device_session.handshake_message(Millis(2_000)), Some(first), "the same message");
}

#[test]
fn forged_payloads_change_nothing() {
    let mut fixture = Fixture::open();
    let genuine = fixture.seal(b"1");
    for at in 3..genuine.len() {
        let mut forged = genuine.clone();
        forged[at] ^= 1;
        let outcome = fixture.receive_bytes(Millis(1), &forged);
        assert_eq!(outcome, Outcome::Ignored, "byte {at}");
    }
    for version in [0, OLDEST, VERSION + 1, 255] {
        let mut other = genuine.clone();
        other[0] = version;
        assert_eq!(fixture.receive_bytes(Millis(1), &other), Outcome::Ignored);
    }
    assert_eq!(fixture.receive(Millis(1), &Down::Opened { noise: &[7; 48] }), Outcome::Ignored);
    assert_eq!(fixture.receive_bytes(Millis(1), &genuine), Outcome::Frame(b"1".to_vec()));
}

#[test]
fn a_hub_below_the_highest_version_seen_is_ignored() {
    let mut fixture = Fixture::open();
    let genuine = fixture.seal(b"1");
    let mut plain = [0; MAX_FRAME];
    let received =
        fixture.device_session.received(Millis(1), &genuine, VERSION + 1, &mut plain, &mut fixture.random);
    assert_eq!(received, Received::Ignored);
}

#[test]
fn a_silent_hub_is_asked_for_another_session() {
    let mut fixture = Fixture::open();
    let one = fixture.seal(b"1");
    fixture.receive_bytes(Millis(60_000), &one);
    assert!(!fixture.device_session.tick(Millis(MAX_SILENCE_MS), &mut fixture.random));
    assert_eq!(fixture.device_session.next_tick(), Some(Millis(60_000 + MAX_SILENCE_MS)));
    assert!(fixture.device_session.tick(Millis(60_000 + MAX_SILENCE_MS), &mut fixture.random));
    assert!(fixture.device_session.handshake_message(Millis(60_000 + MAX_SILENCE_MS)).is_some());
}

#[test]
fn without_a_connection_nothing_is_received_or_sent() {
    let mut fixture = Fixture::open();
    let frame = fixture.seal(b"1");
    fixture.device_session.disconnected();
    assert_eq!(fixture.receive_bytes(Millis(1), &frame), Outcome::Ignored);
    assert_eq!(
        (fixture.device_session.handshake_message(Millis(9_999)), fixture.device_session.next_tick()),
        (None, None)
    );
    assert_eq!(fixture.device_session.seal(&frame::Up::Ready), None);
}

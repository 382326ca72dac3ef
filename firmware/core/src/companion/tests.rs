//! A companion and its hub: paired, in session, revoked.

use std::{format, string::String, vec, vec::Vec};

use gatepost_link::{
    envelope,
    frame::Up,
    pairing::{CONFIRM, FromDevice, FromHub},
    seal::SealKey,
};
use proptest::prelude::*;

use super::*;
use crate::{
    Button::{Approve, Deny},
    Edge::{Pressed, Released},
    View,
    link::pairing::{DONE_TIMEOUT_MS, FAILURE_SHOWN_MS},
    testing::{
        HUB, Memory, TestRandom, document,
        hub::{MockHub, Sent},
        offered,
    },
};

/// A device, its hub, and the time.
struct Fixture {
    device: Companion<Memory, TestRandom>,
    hub: MockHub,
    now: u64,
    /// Whether the display accepts what is drawn.
    display: Result<(), NotShown>,
}

impl Fixture {
    fn new() -> Self {
        Self::with_memory(Memory::default())
    }

    fn with_memory(memory: Memory) -> Self {
        let device = Companion::new(memory, TestRandom(7), Geometry::SMALL, Settings::default())
            .expect("working storage");
        let mut fixture = Self { device, hub: MockHub::new(), now: 1_000, display: Ok(()) };
        fixture.connect();
        fixture
    }

    /// A device that shows the number.
    fn confirming() -> Self {
        let mut fixture = Self::new();
        assert_eq!(fixture.exchange_pairing(), [Sent::First]);
        assert_eq!(fixture.exchange_pairing(), ABOUT);
        fixture
    }

    /// A device that is paired and has a session.
    fn paired() -> Self {
        let mut fixture = Self::new();
        fixture.pair();
        fixture
    }

    /// Pairs the device, and opens a session.
    fn pair(&mut self) {
        assert_eq!((self.exchange_pairing(), self.exchange_pairing()), (vec![Sent::First], ABOUT.to_vec()));
        self.hold();
        let confirmation = self.hub.confirm();
        self.receive(&confirmation);
        assert_eq!(self.exchange_pairing(), [Sent::Paired(FromDevice::Kept)]);
        let done = self.hub.seal_pairing(&FromHub::Done);
        self.receive(&done);
        self.connect();
        self.exchange();
        assert_eq!(self.view(), View::Idle);
    }

    /// Offers a card and denies it; returns whether a decision was sent.
    fn decides(&mut self) -> bool {
        let (offer, bytes) = offered(&document());
        for frame in [Down::Offer(offer), Down::Piece { request: offer.request, piece: 0, bytes: &bytes }] {
            let payload = self.hub.seal(&frame);
            self.receive(&payload);
            self.exchange();
        }
        self.wait(400);
        self.edge(Deny, Pressed);
        self.edge(Deny, Released);
        self.exchange().iter().any(|sent| matches!(sent, Sent::Frame(Up::Decision(_))))
    }

    fn millis(&self) -> Millis {
        Millis(self.now)
    }

    fn connect(&mut self) {
        self.device.connected(self.millis());
        self.device.tick(self.millis());
    }

    fn receive(&mut self, bytes: &[u8]) {
        let down = self.device.access().unwrap().down.clone();
        self.device.received(self.millis(), &down, bytes);
        self.draw();
    }

    /// Draws as a board does after every event.
    fn draw(&mut self) {
        let screen = self.device.screen(self.millis());
        self.device.drawn(self.millis(), &screen, self.display);
    }

    fn wait(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds.div_ceil(50) {
            self.now += 50;
            self.device.tick(self.millis());
            self.draw();
        }
    }

    fn edge(&mut self, button: Button, edge: Edge) {
        self.device.button(self.millis(), button, edge);
        self.draw();
    }

    fn hold(&mut self) {
        self.edge(Approve, Pressed);
        self.wait(1_500);
        self.edge(Approve, Released);
    }

    /// What the device sends during pairing. The hub's answers are delivered to it.
    fn exchange_pairing(&mut self) -> Vec<Sent> {
        let payloads: Vec<_> = core::iter::from_fn(|| self.device.next_payload(Millis(self.now))).collect();
        payloads
            .iter()
            .map(|payload| {
                let (sent, answer) = self.hub.receive_pairing(payload);
                answer.iter().for_each(|answer| self.receive(answer));
                sent
            })
            .collect()
    }

    /// What the device sends in its session. The hub's answers are delivered to it.
    fn exchange(&mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(payload) = self.device.next_payload(self.millis()) {
            let keys = self.keys();
            let (sent, answer) = self.hub.receive(keys, &payload);
            all.push(sent);
            answer.iter().for_each(|answer| self.receive(answer));
        }
        all
    }

    fn keys(&mut self) -> (PublicKey, SealKey) {
        let seal = self.device.storage().keys.as_ref().unwrap().seal.public();
        (self.device.device(), seal)
    }

    fn view(&self) -> View {
        self.device.screen(self.millis()).view
    }

    fn bond(&mut self) -> Option<Bond> {
        self.device.storage().bond.clone()
    }
}

const ABOUT: [Sent; 2] = [Sent::Third, Sent::Paired(FromDevice::About { program: false })];

fn code(fixture: &Fixture) -> (u32, bool) {
    match fixture.view() {
        View::Pairing { code, confirmed } => (code, confirmed),
        view => panic!("{view:?}"),
    }
}

#[test]
fn a_number_that_the_display_does_not_show_is_not_confirmed() {
    let mut fixture = Fixture::new();
    fixture.display = Err(NotShown);
    assert_eq!((fixture.exchange_pairing(), fixture.exchange_pairing()), (vec![Sent::First], ABOUT.to_vec()));
    fixture.hold();
    let confirmation = fixture.hub.confirm();
    fixture.receive(&confirmation);
    assert!(!fixture.exchange_pairing().contains(&Sent::Paired(FromDevice::Kept)));
    assert!(matches!(fixture.view(), View::Pairing { confirmed: false, .. }));

    fixture.display = Ok(());
    fixture.wait(100);
    fixture.edge(Approve, Pressed);
    fixture.wait(1_000);
    fixture.display = Err(NotShown);
    fixture.wait(100);
    fixture.display = Ok(());
    fixture.wait(1_000);
    fixture.edge(Approve, Released);
    assert!(
        matches!(fixture.view(), View::Pairing { confirmed: false, .. }),
        "the display failed during the hold"
    );
    fixture.hold();
    assert!(fixture.exchange_pairing().contains(&Sent::Paired(FromDevice::Kept)));
}

#[test]
fn a_new_device_makes_its_keys_once() {
    let mut fixture = Fixture::new();
    let (device, seal) = fixture.keys();
    let memory = core::mem::take(fixture.device.storage());
    let mut again = Companion::new(memory, TestRandom(99), Geometry::SMALL, Settings::default()).unwrap();
    assert_eq!(again.device(), device);
    assert_eq!(again.storage().keys.as_ref().unwrap().seal.public(), seal);
}

#[test]
fn a_device_that_cannot_store_its_keys_does_not_start() {
    let memory = Memory { broken: true, ..Memory::default() };
    assert!(Companion::new(memory, TestRandom(7), Geometry::SMALL, Settings::default()).is_err());
}

#[test]
fn an_unpaired_device_does_not_reveal_its_identity() {
    let mut fixture = Fixture::new();
    let name = topic::name(fixture.device.device());
    let access = format!("{:?}", fixture.device.access().unwrap());
    assert!(!access.contains(name.as_str()), "{access}");
    let (device, seal) = fixture.keys();
    let payload = fixture.device.next_payload(fixture.millis()).unwrap();
    for key in [device.0, seal.0] {
        assert!(!payload.windows(8).any(|eight| key.windows(8).any(|of_key| of_key == eight)));
    }
}

#[test]
fn both_show_one_number_and_two_confirmations_make_a_bond() {
    let mut fixture = Fixture::confirming();
    let (shown, confirmed) = code(&fixture);
    assert_eq!((shown, confirmed), (fixture.hub.agreed.as_ref().unwrap().code.number(), false));
    fixture.edge(Approve, Pressed);
    fixture.wait(1_000);
    assert_eq!(fixture.device.screen(fixture.millis()).hold, Some(66));
    fixture.wait(500);
    fixture.edge(Approve, Released);
    assert_eq!(code(&fixture), (shown, true));
    assert_eq!(fixture.bond(), None, "one confirmation is not enough");
    let confirmation = fixture.hub.confirm();
    fixture.receive(&confirmation);
    let bond = fixture.bond().unwrap();
    assert_eq!((bond.hub, bond.seal), (HUB, fixture.hub.secret.public()));
    assert_eq!((bond.user.as_str(), bond.password.as_str(), bond.version), ("device-7", "word", VERSION));
    assert_eq!(fixture.exchange_pairing(), [Sent::Paired(FromDevice::Kept)]);
    assert!(!fixture.device.is_paired(), "not before the hub has stored it too");
    let (number, done) = (fixture.device.access_number(), fixture.hub.seal_pairing(&FromHub::Done));
    fixture.receive(&done);
    assert!(fixture.device.is_paired() && fixture.device.access_number() != number);
    let access = fixture.device.access().unwrap();
    assert_eq!((access.user.as_str(), access.password.as_str()), ("device-7", "word"));
    assert!(access.presence.is_some());
}

#[test]
fn a_confirmation_at_the_hub_has_no_effect_before_the_one_at_the_device() {
    let mut fixture = Fixture::confirming();
    let confirmation = fixture.hub.confirm();
    fixture.receive(&confirmation);
    fixture.wait(20_000);
    assert_eq!((fixture.bond(), code(&fixture).1), (None, false));
    assert_eq!(fixture.exchange_pairing(), []);
    fixture.hold();
    assert!(fixture.bond().is_some());
}

#[test]
fn what_the_hub_does_not_answer_is_sent_again() {
    let mut fixture = Fixture::new();
    let sent = |fixture: &mut Fixture| {
        core::iter::from_fn(|| fixture.device.next_payload(Millis(fixture.now))).collect::<Vec<_>>()
    };
    let first = sent(&mut fixture);
    fixture.wait(1_950);
    assert!(sent(&mut fixture).is_empty());
    fixture.wait(50);
    assert_eq!(sent(&mut fixture), first, "the same bytes");
    fixture.hub.receive_pairing(&first[0]).1.iter().for_each(|second| fixture.receive(second));
    let third = sent(&mut fixture);
    fixture.wait(2_000);
    let again = sent(&mut fixture);
    assert_eq!((third.len(), again.len()), (2, 2));
    assert_eq!(again[0], third[0]);
}

#[test]
fn declining_at_the_device_ends_the_attempt_and_the_hub_is_told() {
    let mut fixture = Fixture::confirming();
    let attempt = fixture.device.access().unwrap().clone();
    fixture.edge(Deny, Pressed);
    fixture.wait(100);
    fixture.edge(Deny, Released);
    assert_eq!(fixture.exchange_pairing(), [Sent::Paired(FromDevice::Declined)]);
    let confirmation = fixture.hub.confirm();
    fixture.receive(&confirmation);
    assert_eq!((fixture.view(), fixture.bond()), (View::Fault(Fault::Pairing), None));
    fixture.wait(FAILURE_SHOWN_MS);
    assert_eq!((fixture.view(), fixture.bond()), (View::Unpaired, None));
    assert_ne!(*fixture.device.access().unwrap(), attempt, "the next attempt is another one");
}

#[test]
fn declining_at_the_hub_ends_the_attempt() {
    let mut fixture = Fixture::confirming();
    fixture.hold();
    let declined = fixture.hub.seal_pairing(&FromHub::Declined);
    fixture.receive(&declined);
    assert_eq!((fixture.view(), fixture.bond()), (View::Fault(Fault::Pairing), None));
}

#[test]
fn an_attempt_without_both_confirmations_in_time_fails_and_does_not_count_as_declined() {
    for confirmed in [false, true] {
        let mut fixture = Fixture::confirming();
        if confirmed {
            fixture.hold();
        }
        let shown = fixture.now;
        fixture.wait(CONFIRM - (shown - 1_000));
        assert_eq!(fixture.view(), View::Fault(Fault::Pairing));
        assert!(!fixture.exchange_pairing().contains(&Sent::Paired(FromDevice::Declined)));
        let confirmation = fixture.hub.confirm();
        fixture.receive(&confirmation);
        fixture.hold();
        assert_eq!(fixture.bond(), None);
    }
}

#[test]
fn a_press_that_began_before_the_number_confirms_nothing() {
    let mut fixture = Fixture::new();
    fixture.edge(Approve, Pressed);
    fixture.exchange_pairing();
    fixture.exchange_pairing();
    fixture.wait(5_000);
    fixture.edge(Approve, Released);
    assert!(!code(&fixture).1);
}

#[test]
fn a_short_press_confirms_nothing() {
    let mut fixture = Fixture::confirming();
    fixture.edge(Approve, Pressed);
    fixture.wait(1_450);
    fixture.edge(Approve, Released);
    assert!(!code(&fixture).1);
}

#[test]
fn a_bond_that_cannot_be_stored_is_declined() {
    let mut fixture = Fixture::confirming();
    fixture.hold();
    fixture.device.storage().broken = true;
    let confirmation = fixture.hub.confirm();
    fixture.receive(&confirmation);
    assert_eq!(fixture.exchange_pairing(), [Sent::Paired(FromDevice::Declined)]);
    assert_eq!((fixture.view(), fixture.bond()), (View::Fault(Fault::Pairing), None));
}

#[test]
fn a_hub_that_never_reports_done_counts_as_done() {
    let mut fixture = Fixture::confirming();
    fixture.hold();
    let confirmation = fixture.hub.confirm();
    fixture.receive(&confirmation);
    fixture.wait(DONE_TIMEOUT_MS);
    assert!(fixture.device.is_paired());
}

#[test]
fn an_attempt_survives_a_lost_connection() {
    let mut fixture = Fixture::confirming();
    let number = fixture.device.access_number();
    fixture.device.disconnected(fixture.millis());
    fixture.hold();
    fixture.connect();
    let confirmation = fixture.hub.confirm();
    fixture.receive(&confirmation);
    assert!(fixture.bond().is_some() && fixture.device.access_number() == number);
}

#[test]
fn a_paired_device_decides_in_its_session() {
    let mut fixture = Fixture::paired();
    assert!(fixture.decides());
    let payload = fixture.hub.seal(&Down::Consumed { request: document().request });
    fixture.receive(&payload);
    assert!(matches!(fixture.view(), View::Done { .. }));
}

#[test]
fn only_a_sealed_message_of_the_hub_revokes_and_the_device_can_be_paired_again() {
    let mut fixture = Fixture::paired();
    let (device, seal) = fixture.keys();
    let mut buffer = [0; MAX_FRAME];
    let plain = frame::encode(&Down::Revoked, &mut buffer).unwrap().to_vec();
    fixture.receive(&plain);
    let genuine = fixture.hub.seal(&Down::Revoked);
    for at in 0..genuine.len() {
        let mut forged = genuine.clone();
        forged[at] ^= 1;
        fixture.receive(&forged);
        assert!(fixture.device.is_paired() && fixture.bond().is_some(), "byte {at}");
    }
    fixture.device.received(fixture.millis(), "gatepost/1/elsewhere/down", &genuine);
    assert!(fixture.device.is_paired());
    let number = fixture.device.access_number();
    fixture.receive(&genuine);
    assert_eq!((fixture.view(), fixture.bond()), (View::Unpaired, None));
    assert_ne!(fixture.device.access_number(), number);
    assert_eq!(fixture.device.access().unwrap().user, PAIRING_USER);
    let (another, its_seal) = fixture.keys();
    assert!(another != device && its_seal != seal, "a hub never accepts keys again that it has revoked");
    assert_eq!(fixture.device.next_payload(fixture.millis()), None, "nothing more is sent to the hub");
}

#[test]
fn a_refused_login_is_shown_and_nothing_is_forgotten() {
    let mut fixture = Fixture::paired();
    let bond = fixture.bond();
    fixture.device.disconnected(fixture.millis());
    assert_eq!(fixture.view(), View::Offline);
    fixture.device.login_refused();
    assert_eq!(fixture.view(), View::Fault(Fault::Login));
    fixture.wait(60_000);
    assert_eq!(
        (fixture.view(), fixture.bond()),
        (View::Fault(Fault::Login), bond),
        "the broker is not the hub"
    );
    fixture.connect();
    fixture.device.disconnected(fixture.millis());
    assert_eq!(fixture.view(), View::Offline, "the broker has accepted it since");
}

#[test]
fn a_device_whose_counter_restarted_with_new_keys_decides_again() {
    let mut fixture = Fixture::paired();
    fixture.device.storage().last = 1_000;
    assert!(fixture.decides());
    let revoked = fixture.hub.seal(&Down::Revoked);
    fixture.receive(&revoked);
    fixture.device.storage().last = 0;
    fixture.hub = MockHub::new();
    fixture.connect();
    fixture.pair();
    assert!(fixture.decides());
}

#[test]
fn a_bond_that_cannot_be_wiped_is_a_fault_and_no_bond() {
    let mut fixture = Fixture::paired();
    fixture.device.storage().broken = true;
    let revoked = fixture.hub.seal(&Down::Revoked);
    fixture.receive(&revoked);
    assert_eq!(fixture.view(), View::Fault(Fault::Storage));
    assert_eq!(fixture.device.access(), None);
    assert_eq!(fixture.device.next_payload(fixture.millis()), None);
}

#[test]
fn a_hub_that_lost_the_session_gets_a_new_one_and_the_card_continues() {
    let mut fixture = Fixture::paired();
    let (offer, bytes) = offered(&document());
    for frame in [Down::Offer(offer), Down::Piece { request: offer.request, piece: 0, bytes: &bytes }] {
        let payload = fixture.hub.seal(&frame);
        fixture.receive(&payload);
        fixture.exchange();
    }
    assert!(matches!(fixture.view(), View::Card(card) if card.deniable));
    fixture.wait(2_000);
    let greet = envelope::encode(&envelope::Down::Greet, &mut [0; 8]).unwrap().to_vec();
    fixture.receive(&greet);
    assert!(
        matches!(fixture.view(), View::Card(card) if !card.deniable),
        "nothing can be decided between sessions"
    );
    assert_eq!(
        fixture.exchange(),
        [Sent::Open, Sent::Frame(Up::Ready), Sent::Frame(Up::Display { works: true })]
    );
    let payload = fixture.hub.seal(&Down::Offer(offer));
    fixture.receive(&payload);
    assert!(matches!(fixture.view(), View::Card(card) if card.deniable));
}

#[test]
fn updates_get_no_answer() {
    let mut fixture = Fixture::paired();
    let payload = fixture.hub.seal(&Down::Manifest { signed: &[1; 189], utc: 1, again: false });
    fixture.receive(&payload);
    assert_eq!((fixture.exchange(), fixture.view()), (vec![], View::Idle));
}

#[test]
fn holding_both_buttons_without_a_session_forgets_the_hub() {
    let press = |fixture: &mut Fixture| {
        fixture.edge(Deny, Pressed);
        fixture.edge(Approve, Pressed);
    };
    let mut fixture = Fixture::paired();
    press(&mut fixture);
    fixture.wait(2 * FORGET_HOLD_MS);
    assert!(fixture.device.is_paired(), "with a session the hub must revoke the device");
    fixture.edge(Approve, Released);
    fixture.edge(Deny, Released);
    fixture.device.disconnected(fixture.millis());
    press(&mut fixture);
    let at = fixture.millis().after(FORGET_HOLD_MS);
    assert_eq!(fixture.device.next_tick(fixture.millis()), Some(at));
    fixture.wait(FORGET_HOLD_MS - 50);
    assert!(fixture.device.is_paired());
    fixture.wait(50);
    assert_eq!((fixture.view(), fixture.bond()), (View::Unpaired, None));
}

#[test]
fn an_older_bond_learns_the_version_that_the_hub_uses() {
    let mut fixture = Fixture::paired();
    let mut memory = core::mem::take(fixture.device.storage());
    memory.bond.as_mut().unwrap().version = VERSION - 1;
    let hub = fixture.hub;
    let mut fixture = Fixture::with_memory(memory);
    fixture.hub = hub;
    fixture.exchange();
    assert_eq!(fixture.bond().unwrap().version, VERSION);
}

#[test]
fn a_companion_fits_the_smallest_board() {
    let size = size_of::<Companion<Memory, TestRandom>>();
    assert!(size < 26 * 1024, "{size}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_received_bytes_pair_or_revoke(
        payloads in proptest::collection::vec((proptest::option::of(0..3u8), proptest::collection::vec(any::<u8>(), 0..200)), 1..20),
    ) {
        for mut fixture in [Fixture::confirming(), Fixture::paired()] {
            let before = fixture.device.is_paired();
            for (kind, bytes) in &payloads {
                let bytes: Vec<u8> = match kind {
                    Some(kind) => [&[VERSION, *kind], &bytes[..]].concat(),
                    None => bytes.clone(),
                };
                fixture.receive(&bytes);
                fixture.wait(50);
                let _: String = format!("{:?}", fixture.view());
            }
            prop_assert_eq!(fixture.device.is_paired(), before);
            prop_assert_eq!(fixture.bond().is_some(), before);
        }
    }
}

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
    pair::{DONE, FAILED},
    testing::{
        Dice, HUB, Memory, document,
        hub::{Hub, Said},
        offered,
    },
};

/// A device that is not paired, its hub, and the time.
struct Desk {
    device: Companion<Memory, Dice>,
    hub: Hub,
    now: u64,
    /// Whether the display takes what is drawn.
    display: Result<(), NotShown>,
}

impl Desk {
    fn new() -> Self {
        Self::over(Memory::default())
    }

    fn over(memory: Memory) -> Self {
        let device =
            Companion::new(memory, Dice(7), Geometry::SMALL, Settings::default()).expect("working storage");
        let mut desk = Self { device, hub: Hub::new(), now: 1_000, display: Ok(()) };
        desk.connect();
        desk
    }

    /// One that shows the number.
    fn asking() -> Self {
        let mut desk = Self::new();
        assert_eq!(desk.said(), [Said::First]);
        assert_eq!(desk.said(), ABOUT);
        desk
    }

    /// One that is paired and in a session.
    fn paired() -> Self {
        let mut desk = Self::new();
        desk.pair();
        desk
    }

    /// Pairs it, and opens a session.
    fn pair(&mut self) {
        assert_eq!((self.said(), self.said()), (vec![Said::First], ABOUT.to_vec()));
        self.hold();
        let yes = self.hub.yes();
        self.receive(&yes);
        assert_eq!(self.said(), [Said::Paired(FromDevice::Kept)]);
        let done = self.hub.tell(&FromHub::Done);
        self.receive(&done);
        self.connect();
        self.converse();
        assert_eq!(self.view(), View::Idle);
    }

    /// Offers a card and denies it; whether a decision leaves.
    fn decides(&mut self) -> bool {
        let (offer, bytes) = offered(&document());
        for say in [Down::Offer(offer), Down::Piece { request: offer.request, piece: 0, bytes: &bytes }] {
            let say = self.hub.say(&say);
            self.receive(&say);
            self.converse();
        }
        self.wait(400);
        self.edge(Deny, Pressed);
        self.edge(Deny, Released);
        self.converse().iter().any(|said| matches!(said, Said::Frame(Up::Decision(_))))
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

    /// As a board does after everything that happens.
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

    /// What the device says now while it is paired; the hub's answers are given back to it.
    fn said(&mut self) -> Vec<Said> {
        let payloads: Vec<_> = core::iter::from_fn(|| self.device.next_payload(Millis(self.now))).collect();
        payloads
            .iter()
            .map(|payload| {
                let (said, answer) = self.hub.pair(payload);
                answer.iter().for_each(|answer| self.receive(answer));
                said
            })
            .collect()
    }

    /// The same in a session.
    fn converse(&mut self) -> Vec<Said> {
        let mut all = Vec::new();
        while let Some(payload) = self.device.next_payload(self.millis()) {
            let keys = self.keys();
            let (said, answer) = self.hub.hear(keys, &payload);
            all.push(said);
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

const ABOUT: [Said; 2] = [Said::Third, Said::Paired(FromDevice::About { program: false })];

fn code(desk: &Desk) -> (u32, bool) {
    match desk.view() {
        View::Pairing { code, confirmed } => (code, confirmed),
        view => panic!("{view:?}"),
    }
}

#[test]
fn a_number_that_the_display_does_not_show_is_not_confirmed() {
    let mut desk = Desk::new();
    desk.display = Err(NotShown);
    assert_eq!((desk.said(), desk.said()), (vec![Said::First], ABOUT.to_vec()));
    desk.hold();
    let yes = desk.hub.yes();
    desk.receive(&yes);
    assert!(!desk.said().contains(&Said::Paired(FromDevice::Kept)));
    assert!(matches!(desk.view(), View::Pairing { confirmed: false, .. }));

    desk.display = Ok(());
    desk.wait(100);
    desk.edge(Approve, Pressed);
    desk.wait(1_000);
    desk.display = Err(NotShown);
    desk.wait(100);
    desk.display = Ok(());
    desk.wait(1_000);
    desk.edge(Approve, Released);
    assert!(matches!(desk.view(), View::Pairing { confirmed: false, .. }), "it went out during the hold");
    desk.hold();
    assert!(desk.said().contains(&Said::Paired(FromDevice::Kept)));
}

#[test]
fn a_new_device_makes_its_keys_once() {
    let mut desk = Desk::new();
    let (device, seal) = desk.keys();
    let memory = core::mem::take(desk.device.storage());
    let mut again = Companion::new(memory, Dice(99), Geometry::SMALL, Settings::default()).unwrap();
    assert_eq!(again.device(), device);
    assert_eq!(again.storage().keys.as_ref().unwrap().seal.public(), seal);
}

#[test]
fn a_device_that_cannot_store_its_keys_does_not_start() {
    let memory = Memory { broken: true, ..Memory::default() };
    assert!(Companion::new(memory, Dice(7), Geometry::SMALL, Settings::default()).is_err());
}

#[test]
fn an_unpaired_device_tells_nobody_who_it_is() {
    let mut desk = Desk::new();
    let name = topic::name(desk.device.device());
    let access = format!("{:?}", desk.device.access().unwrap());
    assert!(!access.contains(name.as_str()), "{access}");
    let (device, seal) = desk.keys();
    let payload = desk.device.next_payload(desk.millis()).unwrap();
    for key in [device.0, seal.0] {
        assert!(!payload.windows(8).any(|eight| key.windows(8).any(|of_key| of_key == eight)));
    }
}

#[test]
fn both_show_one_number_and_a_hold_and_a_yes_make_a_bond() {
    let mut desk = Desk::asking();
    let (shown, confirmed) = code(&desk);
    assert_eq!((shown, confirmed), (desk.hub.agreed.as_ref().unwrap().code.number(), false));
    desk.edge(Approve, Pressed);
    desk.wait(1_000);
    assert_eq!(desk.device.screen(desk.millis()).hold, Some(66));
    desk.wait(500);
    desk.edge(Approve, Released);
    assert_eq!(code(&desk), (shown, true));
    assert_eq!(desk.bond(), None, "one yes is not enough");
    let yes = desk.hub.yes();
    desk.receive(&yes);
    let bond = desk.bond().unwrap();
    assert_eq!((bond.hub, bond.seal), (HUB, desk.hub.secret.public()));
    assert_eq!((bond.user.as_str(), bond.password.as_str(), bond.version), ("device-7", "word", VERSION));
    assert_eq!(desk.said(), [Said::Paired(FromDevice::Kept)]);
    assert!(!desk.device.is_paired(), "not before the hub has it too");
    let (turn, done) = (desk.device.turn(), desk.hub.tell(&FromHub::Done));
    desk.receive(&done);
    assert!(desk.device.is_paired() && desk.device.turn() != turn);
    let access = desk.device.access().unwrap();
    assert_eq!((access.user.as_str(), access.password.as_str()), ("device-7", "word"));
    assert!(access.presence.is_some());
}

#[test]
fn a_yes_at_the_hub_counts_for_nothing_before_the_one_at_the_device() {
    let mut desk = Desk::asking();
    let yes = desk.hub.yes();
    desk.receive(&yes);
    desk.wait(20_000);
    assert_eq!((desk.bond(), code(&desk).1), (None, false));
    assert_eq!(desk.said(), []);
    desk.hold();
    assert!(desk.bond().is_some());
}

#[test]
fn what_the_hub_does_not_answer_is_said_again() {
    let mut desk = Desk::new();
    let say = |desk: &mut Desk| {
        core::iter::from_fn(|| desk.device.next_payload(Millis(desk.now))).collect::<Vec<_>>()
    };
    let first = say(&mut desk);
    desk.wait(1_950);
    assert!(say(&mut desk).is_empty());
    desk.wait(50);
    assert_eq!(say(&mut desk), first, "in the same words");
    desk.hub.pair(&first[0]).1.iter().for_each(|second| desk.receive(second));
    let third = say(&mut desk);
    desk.wait(2_000);
    let again = say(&mut desk);
    assert_eq!((third.len(), again.len()), (2, 2));
    assert_eq!(again[0], third[0]);
}

#[test]
fn a_no_at_the_device_ends_it_and_the_hub_is_told() {
    let mut desk = Desk::asking();
    let attempt = desk.device.access().unwrap().clone();
    desk.edge(Deny, Pressed);
    desk.wait(100);
    desk.edge(Deny, Released);
    assert_eq!(desk.said(), [Said::Paired(FromDevice::Declined)]);
    let yes = desk.hub.yes();
    desk.receive(&yes);
    assert_eq!((desk.view(), desk.bond()), (View::Fault(Fault::Pairing), None));
    desk.wait(FAILED);
    assert_eq!((desk.view(), desk.bond()), (View::Unpaired, None));
    assert_ne!(*desk.device.access().unwrap(), attempt, "the next attempt is another one");
}

#[test]
fn a_no_at_the_hub_ends_it() {
    let mut desk = Desk::asking();
    desk.hold();
    let no = desk.hub.tell(&FromHub::Declined);
    desk.receive(&no);
    assert_eq!((desk.view(), desk.bond()), (View::Fault(Fault::Pairing), None));
}

#[test]
fn nobody_who_confirms_in_time_is_paired_and_none_is_told_of_another_number() {
    for confirmed in [false, true] {
        let mut desk = Desk::asking();
        if confirmed {
            desk.hold();
        }
        let shown = desk.now;
        desk.wait(CONFIRM - (shown - 1_000));
        assert_eq!(desk.view(), View::Fault(Fault::Pairing));
        assert!(!desk.said().contains(&Said::Paired(FromDevice::Declined)));
        let yes = desk.hub.yes();
        desk.receive(&yes);
        desk.hold();
        assert_eq!(desk.bond(), None);
    }
}

#[test]
fn a_press_from_before_the_number_confirms_nothing() {
    let mut desk = Desk::new();
    desk.edge(Approve, Pressed);
    desk.said();
    desk.said();
    desk.wait(5_000);
    desk.edge(Approve, Released);
    assert!(!code(&desk).1);
}

#[test]
fn a_short_press_confirms_nothing() {
    let mut desk = Desk::asking();
    desk.edge(Approve, Pressed);
    desk.wait(1_450);
    desk.edge(Approve, Released);
    assert!(!code(&desk).1);
}

#[test]
fn a_bond_that_cannot_be_stored_is_declined() {
    let mut desk = Desk::asking();
    desk.hold();
    desk.device.storage().broken = true;
    let yes = desk.hub.yes();
    desk.receive(&yes);
    assert_eq!(desk.said(), [Said::Paired(FromDevice::Declined)]);
    assert_eq!((desk.view(), desk.bond()), (View::Fault(Fault::Pairing), None));
}

#[test]
fn a_hub_that_never_says_done_is_taken_to_be() {
    let mut desk = Desk::asking();
    desk.hold();
    let yes = desk.hub.yes();
    desk.receive(&yes);
    desk.wait(DONE);
    assert!(desk.device.is_paired());
}

#[test]
fn an_attempt_outlives_a_lost_connection() {
    let mut desk = Desk::asking();
    let turn = desk.device.turn();
    desk.device.disconnected(desk.millis());
    desk.hold();
    desk.connect();
    let yes = desk.hub.yes();
    desk.receive(&yes);
    assert!(desk.bond().is_some() && desk.device.turn() == turn);
}

#[test]
fn a_paired_device_decides_in_its_session() {
    let mut desk = Desk::paired();
    assert!(desk.decides());
    let say = desk.hub.say(&Down::Consumed { request: document().request });
    desk.receive(&say);
    assert!(matches!(desk.view(), View::Done { .. }));
}

#[test]
fn only_the_hubs_sealed_word_revokes_and_then_the_device_can_be_paired_anew() {
    let mut desk = Desk::paired();
    let (device, seal) = desk.keys();
    let mut buffer = [0; MAX_FRAME];
    let plain = frame::encode(&Down::Revoked, &mut buffer).unwrap().to_vec();
    desk.receive(&plain);
    let genuine = desk.hub.say(&Down::Revoked);
    for at in 0..genuine.len() {
        let mut forged = genuine.clone();
        forged[at] ^= 1;
        desk.receive(&forged);
        assert!(desk.device.is_paired() && desk.bond().is_some(), "byte {at}");
    }
    desk.device.received(desk.millis(), "gatepost/1/elsewhere/down", &genuine);
    assert!(desk.device.is_paired());
    let turn = desk.device.turn();
    desk.receive(&genuine);
    assert_eq!((desk.view(), desk.bond()), (View::Unpaired, None));
    assert_ne!(desk.device.turn(), turn);
    assert_eq!(desk.device.access().unwrap().user, PAIRING_USER);
    let (another, its_seal) = desk.keys();
    assert!(another != device && its_seal != seal, "a hub never takes the keys again that it has revoked");
    assert_eq!(desk.device.next_payload(desk.millis()), None, "nothing more is said to the hub");
}

#[test]
fn a_login_that_the_broker_refuses_is_shown_and_forgets_nothing() {
    let mut desk = Desk::paired();
    let bond = desk.bond();
    desk.device.disconnected(desk.millis());
    assert_eq!(desk.view(), View::Offline);
    desk.device.refused();
    assert_eq!(desk.view(), View::Fault(Fault::Login));
    desk.wait(60_000);
    assert_eq!(
        (desk.view(), desk.bond()),
        (View::Fault(Fault::Login), bond),
        "it is not the hub who says so"
    );
    desk.connect();
    desk.device.disconnected(desk.millis());
    assert_eq!(desk.view(), View::Offline, "the broker has taken it since");
}

#[test]
fn a_device_whose_counter_began_again_with_new_keys_decides_again() {
    let mut desk = Desk::paired();
    desk.device.storage().last = 1_000;
    assert!(desk.decides());
    let revoked = desk.hub.say(&Down::Revoked);
    desk.receive(&revoked);
    desk.device.storage().last = 0;
    desk.hub = Hub::new();
    desk.connect();
    desk.pair();
    assert!(desk.decides());
}

#[test]
fn a_bond_that_cannot_be_wiped_is_a_fault_and_no_bond() {
    let mut desk = Desk::paired();
    desk.device.storage().broken = true;
    let revoked = desk.hub.say(&Down::Revoked);
    desk.receive(&revoked);
    assert_eq!(desk.view(), View::Fault(Fault::Storage));
    assert_eq!(desk.device.access(), None);
    assert_eq!(desk.device.next_payload(desk.millis()), None);
}

#[test]
fn a_hub_that_lost_the_session_is_met_in_another_and_the_card_goes_on() {
    let mut desk = Desk::paired();
    let (offer, bytes) = offered(&document());
    for say in [Down::Offer(offer), Down::Piece { request: offer.request, piece: 0, bytes: &bytes }] {
        let say = desk.hub.say(&say);
        desk.receive(&say);
        desk.converse();
    }
    assert!(matches!(desk.view(), View::Card(card) if card.deniable));
    desk.wait(2_000);
    let greet = envelope::encode(&envelope::Down::Greet, &mut [0; 8]).unwrap().to_vec();
    desk.receive(&greet);
    assert!(
        matches!(desk.view(), View::Card(card) if !card.deniable),
        "nothing can be decided between sessions"
    );
    assert_eq!(
        desk.converse(),
        [Said::Open, Said::Frame(Up::Ready), Said::Frame(Up::Display { works: true })]
    );
    let say = desk.hub.say(&Down::Offer(offer));
    desk.receive(&say);
    assert!(matches!(desk.view(), View::Card(card) if card.deniable));
}

#[test]
fn updates_are_answered_with_nothing() {
    use gatepost_link::{
        Digest,
        decision::SignatureBytes,
        update::{Label, Manifest, Signed, Version},
    };
    let mut desk = Desk::paired();
    let version = Version { major: 1, minor: 0, patch: 0 };
    let label = Label::new("companion").unwrap();
    let digest = Digest([1; 32]);
    let manifest = Manifest {
        product: label,
        board: label,
        version,
        floor: version,
        size: 1,
        image: digest,
        block: 1,
        blocks: digest,
        expires: 1,
    };
    let say = desk.hub.say(&Down::Manifest(Signed::new(manifest, SignatureBytes([0; 64]))));
    desk.receive(&say);
    assert_eq!((desk.converse(), desk.view()), (vec![], View::Idle));
}

#[test]
fn both_buttons_held_for_long_without_a_session_forget_the_hub() {
    let press = |desk: &mut Desk| {
        desk.edge(Deny, Pressed);
        desk.edge(Approve, Pressed);
    };
    let mut desk = Desk::paired();
    press(&mut desk);
    desk.wait(2 * FORGET);
    assert!(desk.device.is_paired(), "with a session it is the hub's to say");
    desk.edge(Approve, Released);
    desk.edge(Deny, Released);
    desk.device.disconnected(desk.millis());
    press(&mut desk);
    let at = desk.millis().after(FORGET);
    assert_eq!(desk.device.next_tick(desk.millis()), Some(at));
    desk.wait(FORGET - 50);
    assert!(desk.device.is_paired());
    desk.wait(50);
    assert_eq!((desk.view(), desk.bond()), (View::Unpaired, None));
}

#[test]
fn an_older_bond_learns_the_version_that_the_hub_speaks() {
    let mut desk = Desk::paired();
    let mut memory = core::mem::take(desk.device.storage());
    memory.bond.as_mut().unwrap().version = VERSION - 1;
    let hub = desk.hub;
    let mut desk = Desk::over(memory);
    desk.hub = hub;
    desk.converse();
    assert_eq!(desk.bond().unwrap().version, VERSION);
}

#[test]
fn a_companion_fits_the_smallest_board() {
    let size = size_of::<Companion<Memory, Dice>>();
    assert!(size < 26 * 1024, "{size}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_arrives_neither_pairs_nor_revokes(
        payloads in proptest::collection::vec((proptest::option::of(0..3u8), proptest::collection::vec(any::<u8>(), 0..200)), 1..20),
    ) {
        for mut desk in [Desk::asking(), Desk::paired()] {
            let before = desk.device.is_paired();
            for (kind, bytes) in &payloads {
                let bytes: Vec<u8> = match kind {
                    Some(kind) => [&[VERSION, *kind], &bytes[..]].concat(),
                    None => bytes.clone(),
                };
                desk.receive(&bytes);
                desk.wait(50);
                let _: String = format!("{:?}", desk.view());
            }
            prop_assert_eq!(desk.device.is_paired(), before);
            prop_assert_eq!(desk.bond().is_some(), before);
        }
    }
}

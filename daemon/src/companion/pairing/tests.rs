//! A window, and the very code that asks at it on a device.

use gatepost_companion::{
    Button, Edge, Keys, Millis, Settings, View,
    pairing::{Pairing, Shown as OnDevice, Step},
};

use tokio::sync::oneshot;

use super::*;

mod man;

const HUB: PublicKey = PublicKey([1; 32]);

struct Table {
    window: Window,
    shown: oneshot::Receiver<Result<Shown, PairError>>,
    device: Pairing,
    start: Instant,
    now: u64,
}

fn device(program: bool) -> Pairing {
    let settings = Settings { program, ..Settings::default() };
    Pairing::new(PublicKey([2; 32]), &Keys::generate(&mut System), &settings, &mut System)
}

impl Table {
    fn new(program: bool, programs: bool) -> Self {
        let start = Instant::now();
        let (reply, shown) = oneshot::channel();
        let window = Window::open(start, (HUB, SealSecret([3; 32])), programs, true, reply);
        let mut device = device(program);
        device.connected(Millis(0));
        Self { window, shown, device, start, now: 0 }
    }

    /// One that shows the number.
    fn showing() -> (Self, Shown) {
        let mut table = Self::new(false, false);
        table.exchange();
        let shown = table.shown.try_recv().unwrap().unwrap();
        (table, shown)
    }

    fn at(&self) -> Instant {
        self.start + Duration::from_millis(self.now)
    }

    /// The device's display takes what is drawn.
    fn draw(&mut self) {
        if let OnDevice::Code { code, confirmed, .. } = self.device.shown(Millis(self.now)) {
            self.device.drawn(&View::Pairing { code: code.number(), confirmed }, true);
        }
    }

    /// Carries what both say until they say nothing more; a device that is to be registered is.
    fn exchange(&mut self) -> Step {
        loop {
            let step = self.device.tick(Millis(self.now));
            if let Step::Store(_) = &step {
                self.device.stored(Millis(self.now), true);
            }
            let up: Vec<_> = std::iter::from_fn(|| self.device.next_payload()).collect();
            for payload in &up {
                if let Some(device) = self.window.received(self.at(), self.device.attempt(), payload) {
                    self.window.registered(Ok(device));
                }
            }
            let down: Vec<_> = std::iter::from_fn(|| self.window.next_payload()).collect();
            for (attempt, payload) in &down {
                assert_eq!(*attempt, self.device.attempt());
                self.device.received(Millis(self.now), payload);
            }
            self.draw();
            if up.is_empty() && down.is_empty() {
                return step;
            }
        }
    }

    fn wait(&mut self, milliseconds: u64) -> Step {
        let mut last = Step::Continue;
        for _ in 0..milliseconds / 50 {
            self.now += 50;
            self.window.tick(self.at());
            last = self.exchange();
        }
        last
    }

    fn hold(&mut self) -> Step {
        self.device.button(Millis(self.now), Button::Approve, Edge::Pressed);
        let step = self.wait(1_500);
        self.device.button(Millis(self.now), Button::Approve, Edge::Released);
        step
    }

    fn give(&mut self, name: &str) -> oneshot::Receiver<Result<Device, PairError>> {
        let (reply, answer) = oneshot::channel();
        self.window.give(self.at(), name.into(), reply);
        answer
    }
}

#[test]
fn both_show_the_number_and_after_both_have_said_yes_the_device_is_registered() {
    for hub_first in [true, false] {
        let (mut table, shown) = Table::showing();
        assert!(
            matches!(table.device.shown(Millis(table.now)), OnDevice::Code { code, .. } if code == shown.code)
        );
        let mut answer = if hub_first {
            let answer = table.give("shelf");
            table.exchange();
            table.hold();
            answer
        } else {
            table.hold();
            table.give("shelf")
        };
        table.exchange();
        let device = answer.try_recv().unwrap().unwrap();
        assert_eq!((device.key, device.name.as_str(), device.software), (PublicKey([2; 32]), "shelf", false));
        let Step::Paired(bond) = table.wait(50) else { panic!("the device knows that it is done") };
        assert_eq!(bond.hub, HUB);
        assert_eq!(device.login, Some(Digest::of(bond.password.as_bytes())));
        assert_eq!(bond.user.as_str(), logins::user(device.key));
        assert!(table.window.is_over() && table.window.failed().is_none());
    }
}

#[test]
fn nothing_is_registered_before_the_person_at_the_device_has_confirmed() {
    let (mut table, _) = Table::showing();
    let mut answer = table.give("shelf");
    table.wait(30_000);
    assert!(answer.try_recv().is_err() && !table.window.is_over());
    table.device.button(Millis(table.now), Button::Deny, Edge::Pressed);
    table.device.button(Millis(table.now), Button::Deny, Edge::Released);
    table.exchange();
    assert!(matches!(answer.try_recv().unwrap(), Err(PairError::Declined)));
}

#[test]
fn a_no_at_the_hub_is_a_no_at_the_device() {
    let (mut table, shown) = Table::showing();
    assert_eq!(table.window.shows(shown.code.number()), Some(PublicKey([2; 32])));
    assert_eq!(table.window.shows((shown.code.number() + 1) % 1_000_000), None);
    table.window.end(PairError::Refused);
    table.exchange();
    assert_eq!(table.device.shown(Millis(table.now)), OnDevice::Failed);
    assert!(table.window.failed().is_some_and(|why| why.contains("another one")));
}

#[test]
fn time_runs_out_before_a_device_comes_and_while_people_compare() {
    let mut table = Table::new(false, false);
    assert_eq!(table.window.next_tick(), table.start + WAIT);
    table.window.tick(table.start + WAIT);
    assert!(matches!(table.shown.try_recv().unwrap(), Err(PairError::Nobody)));

    let (mut table, _) = Table::showing();
    let mut answer = table.give("shelf");
    table.wait(60_000);
    assert!(matches!(answer.try_recv().unwrap(), Err(PairError::Late | PairError::Declined)));
}

#[test]
fn an_attempt_ends_when_its_caller_leaves_while_it_waits_for_a_device_or_for_the_person_there() {
    let mut table = Table::new(false, false);
    table.window.tick(table.at());
    assert!(!table.window.is_over());
    table.shown.close();
    table.window.tick(table.at());
    assert!(table.window.is_over() && table.window.failed().is_some_and(|why| why.contains("closed")));

    // While the number is shown, no caller waits: its next call says what the person typed.
    let (mut table, _) = Table::showing();
    table.shown.close();
    table.window.tick(table.at());
    assert!(!table.window.is_over());

    let answer = table.give("shelf");
    table.exchange();
    drop(answer);
    table.window.tick(table.at());
    table.exchange();
    assert!(table.window.is_over() && table.window.failed().is_some_and(|why| why.contains("closed")));
    assert_eq!(table.device.shown(Millis(table.now)), OnDevice::Failed);
}

#[test]
fn a_program_is_paired_only_where_programs_may_decide_and_says_what_it_is() {
    let mut table = Table::new(true, false);
    table.exchange();
    assert!(matches!(table.shown.try_recv().unwrap(), Err(PairError::Program)));
    assert_eq!(table.device.shown(Millis(table.now)), OnDevice::Failed);

    let mut table = Table::new(true, true);
    table.exchange();
    assert!(table.shown.try_recv().unwrap().unwrap().program);
}

#[test]
fn the_first_device_is_the_only_one() {
    let (mut table, _) = Table::showing();
    let mut other = device(false);
    other.connected(Millis(0));
    other.tick(Millis(0));
    let first = other.next_payload().unwrap();
    assert_eq!(table.window.received(table.at(), other.attempt(), &first), None);
    assert_eq!(table.window.next_payload(), None);
    let mut answer = table.give("shelf");
    table.exchange();
    table.hold();
    assert!(answer.try_recv().unwrap().is_ok());
}

#[test]
fn what_was_changed_on_its_way_pairs_nobody() {
    let mut table = Table::new(false, false);
    table.device.tick(Millis(0));
    let mut first = table.device.next_payload().unwrap();
    let last = first.len() - 1;
    // Another commitment than the device's: its third message cannot be read.
    first[last] ^= 1;
    table.window.received(table.at(), table.device.attempt(), &first);
    table.exchange();
    table.wait(10_000);
    assert!(table.shown.try_recv().is_err(), "no number is shown");
}

#[test]
fn a_disturber_ends_the_attempt_and_pairs_nobody() {
    let (mut table, _) = Table::showing();
    let mut answer = table.give("shelf");
    for _ in 0..MAX_FAULTS {
        let forged = written_up(&Up::Sealed { number: 9, bytes: &[7; 40] });
        assert_eq!(table.window.received(table.at(), table.device.attempt(), &forged), None);
    }
    assert!(matches!(answer.try_recv().unwrap(), Err(PairError::Disturbed)));
}

#[test]
fn who_pairs_a_device_with_older_firmware_is_told_to_update_it() {
    let mut table = Table::new(false, false);
    let mut first = written_up(&Up::First { noise: &[7; 64] });
    first[0] = envelope::OLDEST;
    assert_eq!(table.window.received(table.at(), table.device.attempt(), &first), None);
    let answer = table.shown.try_recv().unwrap();
    assert!(matches!(answer, Err(PairError::Firmware)), "{answer:?}");
    assert!(table.window.failed().is_some_and(|why| why.contains("too old")));
}

fn written_up(up: &Up<'_>) -> Vec<u8> {
    envelope::encode(up, &mut [0; MAX_FRAME]).unwrap().to_vec()
}

//! Who gets a release, and when.

use gatepost_link::update::Version;
use jiff::tz::TimeZone;

use super::*;

const BOARD: &str = "esp32c3";
const HOUR: i64 = 3_600_000;
/// Noon of a day.
const NOW: i64 = 1_790_000_000_000 / (24 * HOUR) * (24 * HOUR) + 12 * HOUR;

fn version(text: &str) -> Version {
    Version::new(text).unwrap()
}

fn release() -> Release {
    Release {
        seq: 1,
        board: BOARD.into(),
        version: version("1.1.0"),
        floor: version("1.0.0"),
        size: 900_000,
        image: [7; 32],
        file: [8; 32],
        root: 1,
        expires: u64::try_from(NOW / 1000).unwrap() + 1000,
        added_at: NOW - HOUR,
    }
}

fn rollout() -> Rollout {
    Rollout {
        board: BOARD.into(),
        release: 1,
        at: NOW - HOUR,
        by: "operator".into(),
        to: vec![],
        now: false,
        again: false,
        paused: false,
    }
}

fn policy() -> Policy {
    Policy { soak: Duration::from_hours(24), hours: Hours::all_day(TimeZone::UTC) }
}

/// A companion that is here and runs the version before.
fn companion(id: u8) -> Companion {
    let firmware = Firmware {
        board: BOARD.into(),
        version: version("1.0.0"),
        floor: version("1.0.0"),
        root: 1,
        state: State::Settled,
        since: NOW - 100 * HOUR,
    };
    Companion {
        key: PublicKey([id; 32]),
        name: format!("c{id}"),
        able: true,
        here: true,
        decided_at: None,
        firmware: Some(firmware),
        install: None,
    }
}

impl Companion {
    fn away(self) -> Self {
        Self { able: false, here: false, ..self }
    }

    fn at(self, stage: Stage, since: i64) -> Self {
        Self { install: Some(Install { release: 1, stage, why: None, since }), ..self }
    }

    /// It runs the release since then.
    fn updated(mut self, since: i64) -> Self {
        let firmware = self.firmware.as_mut().unwrap();
        (firmware.version, firmware.since) = (version("1.1.0"), since);
        self
    }

    fn in_state(mut self, state: State) -> Self {
        self.firmware.as_mut().unwrap().state = state;
        self
    }

    fn decided(self, at: i64) -> Self {
        Self { decided_at: Some(at), ..self }
    }
}

fn turns_by(
    rollout: &Rollout,
    release: &Release,
    companions: &[Companion],
    policy: &Policy,
    quorum: u32,
) -> Vec<Turn> {
    judge(&[Plan { rollout, release }], companions, policy, quorum, NOW)
}

fn turns(companions: &[Companion]) -> Vec<Turn> {
    turns_by(&rollout(), &release(), companions, &policy(), 1)
}

fn behind(name: &str) -> Turn {
    Turn::Waits(Wait::Behind(name.into()))
}

#[test]
fn one_goes_first_and_the_next_only_once_it_has_proved_the_release() {
    let until = |since: i64| Turn::Waits(Wait::Soak("c1".into(), since + 24 * HOUR));
    let (c1, c2, c3) = (companion(1), companion(2), companion(3));
    for (first, wanted) in [
        (c1.clone(), [Turn::Offer, behind("c1"), behind("c1")]),
        (c1.clone().at(Stage::Taking, NOW), [Turn::Offer, behind("c1"), behind("c1")]),
        (c1.clone().at(Stage::Asking, NOW - 30 * HOUR), [Turn::Offer, behind("c1"), behind("c1")]),
        (c1.clone().at(Stage::Installing, NOW), [Turn::Changing, behind("c1"), behind("c1")]),
        (
            c1.clone().updated(NOW).in_state(State::Trial([7; 8])),
            [Turn::Changing, behind("c1"), behind("c1")],
        ),
        (c1.clone().updated(NOW - HOUR), [Turn::Has, until(NOW - HOUR), until(NOW - HOUR)]),
        (c1.clone().updated(NOW - 24 * HOUR), [Turn::Has, Turn::Offer, behind("c2")]),
        // A card that was decided with it proves it, one from before does not.
        (c1.clone().updated(NOW - HOUR).decided(NOW - 1), [Turn::Has, Turn::Offer, behind("c2")]),
        (
            c1.clone().updated(NOW - HOUR).decided(NOW - 2 * HOUR),
            [Turn::Has, until(NOW - HOUR), until(NOW - HOUR)],
        ),
        // Nobody waits for one that is switched off before it begins, and nobody goes on while it may hang.
        (c1.clone().away(), [Turn::Waits(Wait::Away), Turn::Offer, behind("c2")]),
        (c1.clone().at(Stage::Taking, NOW).away(), [Turn::Waits(Wait::Away), Turn::Offer, behind("c2")]),
        (c1.clone().at(Stage::Installing, NOW).away(), [Turn::Changing, behind("c1"), behind("c1")]),
    ] {
        let given = turns(&[first.clone(), c2.clone(), c3.clone()]);
        assert_eq!(given, wanted, "{first:?}");
    }
}

#[test]
fn it_stops_at_the_first_that_went_back_or_refused_until_somebody_says_so_again() {
    let stopped = Turn::Waits(Wait::Stopped("c1".into()));
    for (stage, ended) in [(Stage::WentBack, Ended::WentBack), (Stage::Refused, Ended::Refused)] {
        let all = [companion(1).at(stage, NOW - 1), companion(2)];
        assert_eq!(turns(&all), [Turn::Ended(ended), stopped.clone()]);
        // Somebody rolls it out once more: what was refused may be taken now, what went back may not.
        let later = Rollout { at: NOW, ..rollout() };
        let given = turns_by(&later, &release(), &all, &policy(), 1);
        match stage {
            Stage::WentBack => assert_eq!(given, [Turn::Ended(Ended::WentBack), Turn::Offer]),
            _ => assert_eq!(given, [Turn::Offer, behind("c1")]),
        }
        let again = Rollout { again: true, ..later };
        assert_eq!(turns_by(&again, &release(), &all, &policy(), 1), [Turn::Offer, behind("c1")]);
    }
    // A person who says no stops it for this companion alone.
    let declined = [companion(1).at(Stage::Declined, NOW - 1), companion(2)];
    assert_eq!(turns(&declined), [Turn::Ended(Ended::Declined), Turn::Offer]);
    let before = [companion(1).at(Stage::Declined, NOW - 2 * HOUR), companion(2)];
    assert_eq!(turns(&before), [Turn::Offer, behind("c1")]);
    // The device remembers what the hub may have forgotten.
    let known = [companion(1).in_state(State::WentBack([7; 8])), companion(2)];
    assert_eq!(turns(&known), [Turn::Ended(Ended::WentBack), Turn::Offer]);
    let other = [companion(1).in_state(State::WentBack([9; 8]))];
    assert_eq!(turns(&other), [Turn::Offer], "that was another image");
}

#[test]
fn one_that_does_not_come_back_stops_those_that_were_to_follow_and_nobody_else() {
    let (c1, c2) = (companion(1).away(), companion(2));
    let minutes = |minutes: i64| NOW - minutes * 60_000;
    let of = |rollout: &Rollout, first: Companion| {
        turns_by(rollout, &release(), &[first, c2.clone()], &policy(), 1)[1].clone()
    };
    let silent = |since| Turn::Waits(Wait::Silent("c1".into(), since));
    let mut on_trial = c1.clone().in_state(State::Trial([7; 8]));
    on_trial.firmware.as_mut().unwrap().since = minutes(16);
    for first in [c1.clone().at(Stage::Installing, minutes(16)), on_trial.clone()] {
        assert_eq!(of(&rollout(), first), silent(minutes(16)));
    }
    // Three starts of three minutes each, and some time to say what became of it.
    assert_eq!(of(&rollout(), c1.clone().at(Stage::Installing, minutes(15))), behind("c1"));
    let heard = on_trial.clone().at(Stage::Installing, minutes(3));
    assert_eq!(of(&rollout(), heard), behind("c1"), "its last word counts");
    // A way out: it is not among those that are named. It is no approver meanwhile all the same.
    let others = Rollout { to: vec![c2.key], now: true, ..rollout() };
    let (long_ago, just_now) = (c1.clone().at(Stage::Installing, minutes(16)), c1.at(Stage::Installing, NOW));
    for first in [long_ago, just_now, on_trial] {
        assert_eq!(of(&others, first.clone()), Turn::Waits(Wait::Quorum(1)));
        let three = [first, c2.clone(), companion(3)];
        assert_eq!(turns_by(&others, &release(), &three, &policy(), 1)[1], Turn::Offer);
    }
}

#[test]
fn enough_stay_who_can_be_asked() {
    let of = |companions: &[Companion], quorum| {
        let now = Rollout { now: true, ..rollout() };
        turns_by(&now, &release(), companions, &policy(), quorum)
    };
    let wait = Turn::Waits(Wait::Quorum(2));
    let (c1, c2, c3) = (companion(1), companion(2), companion(3));
    assert_eq!(of(&[c1.clone(), c2.clone(), c3.clone()], 2), [Turn::Offer, behind("c1"), behind("c1")]);
    assert_eq!(
        of(&[c1.clone(), c2.clone(), c3.clone().away()], 2),
        [wait.clone(), behind("c1"), Turn::Waits(Wait::Away)]
    );
    assert_eq!(
        of(&[c1.clone().at(Stage::Asking, NOW), c2.clone(), c3.clone().away()], 2)[0],
        wait,
        "one that was offered it is told that it is not any more"
    );
    assert_eq!(of(&[c1.clone(), c2.clone()], 2), [Turn::Offer, behind("c1")], "there are no others");
    assert_eq!(of(std::slice::from_ref(&c1), 1), [Turn::Offer]);
    assert_eq!(of(&[c1.clone(), c2.clone().away()], 1)[0], Turn::Waits(Wait::Quorum(1)));
    let outdated = Companion { able: false, ..c1.clone() };
    assert_eq!(of(&[outdated, c2.clone(), c3.clone()], 2)[0], Turn::Offer, "it approves nothing as it is");
    // Companions of other boards approve too, and whoever restarts does not.
    let elsewhere = |mut companion: Companion| {
        companion.firmware.as_mut().unwrap().board = "qemu-virt".into();
        companion
    };
    assert_eq!(of(&[c1.clone(), elsewhere(c2.clone())], 1), [Turn::Offer, Turn::Nothing]);
    let trial = elsewhere(c2.clone()).in_state(State::Trial([1; 8])).away();
    assert_eq!(of(&[c1.clone(), trial], 1)[0], Turn::Waits(Wait::Quorum(1)));
}

#[test]
fn boards_do_not_take_approvers_from_each_other() {
    let other = Release { seq: 2, board: "qemu-virt".into(), ..release() };
    let (one, two) = (rollout(), Rollout { board: "qemu-virt".into(), release: 2, ..rollout() });
    let plans = [Plan { rollout: &one, release: &release() }, Plan { rollout: &two, release: &other }];
    let mut c2 = companion(2);
    c2.firmware.as_mut().unwrap().board = "qemu-virt".into();
    let both = [companion(1), c2.clone()];
    assert_eq!(judge(&plans, &both, &policy(), 1, NOW), [Turn::Offer, Turn::Waits(Wait::Quorum(1))]);
    let three = [companion(1), c2, companion(3)];
    assert_eq!(judge(&plans, &three, &policy(), 1, NOW), [Turn::Offer, Turn::Offer, behind("c1")]);
}

#[test]
fn what_holds_everybody_and_what_now_skips() {
    let closed = Policy { hours: Hours::parse("02:00-06:00", TimeZone::UTC).unwrap(), ..policy() };
    let all = [companion(1).updated(NOW - HOUR), companion(2)];
    let now = Rollout { now: true, ..rollout() };
    let of = |rollout: &Rollout, policy: &Policy| turns_by(rollout, &release(), &all, policy, 1)[1].clone();
    assert_eq!(of(&rollout(), &closed), Turn::Waits(Wait::Hours(NOW + 14 * HOUR)));
    assert!(matches!(of(&rollout(), &policy()), Turn::Waits(Wait::Soak(..))));
    assert_eq!(of(&now, &closed), Turn::Offer);
    let paused = Rollout { paused: true, ..now };
    assert_eq!(of(&paused, &policy()), Turn::Waits(Wait::Paused));
    let expired = Release { expires: u64::try_from(NOW / 1000).unwrap(), ..release() };
    assert_eq!(turns_by(&rollout(), &expired, &all, &policy(), 1)[1], Turn::Waits(Wait::Expired));
}

#[test]
fn only_companions_that_are_meant_and_can_take_it_get_it() {
    let named = Rollout { to: vec![PublicKey([2; 32]), PublicKey([1; 32])], ..rollout() };
    let all = [companion(1), companion(2), companion(3)];
    let given = turns_by(&named, &release(), &all, &policy(), 1);
    assert_eq!(given, [behind("c2"), Turn::Offer, Turn::Ended(Ended::NotNamed)], "in the order of the names");

    let with = |change: &dyn Fn(&mut Firmware)| {
        let mut one = companion(1);
        change(one.firmware.as_mut().unwrap());
        turns(&[one])[0].clone()
    };
    assert_eq!(
        with(&|it| it.board = "esp32c6".into()),
        Turn::Nothing,
        "for another board it is never offered"
    );
    assert_eq!(with(&|it| it.version = version("1.2.0")), Turn::Has);
    assert_eq!(with(&|it| it.root = 0), Turn::Ended(Ended::NoRoot));
    assert_eq!(with(&|it| it.floor = version("1.1.1")), Turn::Ended(Ended::BelowFloor));
    let silent = Companion { firmware: None, ..companion(1) };
    assert_eq!(turns(&[silent]), [Turn::Nothing]);
}

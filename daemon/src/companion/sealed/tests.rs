//! A companion's sessions, with somebody else on the broker.

use gatepost_link::frame::{Up, Withdrawal};

use super::*;
use crate::companion::testing::{Device, ENDS, HUB, device};

const READY: Up = Up::Ready;

fn hub() -> Sealed {
    Sealed::new(ENDS, HUB, device(), VERSION)
}

/// Long enough after the last thing for no bound to be in the way.
fn later(now: &mut Instant) -> Instant {
    *now += Duration::from_secs(60);
    *now
}

/// Opens a session; what is heard of its first frame.
fn session(hub: &mut Sealed, device: &mut Device, now: Instant) -> SessionHash {
    let open = device.open();
    assert_eq!(hub.received(now, &open), Ok(Heard::Nothing));
    while let Some(payload) = hub.next_payload() {
        device.hear(&payload);
    }
    match hub.received(now, &device.say(&READY)) {
        Ok(Heard::Frame { session, begins: true, .. }) => session,
        other => panic!("{other:?}"),
    }
}

fn is_frame(result: &Result<Heard, Fault>) -> bool {
    matches!(result, Ok(Heard::Frame { begins: false, .. }))
}

#[test]
fn frames_go_both_ways_in_a_session() {
    let (mut hub, mut device, now) = (hub(), Device::new(), Instant::now());
    session(&mut hub, &mut device, now);
    assert!(is_frame(&hub.received(now, &device.say(&READY))));
    let over =
        frame::Down::Withdraw { request: gatepost_link::RequestId([1; 16]), reason: Withdrawal::Expired };
    hub.say(&over);
    assert_eq!(device.kind(&hub.next_payload().unwrap()), "Withdraw");
}

#[test]
fn a_session_is_not_the_present_one_before_something_arrived_in_it() {
    let (mut hub, mut device, mut now) = (hub(), Device::new(), Instant::now());
    session(&mut hub, &mut device, now);
    // Somebody says again how a session began, or how one began that never came about.
    let unused = Device::new().open();
    assert_eq!(hub.received(later(&mut now), &unused), Ok(Heard::Nothing));
    assert!(is_frame(&hub.received(now, &device.say(&READY))), "the present one goes on");
}

#[test]
fn a_beginning_said_twice_is_answered_twice_and_begins_one_session() {
    let (mut hub, mut device, mut now) = (hub(), Device::new(), Instant::now());
    let open = device.open();
    hub.received(now, &open).unwrap();
    let answer = hub.next_payload().unwrap();
    hub.received(later(&mut now), &open).unwrap();
    assert_eq!(hub.next_payload(), Some(answer.clone()));
    device.hear(&answer);
    let ready = device.say(&READY);
    assert!(matches!(hub.received(now, &ready), Ok(Heard::Frame { begins: true, .. })));
    assert_eq!(hub.received(now, &ready), Ok(Heard::Nothing), "delivered twice");
    assert_eq!(hub.received(now, &open), Ok(Heard::Nothing), "and so was its beginning");
    assert!(is_frame(&hub.received(now, &device.say(&READY))));
}

#[test]
fn the_beginning_of_an_earlier_session_is_a_replay() {
    let (mut hub, mut device, mut now) = (hub(), Device::new(), Instant::now());
    let first = device.open();
    hub.received(now, &first).unwrap();
    device.hear(&hub.next_payload().unwrap());
    session(&mut hub, &mut device, later(&mut now));
    assert_eq!(hub.received(later(&mut now), &first), Err(Fault::Replayed));
    assert!(is_frame(&hub.received(now, &device.say(&READY))));
}

#[test]
fn what_was_forged_cut_or_recorded_earlier_changes_nothing() {
    let (mut hub, mut device, mut now) = (hub(), Device::new(), Instant::now());
    session(&mut hub, &mut device, now);
    let old = device.say(&READY);
    assert!(is_frame(&hub.received(now, &old)));
    session(&mut hub, &mut device, later(&mut now));
    session(&mut hub, &mut device, later(&mut now));
    assert_eq!(hub.received(now, &old), Err(Fault::Forged), "of a session long ago");
    let genuine = device.say(&READY);
    for at in 3..genuine.len() {
        let mut forged = genuine.clone();
        forged[at] ^= 1;
        assert!(hub.received(now, &forged).is_err(), "byte {at}");
    }
    for length in 0..genuine.len() {
        assert!(hub.received(now, &genuine[..length]).is_err(), "{length} bytes");
    }
    assert!(is_frame(&hub.received(now, &genuine)));
}

#[test]
fn another_version_is_refused_by_name_and_an_older_one_as_a_downgrade() {
    let (mut hub, mut device, now) = (hub(), Device::new(), Instant::now());
    let mut open = device.open();
    open[0] = 2;
    assert_eq!(hub.received(now, &open), Err(Fault::Frame(FrameError::Version(2))));
    let mut hub = Sealed::new(ENDS, HUB, crate::companion::testing::device(), VERSION + 1);
    let downgrade = FrameError::Downgrade { found: VERSION, seen: VERSION + 1 };
    assert_eq!(hub.received(now, &device.open()), Err(Fault::Frame(downgrade)));
}

#[test]
fn a_lost_frame_and_one_that_comes_too_soon_end_the_session() {
    let (mut hub, mut device, now) = (hub(), Device::new(), Instant::now());
    session(&mut hub, &mut device, now);
    let (_lost, next) = (device.say(&READY), device.say(&READY));
    assert_eq!(hub.received(now, &next), Err(Fault::Gap));
    assert!(!hub.is_open());
    assert!(hub.next_payload().is_some(), "the companion is asked for a new one");
    assert_eq!(hub.received(now, &device.say(&READY)), Ok(Heard::Nothing), "nothing counts in between");
}

#[test]
fn a_second_device_with_the_same_keys_is_found_by_its_own_or_the_others_next_frame() {
    for first_speaks in [true, false] {
        let (mut hub, mut now) = (hub(), Instant::now());
        let (mut device, mut clone) = (Device::new(), Device::new());
        session(&mut hub, &mut device, now);
        session(&mut hub, &mut clone, later(&mut now));
        if first_speaks {
            assert_eq!(hub.received(now, &device.say(&READY)), Err(Fault::Cloned));
        } else {
            let _lost = device.say(&READY);
            assert_eq!(hub.received(now, &device.say(&READY)), Err(Fault::Cloned), "whatever its number");
        }
        assert!(!hub.is_open(), "neither can be trusted with the other's session");
    }
}

#[test]
fn a_late_double_of_the_last_session_is_no_clone() {
    let (mut hub, mut device, mut now) = (hub(), Device::new(), Instant::now());
    session(&mut hub, &mut device, now);
    let late = device.say(&READY);
    assert!(is_frame(&hub.received(now, &late)));
    session(&mut hub, &mut device, later(&mut now));
    assert_eq!(hub.received(now, &late), Ok(Heard::Nothing));
    assert!(is_frame(&hub.received(now, &device.say(&READY))));
}

#[test]
fn a_hub_without_a_session_asks_for_one_once_a_second() {
    let (mut other, mut device, now) = (hub(), Device::new(), Instant::now());
    session(&mut other, &mut device, now);
    let mut hub = hub();
    for second in 0..3 {
        for _ in 0..100 {
            let payload = device.say(&READY);
            assert_eq!(hub.received(now + Duration::from_secs(second), &payload), Ok(Heard::Nothing));
        }
    }
    assert_eq!(std::iter::from_fn(|| hub.next_payload()).count(), 3);
}

#[test]
fn nobody_else_ends_a_session_in_which_somebody_speaks() {
    let (mut hub, mut device, mut now) = (hub(), Device::new(), Instant::now());
    session(&mut hub, &mut device, now);
    for _ in 0..50 {
        now += Duration::from_secs(5);
        assert!(is_frame(&hub.received(now, &device.say(&READY))));
        let mut forged = device.say(&READY);
        let genuine = forged.clone();
        forged[20] ^= 1;
        assert_eq!(hub.received(now, &forged), Err(Fault::Forged));
        assert!(is_frame(&hub.received(now, &genuine)));
        assert_eq!(hub.next_payload(), None, "and nobody is asked for another");
    }
}

#[test]
fn nothing_is_said_without_a_session() {
    let mut hub = hub();
    hub.say(&frame::Down::Revoked);
    assert_eq!(hub.next_payload(), None);
}

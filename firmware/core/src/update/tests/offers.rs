//! An offer counts in its session, by the root and the time of now: whatever ended since is not installed.

use std::vec;

use gatepost_link::{
    frame::{Down, NotTaken, Progress, Report},
    update::rule::Unfit,
};

use super::{
    device::{Fixture, Flash},
    fetched, has,
    hub::{self, NOW, Release, version},
    refused,
};
use crate::{
    Button::{Approve, Deny},
    Edge::{Pressed, Released},
    View,
    decision::app::QUIET_MS,
    ui::buttons::HOLD,
};

fn asks(fixture: &Fixture<'_>) -> bool {
    matches!(fixture.view(), View::Question { .. })
}

/// Holds Approve; whether that installs something.
fn hold_installs(fixture: &mut Fixture<'_>) -> bool {
    fixture.hold(HOLD + 100);
    fixture.wait(1_500);
    has(&fixture.sent, Progress::Installing) || fixture.view() == View::Installing || fixture.restarts()
}

#[test]
fn without_a_connection_nothing_is_asked_and_no_hold_installs() {
    let flash = Flash::new();
    let mut fixture = fetched(&flash, &Release::new(2));
    fixture.disconnect();
    assert!(!asks(&fixture));
    assert!(!hold_installs(&mut fixture));
    fixture.wait(60_000);
    assert!(!hold_installs(&mut fixture));
}

#[test]
fn a_new_session_asks_only_for_what_the_hub_offers_in_it_and_wants_a_new_hold() {
    let flash = Flash::new();
    let release = Release::new(2);
    let mut fixture = fetched(&flash, &release);
    for disconnects in [true, false] {
        if disconnects {
            fixture.disconnect();
            fixture.wait(30_000);
        }
        fixture.sent.clear();
        fixture.connect();
        fixture.wait(5_000);
        assert!(!asks(&fixture) && !has(&fixture.sent, Progress::Asking), "{disconnects}");
        assert!(!hold_installs(&mut fixture), "{disconnects}");
        let fetches = fixture.fetches();
        fixture.offer(&release);
        assert!(asks(&fixture) && has(&fixture.sent, Progress::Asking), "{disconnects}");
        assert_eq!(fixture.fetches(), fetches, "nothing is fetched anew");
    }

    // A hold that lasts over both sessions is none.
    fixture.edge(Approve, Pressed);
    fixture.wait(HOLD - 100);
    fixture.connect();
    fixture.offer(&release);
    fixture.wait(HOLD * 2);
    assert!(asks(&fixture) && !has(&fixture.sent, Progress::Installing));
    fixture.edge(Approve, Released);
    fixture.wait(100);
    assert!(hold_installs(&mut fixture));
}

#[test]
fn what_becomes_whole_in_a_session_in_which_it_is_not_offered_is_not_asked_about() {
    let flash = Flash::new();
    let release = Release::new(2);
    let mut fixture = Fixture::online(&flash);
    fixture.offer(&release);
    fixture.wait(QUIET_MS);
    // Everything was served; the whole is still to be hashed.
    while fixture.image_fetches() < release.bytes.len().div_ceil(2_048) {
        fixture.wait(1);
    }
    assert!(!has(&fixture.sent, Progress::Asking));
    fixture.disconnect();
    fixture.connect();
    fixture.sent.clear();
    fixture.wait(QUIET_MS + 10_000);
    assert!(!asks(&fixture) && !has(&fixture.sent, Progress::Asking));
    assert_eq!(fixture.fetches(), 0, "of what is not offered");
    fixture.offer(&release);
    fixture.wait(QUIET_MS + 10_000);
    assert!(asks(&fixture));
}

#[test]
fn a_new_root_voids_what_the_old_one_vouched_for() {
    let second = hub::root_file(2, 2, 12, 1);
    let (by_old_key, by_new_key) = (Release::new(2), Release::new(2).signed_by(12));
    for is_whole in [true, false] {
        let flash = Flash::new();
        let mut fixture = Fixture::online(&flash);
        fixture.lose_every = if is_whole { 0 } else { 5 };
        fixture.offer(&by_old_key);
        fixture.wait(QUIET_MS + if is_whole { 10_000 } else { 100 });
        assert!(asks(&fixture) == is_whole && fixture.fetches() >= 5, "{}", fixture.fetches());
        fixture.lose_every = 0;
        fixture.down(&Down::Root(&second));
        assert!(!asks(&fixture));
        assert!(!hold_installs(&mut fixture), "{is_whole}");
        fixture.wait(QUIET_MS + 10_000);
        assert!(has(&fixture.sent, Progress::Asking) == is_whole && !asks(&fixture), "{is_whole}");
        fixture.offer(&by_old_key);
        assert_eq!(refused(&fixture.sent), Some(NotTaken::Signature), "{is_whole}");
        // What is in the slot already is not fetched again for the new key.
        fixture.offer(&by_new_key);
        fixture.wait(QUIET_MS + 10_000);
        assert!(asks(&fixture), "{is_whole}");
        assert_eq!(fixture.fetches() == 0, is_whole);
    }
}

#[test]
fn a_root_that_is_not_taken_voids_nothing() {
    let flash = Flash::new();
    let mut fixture = fetched(&flash, &Release::new(2));
    for file in [hub::root_file(2, 66, 67, 66), hub::root_file(3, 3, 13, 2), hub::first_root(), vec![]] {
        fixture.down(&Down::Root(&file));
        assert!(asks(&fixture));
    }
    assert!(hold_installs(&mut fixture));
}

#[test]
fn what_expires_while_it_is_asked_about_is_not_installed() {
    let expired = Some(NotTaken::Unfit(Unfit::Expired));
    // The hub says so.
    let flash = Flash::new();
    let release = Release::new(2).with(|it| it.expires = NOW + 3_600);
    let mut fixture = fetched(&flash, &release);
    fixture.offered_at(&release, NOW + 3_599, false);
    assert!(asks(&fixture));
    fixture.offered_at(&release, NOW + 3_600, false);
    assert_eq!((asks(&fixture), refused(&fixture.sent)), (false, expired));
    assert!(!hold_installs(&mut fixture));

    // The time passes within the session.
    let mut fixture = fetched(&flash, &release);
    let report = Report { held: 0, queued: 0, sent: 0, last_s: None, clock_s: None };
    for _ in 0..59 {
        assert!(asks(&fixture));
        fixture.wait(60_000);
        fixture.down(&Down::Status(report));
    }
    fixture.wait(60_000);
    assert!(!hold_installs(&mut fixture));
    assert_eq!((asks(&fixture), refused(&fixture.sent)), (false, expired));
    assert_eq!(flash.boot().map(|(_, running)| running), Some(version(1)));
}

#[test]
fn a_person_who_said_no_is_not_asked_again_because_the_hub_took_it_back_in_between() {
    let flash = Flash::new();
    let (release, other) = (Release::new(2), Release::new(3));
    let mut fixture = fetched(&flash, &release);
    fixture.edge(Deny, Pressed);
    fixture.edge(Deny, Released);
    fixture.wait(100);
    for between in 0..3 {
        match between {
            0 => fixture.down(&Down::NoUpdate),
            1 => {
                fixture.offer(&other);
                fixture.wait(1_000);
            }
            _ => {
                fixture.disconnect();
                fixture.connect();
            }
        }
        fixture.offer(&release);
        fixture.wait(QUIET_MS + 5_000);
        assert!(has(&fixture.sent, Progress::Declined) && !asks(&fixture), "{between}");
    }
    fixture.offer_again(&release);
    fixture.wait(QUIET_MS + 5_000);
    assert!(asks(&fixture), "somebody wants it");
}

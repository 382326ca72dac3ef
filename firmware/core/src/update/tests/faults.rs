//! A flash that fails, or whose power is cut, around a trial.

use gatepost_link::{
    frame::{Progress, State},
    update::Version,
};

use super::{
    device::{Fixture, Flash},
    fetched, floor, has,
    hub::{Release, version},
    refused, state,
};
use crate::{Storage as _, slots::Slot, ui::buttons::HOLD, update::updater::PROOF_MS};

/// A device that has installed version 3, with which the floor rises to 2, and is to be started.
fn installed() -> Flash {
    let flash = Flash::new();
    let release = Release::new(3).with(|it| it.floor = version(2));
    drop(fetched(&flash, &release).installing());
    flash
}

/// Starts a device, and lets it run for a while; whether its firmware ran.
fn lives(flash: &Flash) -> bool {
    let Ok(Some(mut fixture)) = Fixture::try_started(flash) else { return false };
    fixture.connect();
    fixture.wait(PROOF_MS + 3_000);
    true
}

#[test]
fn a_cut_while_an_image_is_confirmed_leaves_neither_floor_nor_old_image_behind() {
    let device = installed();
    let (mut cuts, mut confirmed) = (0, 0);
    for cut in 0.. {
        let flash = device.again(cut as u64);
        flash.power_on(Some(cut));
        lives(&flash);
        if !flash.whole.borrow().was_cut() {
            break;
        }
        cuts += 1;
        // One start at most was spent, and one is cut again.
        for second in [Some(cut % 300), None, None] {
            flash.power_on(second);
            lives(&flash);
        }
        assert_eq!(flash.boot(), Some((Slot::Ota1, version(3))), "cut {cut}");
        let fixture = Fixture::online(&flash);
        assert_eq!((state(&fixture.sent), floor(&fixture.sent)), (Some(State::Settled), Some(version(2))));
        assert_eq!(flash.image(Slot::Ota0), None, "cut {cut}: it is below the floor");
        confirmed += 1;
    }
    assert!(cuts > 400 && confirmed == cuts, "{confirmed} of {cuts}");
}

#[test]
fn what_is_below_the_floor_is_erased_once_and_not_what_is_fetched_afterwards() {
    let flash = installed();
    assert!(lives(&flash));
    let release = Release::new(4);
    let mut fixture = Fixture::online(&flash);
    fixture.offer(&release);
    fixture.wait(crate::decision::app::QUIET_MS + 10_000);
    assert!(has(&fixture.sent, Progress::Asking));
    drop(fixture);
    assert_eq!(flash.image(Slot::Ota0), Some(version(4)));
    let erases = flash.whole.borrow().erases;
    assert!(lives(&flash));
    assert_eq!((flash.image(Slot::Ota0), flash.whole.borrow().erases), (Some(version(4)), erases));
}

#[test]
fn a_trial_whose_record_cannot_be_read_is_one_all_the_same() {
    let device = Flash::new();
    drop(fetched(&device, &Release::new(2)).installing());
    device.lower_link_version();
    let seen = |flash: &Flash| flash.storage().load_bond().unwrap().unwrap().version;
    let (before, mut starts) = (seen(&device), 0);
    for first in 0..12 {
        for length in 1..12 {
            let flash = device.copy();
            flash.power_on(None);
            flash.whole.borrow_mut().failing_reads = first..first + length;
            // What cannot read its keys panics, and restarts.
            let Ok(Some(mut fixture)) = Fixture::try_started(&flash) else { continue };
            flash.whole.borrow_mut().failing_reads = 0..0;
            fixture.connect();
            let said = state(&fixture.sent);
            assert!(matches!(said, Some(State::Trial(_))), "reads from {first}, {length}: {said:?}");
            assert_eq!(seen(&flash), before, "reads from {first}, {length}");
            fixture.wait(PROOF_MS + 3_000);
            assert_eq!(state(&fixture.sent), Some(State::Settled), "reads from {first}, {length}");
            assert_eq!(seen(&flash), gatepost_link::envelope::VERSION);
            starts += 1;
        }
    }
    assert!(starts > 5, "{starts}");
}

#[test]
fn what_is_refused_because_of_the_flash_is_not_started_next() {
    let device = Flash::new();
    let release = Release::new(2);
    let (mut refusals, mut floors) = (0, 0);
    for read in 0.. {
        let flash = device.copy();
        let mut fixture = fetched(&flash, &release);
        flash.power_on(None);
        flash.whole.borrow_mut().failing_reads = read..read + 1;
        fixture.hold(HOLD + 100);
        let is_past = flash.whole.borrow().reads <= read;
        flash.whole.borrow_mut().failing_reads = 0..0;
        let boots = flash.boot().map(|(_, version)| version);
        if refused(&fixture.sent).is_some() {
            assert_eq!(boots, Some(version(1)), "read {read}");
            assert!(!fixture.restarts());
            refusals += 1;
            drop(fixture);
            let fixture = Fixture::online(&flash);
            assert_eq!(state(&fixture.sent), Some(State::Settled), "read {read}");
            floors += usize::from(floor(&fixture.sent) == Some(Version::default()));
        } else {
            assert_eq!(boots, Some(version(2)), "read {read}");
        }
        if is_past {
            break;
        }
    }
    assert!(refusals > 5 && floors == refusals, "{refusals}");
}

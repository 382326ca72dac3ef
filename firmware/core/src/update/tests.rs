//! A device with two slots and its hub: a release from its offer to its confirmation, and whatever must not be installed.

mod cuts;
mod device;
mod faults;
mod hub;
mod offers;

use std::vec;

use gatepost_link::{
    frame::{Down, NotTaken, Progress, State, Up},
    update::{Version, rule::Unfit},
};

use self::{
    device::{Fixture, Flash, SLOT},
    hub::{Release, version},
};
use super::updater::{PROOF_MS, TRIAL_MS};
use crate::{
    Button::{Approve, Deny},
    Edge::{Pressed, Released},
    Storage as _, View,
    decision::app::QUIET_MS,
    slots::Slot,
    testing::{document, offered},
    ui::buttons::HOLD,
};

fn refused(frames: &[Up]) -> Option<NotTaken> {
    frames.iter().find_map(|frame| match frame {
        Up::Update { progress: Progress::Refused(why), .. } => Some(*why),
        _ => None,
    })
}

fn has(frames: &[Up], wanted: Progress) -> bool {
    frames.iter().any(|frame| matches!(frame, Up::Update { progress, .. } if *progress == wanted))
}

fn state(frames: &[Up]) -> Option<State> {
    frames.iter().rev().find_map(|frame| match frame {
        Up::Running(running) => Some(running.state),
        _ => None,
    })
}

fn floor(frames: &[Up]) -> Option<Version> {
    frames.iter().rev().find_map(|frame| match frame {
        Up::Running(running) => Some(running.floor),
        _ => None,
    })
}

/// Fetches all of a release; the question is on the screen then.
fn fetched<'f>(flash: &'f Flash, release: &Release) -> Fixture<'f> {
    let mut fixture = Fixture::online(flash);
    fixture.offer(release);
    fixture.wait(QUIET_MS + 10_000);
    assert!(has(&fixture.sent, Progress::Asking), "{:?}", fixture.sent);
    fixture
}

#[test]
fn a_release_is_fetched_asked_about_tried_and_confirmed() {
    let flash = Flash::new();
    let release = Release::new(2);
    let mut fixture = fetched(&flash, &release);
    assert_eq!(fixture.view(), View::Question { version: version(2), armed: true });
    fixture.hold(HOLD + 100);
    assert!(has(&fixture.sent, Progress::Installing));
    assert_eq!(fixture.view(), View::Installing);
    fixture.wait(1_500);
    assert!(fixture.restarts());

    assert_eq!(flash.boot(), Some((Slot::Ota1, version(2))));
    let mut fixture = Fixture::online(&flash);
    assert_eq!(state(&fixture.sent), Some(State::Trial(release.image())));
    fixture.wait(PROOF_MS + 100);
    assert_eq!(state(&fixture.sent), Some(State::Settled));
    fixture.wait(TRIAL_MS);
    assert!(!fixture.restarts());
    for _ in 0..5 {
        assert_eq!(flash.boot(), Some((Slot::Ota1, version(2))));
        assert_eq!(state(&Fixture::online(&flash).sent), Some(State::Settled));
    }
}

#[test]
fn firmware_that_cannot_do_its_work_is_left_after_three_starts_and_not_taken_again() {
    type Hinder = fn(&mut Fixture<'_>);
    let hindered: [(&str, Hinder); 3] = [
        ("a dead display", |fixture| fixture.display_works = false),
        ("no network", |fixture| fixture.has_network = false),
        ("a hub that does not answer", |fixture| fixture.hub_answers = false),
    ];
    for (what, hinder) in hindered {
        let flash = Flash::new();
        let release = Release::new(2);
        let mut fixture = fetched(&flash, &release);
        fixture.hold(HOLD + 100);
        drop(fixture);
        for start in 1..=3 {
            assert_eq!(flash.boot(), Some((Slot::Ota1, version(2))), "{what}, start {start}");
            let mut fixture = Fixture::started(&flash).expect("a trial");
            hinder(&mut fixture);
            fixture.connect();
            fixture.wait(TRIAL_MS - 10_000);
            assert!(!fixture.restarts(), "{what}, start {start}");
            fixture.wait(10_000);
            assert!(fixture.restarts(), "{what}, start {start}");
        }
        assert!(Fixture::started(&flash).is_none(), "{what}: the fourth start goes back");
        assert_eq!(flash.boot(), Some((Slot::Ota0, version(1))));
        let mut fixture = Fixture::online(&flash);
        assert_eq!(state(&fixture.sent), Some(State::WentBack(release.image())));
        fixture.offer(&release);
        assert_eq!(refused(&fixture.sent), Some(NotTaken::WentBack), "{what}");
        fixture.offer_again(&release);
        fixture.wait(QUIET_MS + 10_000);
        assert!(has(&fixture.sent, Progress::Asking), "{what}: it is taken again if somebody wants it");
    }
}

#[test]
fn nothing_that_a_trial_stores_locks_out_the_firmware_before() {
    let flash = Flash::new();
    let release = Release::new(2);
    drop(fetched(&flash, &release).installing());
    flash.lower_link_version();
    let seen = || flash.storage().load_bond().unwrap().unwrap().version;
    let before = seen();
    let mut fixture = Fixture::online(&flash);
    fixture.wait(PROOF_MS - 2_000);
    assert_eq!(seen(), before, "on trial");
    fixture.wait(4_000);
    assert_eq!(seen(), gatepost_link::envelope::VERSION, "confirmed");
}

#[test]
fn none_of_the_images_that_went_back_is_tried_again_unless_somebody_wants_it() {
    let flash = Flash::new();
    let tried = |release: &Release| {
        let mut fixture = Fixture::online(&flash);
        fixture.offer(release);
        fixture.wait(QUIET_MS + 10_000);
        if let Some(why) = refused(&fixture.sent) {
            return Some(why);
        }
        drop(fixture.installing());
        (0..3).for_each(|_| drop(Fixture::started(&flash).expect("a trial")));
        assert!(Fixture::started(&flash).is_none());
        drop(Fixture::online(&flash));
        None
    };
    let releases = [5, 2, 4, 3].map(Release::new);
    for release in &releases {
        assert_eq!(tried(release), None, "one that was not tried yet, newer or older than the last");
    }
    for release in &releases {
        assert_eq!(tried(release), Some(NotTaken::WentBack));
    }
    let mut fixture = Fixture::online(&flash);
    fixture.offer_again(&releases[0]);
    fixture.wait(QUIET_MS + 10_000);
    assert!(has(&fixture.sent, Progress::Asking));
}

#[test]
fn a_card_comes_first_and_the_rest_is_fetched_after_it() {
    let flash = Flash::new();
    let mut fixture = Fixture::online(&flash);
    fixture.offer(&Release::new(2));
    fixture.wait(QUIET_MS + 100);
    let asked = fixture.fetches();
    assert!(asked > 0, "it had begun");
    let (offer, bytes) = offered(&document());
    fixture.document = bytes;
    fixture.down(&Down::Offer(offer));
    assert!(matches!(fixture.view(), View::Card(_)), "{:?}", fixture.view());
    let asked = fixture.fetches();
    fixture.wait(60_000);
    assert_eq!(fixture.fetches(), asked, "while a card is open");
    fixture.edge(Deny, Pressed);
    fixture.edge(Deny, Released);
    fixture.wait(QUIET_MS - 100);
    assert_eq!(fixture.fetches(), asked, "just after it");
    fixture.wait(20_000);
    assert!(has(&fixture.sent, Progress::Asking));

    // The question gives way as well, and must be read again.
    let second = gatepost_link::RequestId([9; 16]);
    let (offer, bytes) = offered(&gatepost_link::document::Document { request: second, ..document() });
    fixture.document = bytes;
    fixture.edge(Approve, Pressed);
    fixture.wait(HOLD - 200);
    fixture.down(&Down::Offer(offer));
    fixture.wait(1_000);
    fixture.edge(Approve, Released);
    assert!(matches!(fixture.view(), View::Card(_)) && !has(&fixture.sent, Progress::Installing));
}

#[test]
fn a_person_who_says_no_is_not_asked_again_unless_somebody_wants_it() {
    let flash = Flash::new();
    let release = Release::new(2);
    let mut fixture = fetched(&flash, &release);
    fixture.edge(Deny, Pressed);
    fixture.edge(Deny, Released);
    fixture.wait(100);
    assert!(has(&fixture.sent, Progress::Declined));
    fixture.offer(&release);
    fixture.wait(QUIET_MS + 10_000);
    assert!(!matches!(fixture.view(), View::Question { .. }));
    fixture.offer_again(&release);
    fixture.wait(QUIET_MS + 10_000);
    assert!(matches!(fixture.view(), View::Question { .. }));
    assert_eq!(flash.boot(), Some((Slot::Ota0, version(1))), "nothing was installed");
}

#[test]
fn a_release_that_is_taken_back_is_not_installed() {
    let flash = Flash::new();
    let mut fixture = fetched(&flash, &Release::new(2));
    fixture.edge(Approve, Pressed);
    fixture.wait(HOLD / 2);
    fixture.down(&Down::NoUpdate);
    fixture.wait(HOLD);
    fixture.edge(Approve, Released);
    assert!(!has(&fixture.sent, Progress::Installing) && fixture.view() == View::Idle);
}

#[test]
fn a_release_that_takes_the_place_of_another_in_the_middle_of_a_hold_is_not_installed_by_it() {
    let flash = Flash::new();
    let mut fixture = fetched(&flash, &Release::new(2));
    fixture.edge(Approve, Pressed);
    fixture.wait(HOLD / 2);
    fixture.offer(&Release::new(3));
    fixture.wait(HOLD);
    assert!(!has(&fixture.sent, Progress::Installing));
    fixture.edge(Approve, Released);
    fixture.wait(QUIET_MS + 10_000);
    assert_eq!(fixture.view(), View::Question { version: version(3), armed: true });
}

#[test]
fn what_is_forged_older_foreign_or_expired_is_never_taken() {
    let flash = Flash::new();
    let mut fixture = Fixture::online(&flash);
    for (what, release, why) in [
        ("signed by somebody else", Release::new(2).signed_by(77), NotTaken::Signature),
        ("the same version", Release::new(1), NotTaken::Unfit(Unfit::Older)),
        ("an older one", Release::new(0), NotTaken::Unfit(Unfit::Older)),
        (
            "for another board",
            Release::new(2).with(|it| it.board = hub::label("esp32c6")),
            NotTaken::Unfit(Unfit::NotForUs),
        ),
        (
            "another product",
            Release::new(2).with(|it| it.product = hub::label("hub")),
            NotTaken::Unfit(Unfit::NotForUs),
        ),
        ("expired", Release::new(2).with(|it| it.expires = hub::NOW), NotTaken::Unfit(Unfit::Expired)),
        ("too large", Release::new(2).with(|it| it.size = SLOT), NotTaken::Unfit(Unfit::TooLarge)),
        ("huge", Release::new(2).with(|it| it.size = u32::MAX), NotTaken::Unfit(Unfit::TooLarge)),
        (
            "a floor above itself",
            Release::new(2).with(|it| it.floor = version(3)),
            NotTaken::Unfit(Unfit::Malformed),
        ),
    ] {
        fixture.sent.clear();
        fixture.offer(&release);
        fixture.wait(QUIET_MS + 5_000);
        assert_eq!(refused(&fixture.sent), Some(why), "{what}");
        assert_eq!(fixture.fetches(), 0, "{what}");
    }
    for signed in [&[][..], &[0; 100], &[0xff; 300]] {
        fixture.down(&Down::Manifest { signed, utc: hub::NOW, again: true });
    }
    // A hub that lies about the time gains nothing before the firmware was built.
    let old = Release::new(2).with(|it| it.expires = hub::BUILT - 1);
    fixture.sent.clear();
    fixture.down(&Down::Manifest { signed: &old.signed, utc: 0, again: false });
    assert_eq!(refused(&fixture.sent), Some(NotTaken::Unfit(Unfit::Expired)));
}

#[test]
fn bytes_that_are_not_what_was_signed_are_given_up_and_never_asked_about() {
    type Spoil = fn(&mut Release);
    let spoilt: [(&str, Spoil); 4] = [
        ("the list", |release| release.list[5] ^= 1),
        ("the first block", |release| release.bytes[10] ^= 1),
        ("the last byte", |release| *release.bytes.last_mut().unwrap() ^= 1),
        ("cut short", |release| release.bytes.truncate(5_000)),
    ];
    for (what, spoil) in spoilt {
        let flash = Flash::new();
        let mut fixture = Fixture::online(&flash);
        let mut release = Release::new(2);
        spoil(&mut release);
        fixture.offer(&release);
        fixture.wait(QUIET_MS + 60_000);
        let gave_up = refused(&fixture.sent) == Some(NotTaken::Hash) || what == "cut short";
        assert!(gave_up && !has(&fixture.sent, Progress::Asking), "{what}: {:?}", fixture.sent.last());
        assert!(!matches!(fixture.view(), View::Question { .. }));
        assert_eq!(flash.boot(), Some((Slot::Ota0, version(1))));
    }
}

#[test]
fn a_block_that_is_wrong_far_behind_the_first_report_is_given_up_like_any_other() {
    let flash = Flash::new();
    let mut fixture = Fixture::online(&flash);
    let mut release = Release::of_image(2, [hub::image(2), vec![7; 60_000]].concat());
    release.bytes[80_000] ^= 1;
    fixture.offer(&release);
    fixture.wait(QUIET_MS + 60_000);
    assert!(has(&fixture.sent, Progress::Taking { done: 65_536, of: 90_000 }));
    assert_eq!(refused(&fixture.sent), Some(NotTaken::Hash));
}

#[test]
fn an_image_that_says_another_version_than_its_release_is_not_asked_about() {
    let flash = Flash::new();
    let mut fixture = Fixture::online(&flash);
    let mut nothing = hub::image(3);
    nothing[0] ^= 1;
    for (image, why) in [
        (hub::image(2), Unfit::OtherVersion),
        (hub::image(4), Unfit::OtherVersion),
        (nothing, Unfit::NotForUs),
    ] {
        fixture.offer(&Release::of_image(3, image).with(|it| it.floor = version(2)));
        fixture.wait(QUIET_MS + 10_000);
        assert_eq!(refused(&fixture.sent), Some(NotTaken::Unfit(why)));
        assert!(!has(&fixture.sent, Progress::Asking) && fixture.view() == View::Idle);
    }
    fixture.offer(&Release::of_image(3, hub::image(3)));
    fixture.wait(QUIET_MS + 10_000);
    assert!(has(&fixture.sent, Progress::Asking));
}

#[test]
fn each_board_starts_its_own_images_alone() {
    use crate::update::ImageKind;
    let mut esp = [0; gatepost_link::update::image::HEAD_BYTES];
    (esp[0], esp[12]) = (0xe9, 5);
    esp[32..36].copy_from_slice(&[0x32, 0x54, 0xcd, 0xab]);
    esp[48..53].copy_from_slice(b"2.0.0");
    let flat = *hub::image(2).first_chunk().unwrap();
    let [c3, c6] = [5, 13].map(|chip| ImageKind::Esp { chip });
    assert_eq!((c3.fits(&esp, version(2)), ImageKind::Flat.fits(&flat, version(2))), (Ok(()), Ok(())));
    for (kind, head) in [(c6, &esp), (c3, &flat), (ImageKind::Flat, &esp), (c3, &[0xff; 80])] {
        assert_eq!(kind.fits(head, version(2)), Err(Unfit::NotForUs), "{kind:?}");
    }
    assert_eq!(c3.fits(&esp, version(3)), Err(Unfit::OtherVersion));
    esp[53] = b'-';
    assert_eq!(c3.fits(&esp, version(2)), Err(Unfit::OtherVersion), "it does not say it as releases do");
}

#[test]
fn a_restart_in_the_middle_goes_on_where_it_was() {
    let flash = Flash::new();
    let release = Release::new(2);
    let mut fixture = Fixture::online(&flash);
    fixture.offer(&release);
    fixture.wait(QUIET_MS);
    while fixture.image_fetches() < 12 {
        fixture.wait(50);
    }
    let all = fixture.image_fetches();
    drop(fixture);
    let fixture = fetched(&flash, &release);
    let whole = release.bytes.len().div_ceil(2048);
    assert!(fixture.image_fetches() < whole, "{} of {whole} after {all}", fixture.image_fetches());
}

#[test]
fn roots_are_taken_in_their_order_and_the_keys_before_count_no_more() {
    let flash = Flash::new();
    let mut fixture = Fixture::online(&flash);
    let (second, third) = (hub::root_file(2, 2, 12, 1), hub::root_file(3, 3, 13, 2));
    let forged = hub::root_file(2, 66, 67, 66);
    let root = |fixture: &Fixture<'_>| {
        fixture.sent.iter().rev().find_map(|frame| match frame {
            Up::Running(running) => Some(running.root),
            _ => None,
        })
    };
    for (file, version) in [
        (&third[..], 1),
        (&forged, 1),
        (&second[..50], 1),
        (&[], 1),
        (&second, 2),
        (&second, 2),
        (&third, 3),
        (&second, 3),
    ] {
        fixture.sent.clear();
        fixture.down(&Down::Root(file));
        fixture.pump();
        assert_eq!(root(&fixture), Some(version));
    }
    fixture.offer(&Release::new(2));
    assert_eq!(refused(&fixture.sent), Some(NotTaken::Signature), "the first root's key");
    fixture.sent.clear();
    fixture.offer(&Release::new(2).signed_by(13));
    assert_eq!(refused(&fixture.sent), None);
    drop(fixture);
    assert_eq!(root(&Fixture::online(&flash)), Some(3), "after a restart");
}

#[test]
fn the_floor_rises_when_an_image_is_confirmed_and_not_before() {
    let flash = Flash::new();
    let release = Release::new(3).with(|it| it.floor = version(2));
    drop(fetched(&flash, &release).installing());
    let mut fixture = Fixture::online(&flash);
    assert_eq!(floor(&fixture.sent), Some(Version::default()), "on trial");
    fixture.wait(PROOF_MS + 1_000);
    assert_eq!(floor(&fixture.sent), Some(version(2)));
    assert_eq!(flash.image(Slot::Ota0), None, "version 1 is below the floor: no loader starts it");
    assert_eq!(flash.boot(), Some((Slot::Ota1, version(3))));
}

#[test]
fn a_device_without_a_root_takes_nothing_and_says_so() {
    let flash = Flash::new().without_root();
    let mut fixture = Fixture::online(&flash);
    assert!(fixture.sent.iter().any(|frame| matches!(frame, Up::Running(running) if running.root == 0)));
    fixture.down(&Down::Root(&hub::root_file(1, 1, 11, 1)));
    fixture.offer(&Release::new(2));
    assert_eq!(refused(&fixture.sent), Some(NotTaken::Signature));
}

#[test]
fn a_lost_question_is_asked_again_and_a_late_answer_does_no_harm() {
    let flash = Flash::new();
    let release = Release::new(2);
    let mut fixture = Fixture::online(&flash);
    fixture.offer(&release);
    fixture.lose_every = 3;
    fixture.repeat_every = 4;
    fixture.wait(QUIET_MS + 60_000);
    assert!(has(&fixture.sent, Progress::Asking));
}

/// The inputs with which the fuzz target `update` begins: a root, and one after it, a signed manifest and a package that are none of its
/// keys: what the target says is never taken.
#[test]
fn the_seeds_of_the_fuzz_target_are_what_they_say() {
    use gatepost_link::update::{package, root::RootFile};
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds/update");
    let release = Release::new(2).signed_by(77);
    let next = hub::root_file(2, 66, 12, 66);
    let file = [package::MAGIC, &[1], &next, &release.signed, &release.list, &release.bytes].concat();
    for (name, bytes) in [
        ("root", &hub::first_root()[..]),
        ("next-root", &next),
        ("signed", &release.signed),
        ("package", &file),
    ] {
        if std::env::var_os("GATEPOST_GOLDEN").is_some() {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        assert_eq!(std::fs::read(folder.join(name)).unwrap(), bytes, "{name}");
    }
    assert!(RootFile::from_bytes(&hub::first_root()).is_some() && package::Package::read(&file).is_ok());
}

use gatepost_link::update::{
    root::{Root, RootFile},
    rule::Unfit,
};

use super::*;
use crate::{
    image::{ImageError, MAX_IMAGE},
    roots::{self, Change},
};

/// 2026-11-26.
const NOW: u64 = 1_795_651_200;
const YEAR: u64 = 365 * 24 * 60 * 60;

fn secret(seed: u8) -> Secret {
    Secret::from_seed([seed; 32])
}

fn keys(seeds: &[u8]) -> Vec<PublicKey> {
    seeds.iter().map(|seed| secret(*seed).public().key).collect()
}

/// A root of the key 1, with releases by this many of the keys 8 and 9.
fn root(threshold: u8, expires: u64) -> Root {
    roots::first((1, &keys(&[1])), (threshold, &keys(&[8, 9])), expires).unwrap()
}

fn chain(root: &Root) -> Chain {
    let file = RootFile::new(root.clone(), &[]).unwrap();
    Chain::new(vec![roots::sign(&file, None, &secret(1)).unwrap().0]).unwrap()
}

fn plan(image: &[u8]) -> Plan<'_> {
    let [version, floor] = ["1.4.0", "1.2.0"].map(|text| Version::new(text).unwrap());
    Plan { board: Board::Esp32c3, version, floor, expires: NOW + YEAR, image }
}

fn image() -> Vec<u8> {
    image_of("1.4.0")
}

fn image_of(version: &str) -> Vec<u8> {
    let content: Vec<u8> = (0..10_000_u32).map(|at| (at * 7) as u8).collect();
    Board::Esp32c3.image_with(Version::new(version).unwrap(), &content)
}

fn device(board: Board, running: &str) -> Device {
    let running = Version::new(running).unwrap();
    Device { board: board.label(), running, floor: Version::default(), slot: SLOT_BYTES, built: 0 }
}

#[test]
fn a_device_takes_what_was_signed() {
    let (image, root) = (image(), root(1, 0));
    let mut release = Release::new(&plan(&image), chain(&root), NOW).unwrap();
    assert_eq!((release.missing(), release.to_file()), (1, Err(ReleaseError::Unsigned)));
    release.sign(&secret(9)).unwrap();
    let file = release.to_file().unwrap();
    let (last, verified) = Package::read(&file).unwrap().verified(&root).unwrap();
    assert_eq!((&last, verified.manifest()), (&root, release.manifest()));
    let admit = |board, running| rule::admit(verified.manifest(), &last, &device(board, running), NOW);
    assert_eq!(admit(Board::Esp32c3, "1.3.9"), Ok(()));
    assert_eq!(admit(Board::Esp32c3, "1.4.0"), Err(Unfit::Older));
    assert_eq!(admit(Board::Esp32c6, "1.3.9"), Err(Unfit::NotForUs));

    // Devices in the field read it: these bytes never change.
    assert_eq!(
        Digest::of(&file).to_string(),
        "792d83f52dd65993e2750e75be43d2e7eb36f85e7db816c69042857627f57ffa"
    );
    let mut again = Release::new(&plan(&image), chain(&root), NOW + 5).unwrap();
    again.sign(&secret(9)).unwrap();
    assert_eq!(again.to_file(), Ok(file), "the same inputs give the same bytes");
}

#[test]
fn a_device_that_slept_goes_from_root_to_root() {
    let (image, one) = (image(), root(1, 0));
    let other = Change { add: keys(&[7]), remove: keys(&[8, 9]), threshold: None };
    let two = roots::next(&one, &Change::default(), &other, None).unwrap();
    let signed = |root: &Root, before: Option<&Root>| {
        roots::sign(&RootFile::new(root.clone(), &[]).unwrap(), before, &secret(1)).unwrap().0
    };
    let chain = Chain::new(vec![signed(&two, Some(&one)), signed(&one, None)]).unwrap();
    let mut release = Release::new(&plan(&image), chain, NOW).unwrap();
    assert!(matches!(release.sign(&secret(9)), Err(ReleaseError::UnknownKey { version: 2, .. })));
    release.sign(&secret(7)).unwrap();
    let file = release.to_file().unwrap();
    for known in [&one, &two] {
        assert_eq!(Package::read(&file).unwrap().verified(known).unwrap().0, two);
    }
    assert_eq!(release.warnings(NOW), []);
}

#[test]
fn what_a_device_refuses_is_not_signed() {
    let (image, trusted, version) = (image(), root(1, 0), |text| Version::new(text).unwrap());
    let refused = |plan: Plan<'_>| Release::new(&plan, chain(&trusted), NOW).unwrap_err();
    let plan = plan(&image);
    let (large, older, first) = (vec![0; MAX_IMAGE + 1], image_of("1.2.0"), image_of("0.0.0"));
    for (changed, error) in [
        (Plan { image: &[], ..plan }, ImageError::Empty.into()),
        (Plan { image: &large, ..plan }, ImageError::TooLarge { bytes: MAX_IMAGE + 1 }.into()),
        (Plan { image: &image[..5000], ..plan }, ImageError::Damaged.into()),
        (Plan { image: b"\x7fELF", ..plan }, ImageError::OtherKind { board: plan.board }.into()),
        (
            Plan { board: Board::Esp32c6, ..plan },
            ImageError::OtherChip { board: Board::Esp32c6, chip: 13, found: 5 }.into(),
        ),
        (
            Plan { floor: version("1.4.1"), ..plan },
            ReleaseError::Floor { floor: version("1.4.1"), version: version("1.4.0") },
        ),
        (Plan { expires: NOW, ..plan }, ReleaseError::Expired { expires: NOW, now: NOW }),
        (Plan { expires: 0, ..plan }, ReleaseError::Expired { expires: 0, now: NOW }),
        (
            Plan { image: &older, ..plan },
            ReleaseError::OtherVersion { found: version("1.2.0"), version: version("1.4.0") },
        ),
        (
            Plan { version: version("0.0.0"), floor: version("0.0.0"), image: &first, ..plan },
            ReleaseError::NoVersion,
        ),
    ] {
        assert_eq!(refused(changed), error);
    }
    let expired = root(1, NOW);
    let refused = Release::new(&plan, chain(&expired), NOW);
    assert_eq!(refused.unwrap_err(), ReleaseError::RootExpired { version: 1, expires: NOW });
    let mut release = Release::new(&plan, chain(&trusted), NOW).unwrap();
    assert!(matches!(release.sign(&secret(1)), Err(ReleaseError::UnknownKey { .. })), "a root key");
}

#[test]
fn two_people_sign_one_after_the_other() {
    let (image, root) = (image(), root(2, 0));
    let mut release = Release::new(&plan(&image), chain(&root), NOW).unwrap();
    release.sign(&secret(9)).unwrap();
    let half = release.to_file().unwrap();
    assert_eq!(Package::read(&half).unwrap().verified(&root), Err(PackageError::Signature));
    let mut second = Release::read(&half, NOW).unwrap();
    second.sign(&secret(9)).unwrap();
    assert_eq!((second.missing(), second.to_file().unwrap()), (1, half.clone()), "the same key again");
    second.sign(&secret(8)).unwrap();
    let whole = second.to_file().unwrap();
    assert!(second.missing() == 0 && Package::read(&whole).unwrap().verified(&root).is_ok());

    // Who signs second signs what the first one signed, or nothing.
    for at in (5..700).chain((700..half.len()).step_by(41)) {
        let mut changed = half.clone();
        changed[at] ^= 4;
        assert!(Release::read(&changed, NOW).is_err(), "byte {at}");
    }
    assert_eq!(Release::read(b"GPU1", NOW), Err(PackageError::Malformed.into()));
}

#[test]
fn what_a_person_should_know_is_said() {
    let (image, ending) = (image(), root(1, NOW + YEAR / 2));
    let plan = Plan { expires: NOW + 4 * YEAR, ..plan(&image) };
    let warnings = Release::new(&plan, chain(&ending), NOW).unwrap().warnings(NOW);
    let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(matches!(warnings[..], [Warning::Long { .. }, Warning::RootExpiresFirst { .. }]), "{said:?}");

    let second = roots::next(&root(1, 0), &Change::default(), &Change::default(), None).unwrap();
    let plan = Plan { expires: NOW + 3 * YEAR, ..plan };
    let warnings = Release::new(&plan, chain(&second), NOW).unwrap().warnings(NOW);
    assert_eq!(warnings, [Warning::OldDevices { first: 2 }]);

    let last = image_of("65535.65535.65535");
    let plan = Plan { version: Version::new("65535.65535.65535").unwrap(), image: &last, ..plan };
    let warnings = Release::new(&plan, chain(&root(1, 0)), NOW).unwrap().warnings(NOW);
    assert_eq!(warnings, [Warning::Last]);
}

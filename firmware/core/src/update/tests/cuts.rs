//! Root and floor when the power goes at any step, and again while the flash is mended.

use gatepost_link::update::Version;

use super::hub::{first_root, root_file, version};
use crate::{
    storage::flash::{
        SECTOR_BYTES,
        power_cut::{PowerCutFlash, cut_twice},
    },
    update::trust::{MAX_FAILED, Trust},
};

const STORAGE: u32 = 16 * SECTOR_BYTES;
/// Of the steps after a cut, how many lie between two at which it is cut again.
const STRIDE: usize = 127;

type CutTrust<'f> = Trust<&'f mut PowerCutFlash>;

fn trust<'f>(flash: &'f mut PowerCutFlash, first: &'static [u8]) -> CutTrust<'f> {
    Trust::new(flash, Some(first))
}

fn leaked(bytes: std::vec::Vec<u8>) -> &'static [u8] {
    std::boxed::Box::leak(bytes.into())
}

#[test]
fn a_cut_while_a_root_is_taken_leaves_the_one_before_or_the_next() {
    let first = leaked(first_root());
    let (second, third) = (root_file(2, 2, 12, 1), root_file(3, 3, 13, 2));
    let mut before = PowerCutFlash::blank(STORAGE, 1);
    before.power_on(None);
    assert!(trust(&mut before, first).take_root(&second).unwrap());
    let cuts = cut_twice(
        &before,
        STRIDE,
        |flash| _ = trust(flash, first).take_root(&third),
        |flash, what| {
            let found = trust(flash, first).root().unwrap().unwrap().version();
            assert!([2, 3].contains(&found), "{what}: {found}");
            assert_eq!(trust(flash, first).root().unwrap().unwrap().version(), found, "{what}: it stays");
            // What was cut off can be had again.
            let _ = trust(flash, first).take_root(&third);
            assert_eq!(trust(flash, first).root().unwrap().unwrap().version(), 3, "{what}");
        },
    );
    assert!(cuts > 4_000, "{cuts}");
}

#[test]
fn a_cut_while_the_floor_rises_never_lowers_it() {
    let first = leaked(first_root());
    let image = [7; 8];
    let mut before = PowerCutFlash::blank(STORAGE, 1);
    before.power_on(None);
    trust(&mut before, first).prepare(image, version(3), version(2)).unwrap();
    assert_eq!(trust(&mut before, first).confirm(image), Ok(Some(true)), "what ran is below it");
    let later = [8; 8];
    let cuts = cut_twice(
        &before,
        STRIDE,
        |flash| {
            let mut trust = trust(flash, first);
            let _ = trust.prepare(later, version(5), version(4)).and_then(|()| trust.confirm(later));
            let _ = trust.finish();
        },
        |flash, what| {
            let mut trust = trust(flash, first);
            let floor = trust.floor().unwrap();
            assert!([version(3), version(5)].contains(&floor), "{what}: {floor:?}");
            assert_eq!(trust.confirm([9; 8]), Ok(None), "{what}: another image raises nothing");
            assert_eq!(trust.floor(), Ok(floor), "{what}");
            assert!(floor > Version::default());
        },
    );
    assert!(cuts > 4_000, "{cuts}");
}

#[test]
fn two_cuts_while_the_first_root_and_floor_are_stored_do_no_harm_for_good() {
    let first = leaked(first_root());
    let second = root_file(2, 2, 12, 1);
    let blank = PowerCutFlash::blank(STORAGE, 1);
    let roots = cut_twice(
        &blank,
        STRIDE,
        |flash| _ = trust(flash, first).take_root(&second),
        |flash, what| {
            let found = trust(flash, first).root().map(|root| root.map(|root| root.version()));
            assert!([Ok(Some(1)), Ok(Some(2))].contains(&found), "{what}: {found:?}");
            let _ = trust(flash, first).take_root(&second);
            assert_eq!(trust(flash, first).root().unwrap().unwrap().version(), 2, "{what}");
        },
    );
    let floors = cut_twice(
        &blank,
        STRIDE,
        |flash| _ = trust(flash, first).prepare([7; 8], version(3), version(2)),
        |flash, what| {
            let mut trust = trust(flash, first);
            assert_eq!(trust.floor(), Ok(Version::default()), "{what}");
            trust.prepare([7; 8], version(3), version(2)).unwrap();
            assert_eq!(trust.confirm([7; 8]), Ok(Some(true)), "{what}");
            assert_eq!(trust.floor(), Ok(version(3)), "{what}");
        },
    );
    assert!(roots > 4_000 && floors > 4_000, "{roots} {floors}");
}

#[test]
fn the_last_images_that_went_back_are_remembered_beside_the_floor() {
    let first = leaked(first_root());
    let mut flash = PowerCutFlash::blank(STORAGE, 1);
    let mut trust = trust(&mut flash, first);
    trust.prepare([7; 8], version(3), version(2)).unwrap();
    for image in (0..12_u8).flat_map(|image| [image, image]) {
        trust.remember_failed([image; 8]).unwrap();
    }
    for image in 0..12 {
        assert_eq!(trust.has_failed([image; 8]), Ok(usize::from(image) >= 12 - MAX_FAILED), "{image}");
    }
    assert_eq!(trust.confirm([7; 8]), Ok(Some(true)));
    trust.finish().unwrap();
    assert_eq!((trust.floor(), trust.confirm([7; 8])), (Ok(version(3)), Ok(None)));
    assert_eq!(trust.has_failed([11; 8]), Ok(true));
}

/// Floor and next as an earlier layout had them.
#[test]
fn a_floor_without_images_that_went_back_is_read() {
    use crate::storage::flash::{record::Record, storage::UPDATE_FLOOR};
    let mut flash = PowerCutFlash::blank(STORAGE, 1);
    let mut buffer = [0; 64];
    let before = postcard::to_slice(&(version(3), Some(([7_u8; 8], version(4), version(2)))), &mut buffer);
    Record::new(UPDATE_FLOOR, 6).store(&mut flash, before.unwrap()).unwrap();
    let mut trust = trust(&mut flash, leaked(first_root()));
    assert_eq!((trust.floor(), trust.has_failed([7; 8])), (Ok(version(3)), Ok(false)));
    assert_eq!((trust.confirm([7; 8]), trust.floor()), (Ok(Some(true)), Ok(version(4))));
}

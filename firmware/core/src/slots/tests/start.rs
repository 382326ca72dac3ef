//! What a single start is, with the power on.

use core::cell::RefCell;

use gatepost_link::update::image_id;

use super::{
    super::{
        Parts, Slot, Slots, Start, StoreError,
        choose::{Loader, in_force},
        entry::{Entry, State},
        otadata,
    },
    device::{Before, Device, Flash, Image, NEW, Nature, OLD, TRIALS, fetch},
};
use crate::storage::flash::{
    FlashError, SECTOR_BYTES,
    part::Part,
    power_cut::{Breakage, PowerCutFlash},
};

fn slots(device: &Device, running: Slot) -> Slots<Flash<'_>> {
    Slots::new(device.parts(), running)
}

/// A device that runs `ota_0`, with a new image in `ota_1` that is to be tried at the next start.
fn switched(nature: Nature) -> (Device, Image) {
    let (device, image) = (Device::new(Before::Blank), Image::new(NEW, nature));
    assert_eq!(slots(&device, Slot::Ota0).at_start(), Ok(Start::Settled));
    let whole = fetch(slots(&device, Slot::Ota0).store(image.release()).unwrap(), &image).unwrap();
    slots(&device, Slot::Ota0).switch(whole).unwrap();
    (device, image)
}

/// What a loader starts, and the first statement of its `main`.
fn start(device: &Device, loader: Loader) -> (Slot, Start) {
    let (running, _) = device.boot(loader).unwrap().expect("a slot that starts");
    (running, slots(device, running).at_start().unwrap())
}

/// A start of this image on trial.
fn trial(image: &Image, left: u8) -> Start {
    Start::Trial { image: image_id(&image.release().image), left }
}

#[test]
fn without_rollback_in_the_loader_an_image_has_three_starts() {
    let (device, image) = switched(Nature::Hangs);
    for left in [2, 1, 0] {
        assert_eq!(start(&device, Loader::Plain), (Slot::Ota1, trial(&image, left)));
    }
    assert_eq!(start(&device, Loader::Plain), (Slot::Ota1, Start::Restart));
    let digest = image.release().image;
    for _ in 0..3 {
        assert_eq!(start(&device, Loader::Plain), (Slot::Ota0, Start::WentBack(image_id(&digest))));
    }
    assert_eq!(slots(&device, Slot::Ota0).went_back(&digest), Ok(true));
    let other = Image::new(OLD, Nature::Good).release().image;
    assert_eq!(slots(&device, Slot::Ota0).went_back(&other), Ok(false));
}

#[test]
fn with_rollback_in_the_loader_it_has_one() {
    let (device, image) = switched(Nature::Hangs);
    assert_eq!(start(&device, Loader::Rollback), (Slot::Ota1, trial(&image, 2)));
    let back = Start::WentBack(image_id(&image.release().image));
    assert_eq!(start(&device, Loader::Rollback), (Slot::Ota0, back));
}

#[test]
fn a_confirmed_image_is_started_for_ever_by_both_loaders() {
    for loader in [Loader::Plain, Loader::Rollback] {
        let (device, image) = switched(Nature::Good);
        assert_eq!(start(&device, loader), (Slot::Ota1, trial(&image, 2)));
        let mut running = slots(&device, Slot::Ota1);
        running.confirm().unwrap();
        running.confirm().unwrap();
        assert!(otadata::is_settled(&mut device.parts().otadata, Slot::Ota1).unwrap());
        for _ in 0..5 {
            assert_eq!(start(&device, loader), (Slot::Ota1, Start::Settled));
        }
        assert_eq!(running.went_back(&image.release().image), Ok(false));
    }
}

#[test]
fn a_confirmation_during_a_power_cut_is_made_firm_once_it_is_read() {
    let (device, _) = switched(Nature::Good);
    start(&device, Loader::Plain);
    // The last byte of line 4 of the first record is zero, but not for sure.
    let line = TRIALS.start + 4 * 32;
    device.flash.borrow_mut().bytes[line..line + 16].fill(0);
    device.flash.borrow_mut().set_floating(line + 15, 0x04);
    let mut read = 0;
    for seed in 0..32 {
        let device = device.again(seed);
        match start(&device, Loader::Plain) {
            (Slot::Ota1, Start::Settled) => assert!(!device.flash.borrow().floats(TRIALS)),
            (Slot::Ota1, Start::Trial { left: 1, .. }) => continue,
            other => panic!("{other:?}"),
        }
        read += 1;
    }
    assert!(0 < read && read < 32, "{read}");
}

#[test]
fn an_image_that_knows_that_it_failed_goes_back_at_once() {
    let (device, image) = switched(Nature::Panics);
    start(&device, Loader::Plain);
    assert_eq!(slots(&device, Slot::Ota1).go_back(), Ok(true));
    let back = Start::WentBack(image_id(&image.release().image));
    assert_eq!(start(&device, Loader::Plain), (Slot::Ota0, back));
}

#[test]
fn firmware_that_is_not_on_trial_does_not_go_back() {
    let device = Device::new(Before::Used);
    let before = device.flash.borrow().bytes.clone();
    assert_eq!(slots(&device, Slot::Ota1).go_back(), Ok(false));
    assert!(device.flash.borrow().bytes == before);
}

#[test]
fn on_trial_the_way_back_is_not_overwritten() {
    let (device, image) = switched(Nature::Good);
    start(&device, Loader::Plain);
    let mut running = slots(&device, Slot::Ota1);
    assert_eq!(running.store(image.release()).unwrap_err(), StoreError::OnTrial);
    running.confirm().unwrap();
    running.store(image.release()).unwrap();
}

#[test]
fn nothing_is_taken_into_a_slot_that_an_entry_leads_to() {
    let (device, image) = (Device::new(Before::Used), Image::new(NEW, Nature::Good));
    device.set_entry(0, 9, State::VALID);
    slots(&device, Slot::Ota1).store(image.release()).unwrap();
    assert!(otadata::is_settled(&mut device.parts().otadata, Slot::Ota1).unwrap());

    device.set_entry(0, 99, State::VALID);
    device.flash.borrow_mut().broken = Some(Breakage::Silent);
    let error = slots(&device, Slot::Ota1).store(image.release()).unwrap_err();
    assert_eq!(error, StoreError::Flash(FlashError::NotStored));
}

#[test]
fn an_image_that_the_loader_does_not_start_is_not_tried_again() {
    for loader in [Loader::Plain, Loader::Rollback] {
        let (device, image) = switched(Nature::Refused);
        let digest = image.release().image;
        for _ in 0..3 {
            assert_eq!(start(&device, loader), (Slot::Ota0, Start::WentBack(image_id(&digest))));
        }
        assert_eq!(slots(&device, Slot::Ota0).went_back(&digest), Ok(true));
    }
}

#[test]
fn a_switch_that_was_cut_before_its_entry_counts_for_nothing() {
    let (device, image) = switched(Nature::Good);
    let entries = otadata::read(&mut device.parts().otadata).unwrap();
    let sector = in_force(&entries).unwrap();
    device.flash.borrow_mut().bytes[sector * SECTOR_BYTES as usize..][..32].fill(0xff);
    assert_eq!(start(&device, Loader::Plain), (Slot::Ota0, Start::Settled));
    assert_eq!(slots(&device, Slot::Ota0).went_back(&image.release().image), Ok(false));
}

#[test]
fn without_a_way_back_the_trial_goes_on() {
    let (device, image) = switched(Nature::Hangs);
    // The old image does not verify any more.
    device.flash.borrow_mut().rot(2 * SECTOR_BYTES + 100);
    for expected in [2, 1, 0].map(|left| trial(&image, left)) {
        assert_eq!(start(&device, Loader::Plain), (Slot::Ota1, expected));
    }
    assert_eq!(start(&device, Loader::Plain), (Slot::Ota1, Start::Restart));
    assert_eq!(start(&device, Loader::Plain), (Slot::Ota1, trial(&image, 0)));
}

#[test]
fn a_good_image_that_decayed_may_be_taken_again() {
    let (device, image) = switched(Nature::Good);
    start(&device, Loader::Plain);
    slots(&device, Slot::Ota1).confirm().unwrap();
    device.flash.borrow_mut().rot(6 * SECTOR_BYTES + 100);
    assert_eq!(start(&device, Loader::Plain), (Slot::Ota0, Start::Settled));
    let mut running = slots(&device, Slot::Ota0);
    assert_eq!(running.went_back(&image.release().image), Ok(false));
    // What is there is read first; then all of it comes again.
    let store = running.store(image.release()).unwrap();
    assert_eq!(fetch(store, &image), Err(StoreError::WrongImage));
    let mut store = running.store(image.release()).unwrap();
    while store.work() == Ok(()) && store.taken() > 0 {}
    let whole = fetch(store, &image).unwrap();
    running.switch(whole).unwrap();
    assert_eq!(start(&device, Loader::Plain), (Slot::Ota1, trial(&image, 2)));
}

#[test]
fn a_start_that_cannot_be_counted_goes_back_and_one_that_can_do_neither_is_an_error() {
    let (device, _) = switched(Nature::Hangs);
    let worn = RefCell::new(device.flash.borrow().clone());
    worn.borrow_mut().broken = Some(Breakage::Writes);
    let storage = Part::new(&worn, 10 * SECTOR_BYTES, 16 * SECTOR_BYTES);
    let mut running = Slots::new(Parts { storage: storage.clone(), ..device.parts() }, Slot::Ota1);
    assert_eq!(running.at_start(), Ok(Start::Restart));
    let (slot, _) = device.boot(Loader::Plain).unwrap().unwrap();
    assert_eq!(slot, Slot::Ota0);

    let (device, _) = switched(Nature::Hangs);
    device.flash.borrow_mut().broken = Some(Breakage::Silent);
    assert_eq!(slots(&device, Slot::Ota1).at_start(), Err(FlashError::NotStored));
}

#[test]
fn no_number_is_left_to_be_written_a_last_time() {
    let mut flash = PowerCutFlash::blank(2 * SECTOR_BYTES, 1);
    otadata::write(&mut flash, 0, Entry::new(u32::MAX - 1, State::VALID)).unwrap();
    let error = otadata::lead_to(&mut flash, Slot::Ota0, State::NEW).unwrap_err();
    assert_eq!((error, error.is_transient()), (FlashError::TooLarge, false));
}

//! Our order: no cut leaves a device that does not start, or one that starts what it should not.

use super::{
    super::{Parts, Release, Slot, Slots, Start, Store, Whole, choose::Loader},
    device::{Before, Device, End, Failure, Faults, Flash, Image, NEW, Nature, OLD, Order, Tally},
};

/// [`Slots`] as it is.
struct Ours;

impl Order for Ours {
    fn at_start(parts: Parts<Flash<'_>>, running: Slot) -> Result<Start, Failure> {
        Ok(Slots::new(parts, running).at_start()?)
    }

    fn store(parts: Parts<Flash<'_>>, running: Slot, release: Release) -> Result<Store<Flash<'_>>, Failure> {
        Slots::new(parts, running).store(release)
    }

    fn switch(parts: Parts<Flash<'_>>, running: Slot, image: Whole) -> Result<(), Failure> {
        Ok(Slots::new(parts, running).switch(image)?)
    }

    fn confirm(parts: Parts<Flash<'_>>, running: Slot) -> Result<(), Failure> {
        Ok(Slots::new(parts, running).confirm()?)
    }

    fn go_back(parts: Parts<Flash<'_>>, running: Slot) -> Result<(), Failure> {
        Slots::new(parts, running).go_back()?;
        Ok(())
    }

    fn went_back(
        parts: Parts<Flash<'_>>,
        running: Slot,
        image: &gatepost_link::Digest,
    ) -> Result<bool, Failure> {
        Ok(Slots::new(parts, running).went_back(image)?)
    }
}

/// Every step of an update is cut once; then again at three sorts of moments while the device recovers.
fn cut_everywhere(loader: Loader) -> Tally {
    let mut tally = Tally::default();
    for before in [Before::Blank, Before::Used, Before::Torn] {
        for nature in [Nature::Good, Nature::Hangs, Nature::Panics, Nature::Refused] {
            let (device, new) = (Device::new(before), Image::new(NEW, nature));
            let steps = steps(&device, loader, &new);
            for cut in 0..steps {
                let (soon, later, last) = (cut % 3, 5 + cut % 29, 20 + cut % 83);
                for (turn, cuts) in
                    [&[cut][..], &[cut, soon], &[cut, later, soon], &[cut, last, later]].iter().enumerate()
                {
                    let seed = (5 * cut + turn) as u64;
                    device.again(seed).live_with_cuts::<Ours>(loader, &new, cuts, &mut tally);
                }
            }
            assert!(steps > 300, "{before:?} {nature:?}: {steps}");
            assert_eq!(tally.faults, Faults::default(), "{loader:?} {before:?} {nature:?}");
        }
    }
    tally
}

/// How many steps the whole update has, which without a cut ends as it should.
fn steps(device: &Device, loader: Loader, new: &Image) -> usize {
    let device = device.again(1);
    device.flash.borrow_mut().power_on(None);
    let end = device.live::<Ours>(loader, new, &mut Faults::default(), &mut 0).unwrap();
    let version = if new.bytes[5] == Nature::Good as u8 { NEW } else { OLD };
    assert!(matches!(end, End::Content(_, header) if header.version == version), "{end:?}");
    let steps = device.flash.borrow().steps;
    device.assert_keys_and_counter();
    steps
}

#[test]
fn without_rollback_in_the_loader_no_cut_leaves_a_device_that_does_not_start() {
    let tally = cut_everywhere(Loader::Plain);
    assert!(tally.cuts > 42_000 && tally.cuts > 2 * tally.lives, "{tally:?}");
    // Each needs cuts in its starts, which are spent then.
    assert!(tally.given_up < tally.lives / 100, "{tally:?}");
}

#[test]
fn with_rollback_in_the_loader_no_cut_leaves_a_device_that_does_not_start() {
    let tally = cut_everywhere(Loader::Rollback);
    assert!(tally.cuts > 46_000 && tally.cuts > 2 * tally.lives, "{tally:?}");
    // This loader gives an image one start.
    assert!(tally.given_up < tally.lives / 25, "{tally:?}");
}

//! A control: `otadata` as `esp-bootloader-esp-idf` 0.6 writes it, in the same lives. It works as long as the power stays on.
//!
//! To switch, it raises the sequence number of the entry that is not in force and keeps that entry's state; then it rewrites
//! the entry now in force with the state New. Any entry with a wrong checksum makes every later call an error. Nothing but
//! that state tells whether an image is on trial. Read in `src/ota.rs` of
//! <https://crates.io/crates/esp-bootloader-esp-idf/0.6.0>.

use gatepost_link::Digest;

use super::{
    super::{
        Parts, Release, Slot, Start, Store, StoreError, Whole,
        choose::Loader,
        entry::{Entry, State},
        otadata,
    },
    device::{Before, Device, End, Failure, Faults, Flash, Image, NEW, Nature, OLD, Order, Tally},
};

struct Naive;

/// Both entries with their numbers, 0 for an erased one; an error if one is torn.
fn read(parts: &mut Parts<Flash<'_>>) -> Result<[(u32, Entry); 2], Failure> {
    let blank = Entry::from_bytes(&[0xff; 32]);
    let mut found = [(0, blank); 2];
    for (found, entry) in found.iter_mut().zip(otadata::read(&mut parts.otadata)?) {
        *found = match entry.sequence() {
            Some(sequence) => (sequence, entry),
            None if entry == blank => (0, blank),
            None => return Err(StoreError::Unasked),
        };
    }
    Ok(found)
}

fn current(entries: &[(u32, Entry); 2]) -> usize {
    usize::from(entries[1].0 > entries[0].0)
}

fn set_state(parts: &mut Parts<Flash<'_>>, state: State) -> Result<(), Failure> {
    let entries = read(parts)?;
    let sector = current(&entries);
    let mut entry = entries[sector].1;
    entry.state = state;
    Ok(otadata::write(&mut parts.otadata, sector, entry)?)
}

impl Order for Naive {
    fn at_start(mut parts: Parts<Flash<'_>>, _: Slot) -> Result<Start, Failure> {
        match read(&mut parts) {
            Ok(entries) => Ok(match entries[current(&entries)].1.state {
                State::NEW | State::PENDING => Start::Trial { image: [0; 8], left: 0 },
                _ => Start::Settled,
            }),
            Err(StoreError::Unasked) => Ok(Start::Settled),
            Err(error) => Err(error),
        }
    }

    fn store(
        mut parts: Parts<Flash<'_>>,
        running: Slot,
        release: Release,
    ) -> Result<Store<Flash<'_>>, Failure> {
        read(&mut parts)?;
        let slot = running.other();
        Store::new(parts.images[slot.index()].clone(), slot, release)
    }

    fn switch(mut parts: Parts<Flash<'_>>, _: Slot, _: Whole) -> Result<(), Failure> {
        let entries = read(&mut parts)?;
        let sector = 1 - current(&entries);
        let next = Entry::new(entries[1 - sector].0 + 1, entries[sector].1.state);
        otadata::write(&mut parts.otadata, sector, next)?;
        set_state(&mut parts, State::NEW)
    }

    fn confirm(mut parts: Parts<Flash<'_>>, _: Slot) -> Result<(), Failure> {
        set_state(&mut parts, State::VALID)
    }

    /// A reset is enough: the loader rejects the image.
    fn go_back(_: Parts<Flash<'_>>, _: Slot) -> Result<(), Failure> {
        Ok(())
    }

    fn went_back(mut parts: Parts<Flash<'_>>, _: Slot, _: &Digest) -> Result<bool, Failure> {
        let entries = read(&mut parts)?;
        Ok(entries.iter().any(|(_, entry)| entry.state == State::ABORTED && entry.sequence() > Some(3)))
    }
}

#[test]
fn the_same_cuts_find_the_faults_of_another_order() {
    let mut tally = Tally::default();
    let mut lost_updates = 0;
    for stale in [State::VALID, State::ABORTED] {
        for nature in [Nature::Good, Nature::Hangs] {
            let (device, new) = (Device::new(Before::Torn), Image::new(NEW, nature));
            device.set_entry(0, 3, State::VALID);
            device.set_entry(1, 2, stale);
            let whole = device.again(1);
            whole.flash.borrow_mut().power_on(None);
            let mut faults = Faults::default();
            let end = whole.live::<Naive>(Loader::Rollback, &new, &mut faults, &mut 0).unwrap();
            let version = if nature == Nature::Good { NEW } else { OLD };
            assert!(matches!(end, End::Content(_, header) if header.version == version), "{end:?}");
            assert_eq!(faults, Faults::default(), "with the power on it works");
            let steps = whole.flash.borrow().steps;
            let given_up = tally.given_up;
            for seed in 0..4 * steps {
                let device = device.again(seed as u64);
                device.live_with_cuts::<Naive>(Loader::Rollback, &new, &[seed / 4], &mut tally);
            }
            if nature == Nature::Good && stale == State::ABORTED {
                lost_updates += tally.given_up - given_up;
            }
        }
    }
    let faults = tally.faults;
    assert!(faults.stuck > 100, "a torn entry makes every later call an error: {tally:?}");
    assert!(faults.untried > 0, "the new image starts without a trial: {tally:?}");
    assert!(faults.lost > 0, "and hangs for ever: {tally:?}");
    assert!(lost_updates > 0, "the new entry carries the old rejection: {tally:?}");
    assert_eq!((faults.floating, faults.storage), (0, 0), "what was fetched is as good as ours: {tally:?}");
}

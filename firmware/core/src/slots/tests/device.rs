//! A device in memory: a loader, two slots, and firmware that wants to become newer.

use core::{cell::RefCell, ops::Range};
use std::{vec, vec::Vec};

use gatepost_link::{Digest, frame, seal::SealSecret, update::image_id};
use sha2::{Digest as _, Sha256};

use super::super::{
    Next, Parts, Release, Slot, Start, Store, StoreError, Whole,
    choose::{Loader, choose},
    entry::{Entry, State},
    otadata,
    store::BLOCK_BYTES,
    trial::Trial,
};
use crate::storage::{
    Counter as _, Keys, Storage as _,
    flash::{
        FlashError, SECTOR_BYTES,
        part::{Part, PartError},
        power_cut::{Fault, PowerCutFlash},
        storage::FlashStorage,
    },
};

pub(super) type Flash<'f> = Part<'f, PowerCutFlash>;
pub(super) type Failure = StoreError<PartError<Fault>>;

/// Three blocks, and a sector for list and marks.
const SLOT_BYTES: u32 = 4 * SECTOR_BYTES;
const IMAGES_AT: u32 = 2 * SECTOR_BYTES;
const STORAGE_AT: u32 = IMAGES_AT + 2 * SLOT_BYTES;
const FLASH_BYTES: u32 = STORAGE_AT + 16 * SECTOR_BYTES;
/// The sectors in which trials are recorded.
pub(super) const TRIALS: Range<usize> =
    (STORAGE_AT + 8 * SECTOR_BYTES) as usize..(STORAGE_AT + 10 * SECTOR_BYTES) as usize;
/// More than a life without cuts ever needs.
const STARTS: usize = 16;

const KEYS: Keys = Keys { sign: [1; 32], seal: SealSecret([2; 32]) };

pub(super) const OLDER: u8 = 1;
pub(super) const OLD: u8 = 2;
pub(super) const NEW: u8 = 3;

/// What an image does when it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    Good,
    /// Counts its start, and then waits for the watchdog.
    Hangs,
    /// Counts its start, and then knows that it failed.
    Panics,
    /// Its hash is the manifest's, but a loader does not start it: it lacks a signature, or is for another chip.
    Refused,
}

/// An image as a loader verifies it: length, version, nature, content, SHA-256.
pub(super) struct Image {
    pub(super) bytes: Vec<u8>,
}

/// What a loader finds in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: u8,
    pub(super) nature: Nature,
}

impl Image {
    const BYTES: usize = 2 * BLOCK_BYTES as usize + 300;

    /// The second block is the same in all of them.
    pub(super) fn new(version: u8, nature: Nature) -> Self {
        let mut bytes = vec![version; Self::BYTES - 32];
        bytes[..4].copy_from_slice(&(Self::BYTES as u32).to_le_bytes());
        bytes[5] = nature as u8;
        bytes[BLOCK_BYTES as usize..2 * BLOCK_BYTES as usize].fill(0x5a);
        let hash = Sha256::digest(&bytes);
        bytes.extend_from_slice(&hash);
        Self { bytes }
    }

    pub(super) fn list(&self) -> Vec<u8> {
        self.bytes.chunks(BLOCK_BYTES as usize).flat_map(Sha256::digest).collect()
    }

    pub(super) fn release(&self) -> Release {
        let hash = |bytes: &[u8]| Digest(Sha256::digest(bytes).into());
        Release { size: self.bytes.len() as u32, image: hash(&self.bytes), blocks: hash(&self.list()) }
    }
}

/// How the application changes slots.
pub(super) trait Order {
    fn at_start(parts: Parts<Flash<'_>>, running: Slot) -> Result<Start, Failure>;
    fn store(parts: Parts<Flash<'_>>, running: Slot, release: Release) -> Result<Store<Flash<'_>>, Failure>;
    fn switch(parts: Parts<Flash<'_>>, running: Slot, image: Whole) -> Result<(), Failure>;
    fn confirm(parts: Parts<Flash<'_>>, running: Slot) -> Result<(), Failure>;
    fn go_back(parts: Parts<Flash<'_>>, running: Slot) -> Result<(), Failure>;
    fn went_back(parts: Parts<Flash<'_>>, running: Slot, image: &Digest) -> Result<bool, Failure>;
}

/// How a life went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing is left to do.
    Content(Slot, Header),
    /// No slot has an image that starts.
    Dead,
    /// It starts again and again.
    Endless,
    /// The application refuses to touch its slots ever again.
    Stuck,
}

/// What was seen over many lives.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) lives: usize,
    pub(super) cuts: usize,
    /// Good images that were not confirmed after a cut during their trial.
    pub(super) given_up: usize,
    pub(super) faults: Faults,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Faults {
    /// Lives that ended without a start, or never.
    pub(super) lost: usize,
    /// The application refuses to touch its slots.
    pub(super) stuck: usize,
    /// Lives that ended on an image that is not good.
    pub(super) ended_badly: usize,
    /// Starts of an image that is not good while no trial was under way.
    pub(super) untried: usize,
    /// More starts of a bad image than a trial has.
    pub(super) too_many: usize,
    /// Bits of the confirmed image that may read differently later.
    pub(super) floating: usize,
    /// Lives after which another start took another slot.
    pub(super) unsettled: usize,
    /// Lives that changed keys, counter, or what else lies beside the record.
    pub(super) storage: usize,
}

/// The state of `otadata` before the update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// Flashed over the cable, never updated.
    Blank,
    /// After an update; `ota_1` is running.
    Used,
    /// After an update, with one entry torn; `ota_0` is running.
    Torn,
}

pub(super) struct Device {
    pub(super) flash: RefCell<PowerCutFlash>,
}

impl Device {
    pub(super) fn new(before: Before) -> Self {
        let mut flash = PowerCutFlash::blank(FLASH_BYTES, 1);
        flash.page = 256;
        let device = Self { flash: RefCell::new(flash) };
        let mut parts = device.parts();
        let running = if before == Before::Used { Slot::Ota1 } else { Slot::Ota0 };
        device.fetch(running, &Image::new(OLD, Nature::Good));
        let mut storage = FlashStorage::new(parts.storage.clone());
        storage.store_keys(&KEYS).unwrap();
        assert_eq!(storage.reserve(), Ok(1));
        if before != Before::Blank {
            device.fetch(running.other(), &Image::new(OLDER, Nature::Good));
            let image = image_id(&Image::new(OLD, Nature::Good).release().image);
            let mut trial = Trial::begin(&mut parts.storage, running, image).unwrap();
            trial.spend(&mut parts.storage).unwrap();
            trial.mark_good(&mut parts.storage).unwrap();
            otadata::settle(&mut parts.otadata, running).unwrap();
        }
        if before == Before::Torn {
            device.flash.borrow_mut().rot(SECTOR_BYTES + 1);
        }
        device
    }

    /// The same device, with other dice. A quarter of the seeds cut between two steps.
    pub(super) fn again(&self, seed: u64) -> Self {
        let mut flash = self.flash.borrow().with_seed(seed);
        flash.cuts_between = seed % 4 == 3;
        Self { flash: RefCell::new(flash) }
    }

    pub(super) fn parts(&self) -> Parts<Flash<'_>> {
        let image = |slot: u32| Part::new(&self.flash, IMAGES_AT + slot * SLOT_BYTES, SLOT_BYTES);
        Parts {
            otadata: Part::new(&self.flash, 0, 2 * SECTOR_BYTES),
            images: [image(0), image(1)],
            storage: Part::new(&self.flash, STORAGE_AT, 16 * SECTOR_BYTES),
        }
    }

    fn fetch(&self, slot: Slot, image: &Image) {
        let flash = self.parts().images[slot.index()].clone();
        fetch(Store::new(flash, slot, image.release()).unwrap(), image).unwrap();
    }

    /// What a loader does: it chooses, writes, verifies, and says what it starts.
    pub(super) fn boot(&self, loader: Loader) -> Result<Option<(Slot, Header)>, Failure> {
        let mut parts = self.parts();
        let choice = choose(otadata::read(&mut parts.otadata)?, loader);
        for (sector, entry) in choice.writes.into_iter().flatten() {
            otadata::write(&mut parts.otadata, sector, entry)?;
        }
        for slot in [choice.first, choice.first.other()] {
            if let Some(header) = self.verify(slot)? {
                if let Some(entry) = choice.initial(slot) {
                    otadata::write(&mut parts.otadata, 0, entry)?;
                }
                return Ok(Some((slot, header)));
            }
        }
        Ok(None)
    }

    fn verify(&self, slot: Slot) -> Result<Option<Header>, Failure> {
        use embedded_storage::nor_flash::ReadNorFlash as _;
        let mut bytes = vec![0; Image::BYTES];
        self.parts().images[slot.index()].read(0, &mut bytes).map_err(FlashError::Flash)?;
        let (content, hash) = bytes.split_at(Image::BYTES - 32);
        let length = u32::from_le_bytes([content[0], content[1], content[2], content[3]]);
        if length as usize != Image::BYTES || Sha256::digest(content)[..] != *hash {
            return Ok(None);
        }
        let nature = match content[5] {
            0 => Nature::Good,
            1 => Nature::Hangs,
            2 => Nature::Panics,
            _ => return Ok(None),
        };
        Ok(Some(Header { version: content[4], nature }))
    }

    /// Starts until nothing is left to do, or the power is cut.
    pub(super) fn live<O: Order>(
        &self,
        loader: Loader,
        new: &Image,
        faults: &mut Faults,
        bad_starts: &mut usize,
    ) -> Result<End, Failure> {
        for _ in 0..STARTS {
            let Some((running, header)) = self.boot(loader)? else { return Ok(End::Dead) };
            let start = match O::at_start(self.parts(), running)? {
                Start::Restart => continue,
                start => start,
            };
            let on_trial = matches!(start, Start::Trial { .. });
            if header.nature != Nature::Good {
                faults.untried += usize::from(!on_trial);
                *bad_starts += 1;
                if header.nature == Nature::Panics {
                    O::go_back(self.parts(), running)?;
                }
                continue;
            }
            if on_trial {
                O::confirm(self.parts(), running)?;
            }
            let release = new.release();
            if header.version == NEW || O::went_back(self.parts(), running, &release.image)? {
                return Ok(End::Content(running, header));
            }
            let whole = fetch(O::store(self.parts(), running, release)?, new)?;
            O::switch(self.parts(), running, whole)?;
        }
        Ok(End::Endless)
    }

    /// One life with a cut at the first of these steps, one at the next of them while it recovers, and so on.
    pub(super) fn live_with_cuts<O: Order>(
        &self,
        loader: Loader,
        new: &Image,
        cuts: &[usize],
        tally: &mut Tally,
    ) {
        let before = self.flash.borrow().bytes.clone();
        let mut cuts = cuts.iter().copied();
        let mut bad_starts = 0;
        tally.lives += 1;
        let end = loop {
            self.flash.borrow_mut().power_on(cuts.next());
            match self.live::<O>(loader, new, &mut tally.faults, &mut bad_starts) {
                Ok(end) => break end,
                Err(_) if self.flash.borrow().was_cut() => tally.cuts += 1,
                Err(StoreError::Unasked) => break End::Stuck,
                Err(error) => panic!("{error}"),
            }
        };
        self.flash.borrow_mut().power_on(None);
        let faults = &mut tally.faults;
        faults.too_many += usize::from(bad_starts > usize::from(super::super::trial::STARTS));
        faults.storage += usize::from(!self.storage_is(&before));
        match end {
            End::Dead | End::Endless => faults.lost += 1,
            End::Stuck => faults.stuck += 1,
            End::Content(running, header) => {
                let wanted = new.bytes[5] == Nature::Good as u8;
                faults.ended_badly += usize::from(header.nature != Nature::Good || header.version == OLDER);
                tally.given_up += usize::from(wanted && header.version != NEW);
                let at = (IMAGES_AT + running.index() as u32 * SLOT_BYTES) as usize;
                faults.floating += usize::from(self.flash.borrow().floats(at..at + Image::BYTES));
                let same = (0..4).all(|_| {
                    let booted = self.boot(loader).expect("there is power");
                    let start = O::at_start(self.parts(), running);
                    booted == Some((running, header))
                        && matches!(start, Ok(Start::Settled | Start::WentBack(_)))
                });
                faults.unsettled += usize::from(!same);
            }
        }
    }

    /// Whether the storage is as it was, but for the record of trials.
    fn storage_is(&self, before: &[u8]) -> bool {
        let flash = self.flash.borrow();
        [STORAGE_AT as usize..TRIALS.start, TRIALS.end..FLASH_BYTES as usize]
            .into_iter()
            .all(|range| flash.bytes[range.clone()] == before[range.clone()] && !flash.floats(range))
    }

    /// The keys are there, and the counter goes on.
    pub(super) fn assert_keys_and_counter(&self) {
        let mut storage = FlashStorage::new(self.parts().storage);
        assert_eq!(storage.load_keys(), Ok(Some(KEYS)));
        assert_eq!(storage.reserve(), Ok(2));
    }

    /// Overwrites an entry.
    pub(super) fn set_entry(&self, sector: usize, sequence: u32, state: State) {
        otadata::write(&mut self.parts().otadata, sector, Entry::new(sequence, state)).unwrap();
    }
}

/// Hands a store everything that it asks for.
pub(super) fn fetch(mut store: Store<Flash<'_>>, image: &Image) -> Result<Whole, Failure> {
    let list = image.list();
    loop {
        match store.next() {
            Next::Work => store.work()?,
            Next::Piece(piece) => {
                let from = if piece.part == frame::Part::List { &list } else { &image.bytes };
                let bytes = &from[piece.offset as usize..][..piece.length as usize];
                store.take(piece.part, piece.offset, bytes)?;
            }
            Next::Whole => return Ok(store.into_whole().expect("it says so")),
        }
    }
}

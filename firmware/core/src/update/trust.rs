//! Whose releases the device takes, and from which version on: a root and a floor, of which the flash keeps the highest seen.
//!
//! The first root is part of the firmware. Each later one follows from the one before by the signatures of both, so a device that
//! is told an old one, or none, stays with what it has. If the record cannot be read the device takes nothing: to begin again with
//! the first root would trust keys that were taken out of use since.

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::update::{
    ImageId, Root, Version,
    root::{MAX_ROOT_BYTES, RootFile},
};
use serde::{Deserialize, Serialize};

use crate::storage::flash::{
    FlashError,
    record::{MAX_VALUE_BYTES, Record},
    storage::{UPDATE_FLOOR, UPDATE_ROOT},
};

const ROOT: Record = Record::new(UPDATE_ROOT, 5);
const FLOOR: Record = Record::new(UPDATE_FLOOR, 6);

/// How many images that went back are remembered.
pub const MAX_FAILED: usize = 8;

/// The record of the floor. A later layout may only add to its end: the firmware before, if it is started again, reads the rest.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Floor {
    /// Nothing below it is taken.
    floor: Version,
    /// What rises once this image is confirmed. The image itself does not know: its manifest was read by the firmware before.
    next: Option<Next>,
    /// Images that went back, the latest last.
    failed: heapless::Vec<ImageId, MAX_FAILED>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Next {
    image: ImageId,
    floor: Version,
    /// The version of the firmware that installs it, which stays in the other slot.
    before: Version,
}

/// Root and floor in the device's storage.
#[derive(Debug)]
pub struct Trust<F> {
    storage: F,
    first: Option<&'static [u8]>,
}

impl<F: NorFlash> Trust<F> {
    /// What this storage keeps; `first` is the root that the firmware came with, a [`RootFile`].
    pub const fn new(storage: F, first: Option<&'static [u8]>) -> Self {
        Self { storage, first }
    }

    /// The root to judge by; [`None`] if the firmware came with none.
    pub fn root(&mut self) -> Result<Option<Root>, FlashError<F::Error>> {
        let Some(first) = self.first.and_then(RootFile::from_bytes) else { return Ok(None) };
        let Some(first) = first.signed_by_itself() else { return Ok(None) };
        let mut buffer = [0; MAX_VALUE_BYTES];
        let Some(stored) = ROOT.load(&mut self.storage, &mut buffer)? else { return Ok(Some(first.clone())) };
        let stored = Root::from_bytes(stored).ok_or(FlashError::Damaged)?;
        Ok(Some(if stored.version() > first.version() { stored } else { first.clone() }))
    }

    /// Takes the next root; `false` if it does not follow from the present one.
    pub fn take_root(&mut self, file: &[u8]) -> Result<bool, FlashError<F::Error>> {
        let (Some(file), Some(present)) = (RootFile::from_bytes(file), self.root()?) else {
            return Ok(false);
        };
        let Some(next) = file.after(&present) else { return Ok(false) };
        let mut buffer = [0; MAX_ROOT_BYTES];
        ROOT.store(&mut self.storage, next.to_bytes(&mut buffer))?;
        Ok(true)
    }

    /// The version below which nothing is taken.
    pub fn floor(&mut self) -> Result<Version, FlashError<F::Error>> {
        self.record().map(|record| record.floor)
    }

    /// Remembers what is to rise when this image is confirmed; `before` is the version that installs it.
    pub fn prepare(
        &mut self,
        image: ImageId,
        floor: Version,
        before: Version,
    ) -> Result<(), FlashError<F::Error>> {
        let record = Floor { next: Some(Next { image, floor, before }), ..self.record()? };
        self.store(record)
    }

    /// Raises what was to rise with this image. Whether the firmware in the other slot is below the floor now; [`None`] if nothing was to
    /// rise, or [`Trust::finish`] was called since.
    pub fn confirm(&mut self, image: ImageId) -> Result<Option<bool>, FlashError<F::Error>> {
        let record = self.record()?;
        let Some(next) = record.next.filter(|next| next.image == image) else { return Ok(None) };
        let floor = record.floor.max(next.floor);
        if floor != record.floor {
            self.store(Floor { floor, ..record })?;
        }
        Ok(Some(next.before < floor))
    }

    /// All that follows from the floor is done.
    pub fn finish(&mut self) -> Result<(), FlashError<F::Error>> {
        let record = Floor { next: None, ..self.record()? };
        self.store(record)
    }

    /// Remembers that this image went back: of the last [`MAX_FAILED`].
    pub fn remember_failed(&mut self, image: ImageId) -> Result<(), FlashError<F::Error>> {
        let mut record = self.record()?;
        if record.failed.contains(&image) {
            return Ok(());
        }
        if record.failed.is_full() {
            record.failed.remove(0);
        }
        let _ = record.failed.push(image);
        self.store(record)
    }

    /// Whether this image went back.
    pub fn has_failed(&mut self, image: ImageId) -> Result<bool, FlashError<F::Error>> {
        self.record().map(|record| record.failed.contains(&image))
    }

    fn record(&mut self) -> Result<Floor, FlashError<F::Error>> {
        let mut buffer = [0; MAX_VALUE_BYTES];
        if FLOOR.load(&mut self.storage, &mut buffer)?.is_none() {
            return Ok(Floor::default());
        }
        // What an earlier layout lacks reads as the zeros behind it: nothing.
        postcard::from_bytes(&buffer).map_err(|_| FlashError::Damaged)
    }

    fn store(&mut self, record: Floor) -> Result<(), FlashError<F::Error>> {
        let mut buffer = [0; MAX_VALUE_BYTES];
        let bytes = postcard::to_slice(&record, &mut buffer).map_err(|_| FlashError::TooLarge)?;
        FLOOR.store(&mut self.storage, bytes)
    }
}

//! The change of the companion's firmware: an image into the slot that is not running, a trial of it, and the way back.
//!
//! The promise: a power cut at any instruction leaves a device that starts, and an image that was not confirmed is started
//! three times at most, unless nothing else on the device starts.
//!
//! Why the application counts starts itself: the loader that espflash 4.7 writes (ESP-IDF v6.1-829) was built without
//! rollback, so it starts a new image for ever; a loader cannot be replaced over the air; and `esp_hal::init` disables the
//! RTC watchdog that the loader left running. With a loader that does have rollback the same code keeps the same promise.
//! What this leaves open: an image that hangs before the first statement of its `main` is never counted. A release is
//! started in an emulator before it is signed. And a trial goes on with whatever lies in its slot: who writes an image over
//! the cable while one is under way erases `otadata` and the record as well.
//!
//! How, from the first piece to the last word:
//!
//! 1. [`Slots::store`]: the image goes into the other slot, and is hashed as it lies there. `otadata` leads to the running
//!    slot by both of its entries, so nothing starts what is half there.
//! 2. [`Slots::switch`]: the trial is recorded and read back; only then does one entry lead to the new image. Whether an
//!    image is on trial is told by that record alone: `otadata`'s state is covered by no checksum.
//! 3. [`Slots::at_start`], the first statement of `main`: it spends a start of the trial, or goes back if none is left.
//!    The runner then starts a watchdog that nobody feeds.
//! 4. [`Slots::confirm`] once the new firmware has proved itself, or [`Slots::go_back`] if it knows that it never will.
//!
//! Where: [`entry`] and [`choose`] say what a loader does and need nothing but `core`; [`otadata`] writes the entries;
//! [`trial`] is the record; [`store`] takes the image; [`partitions`] is the flash's layout; [`flat`] is the image of an emulated
//! board. When to fetch, whom to ask and what to verify is not decided here.

pub mod choose;
pub mod entry;
pub mod flat;
pub mod otadata;
pub mod partitions;
pub mod store;
pub mod trial;

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::{
    Digest,
    update::{ImageId, image_id},
};

use self::{choose::in_force, entry::State, trial::Trial};
pub use self::{
    entry::Slot,
    store::{Next, Piece, Release, Store, StoreError, Whole},
};
use crate::storage::flash::{FlashError, SECTOR_BYTES};

/// The partitions that a change of firmware touches.
#[derive(Debug, Clone)]
pub struct Parts<F> {
    /// `otadata`: two sectors.
    pub otadata: F,
    /// The slots, [`Slot::Ota0`] first.
    pub images: [F; 2],
    /// The device's storage, of which the region [`TRIAL`](crate::storage::flash::storage::TRIAL) is used.
    pub storage: F,
}

/// What a start is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// No image is on trial.
    Settled,
    /// The running image is on trial.
    Trial {
        /// Which one it is.
        image: ImageId,
        /// How many starts it has after this one.
        left: u8,
    },
    /// The other slot has an image that was tried and did not confirm itself, or that the loader does not start.
    WentBack(ImageId),
    /// The running image had its starts, and the other slot is to be started: reset the device now.
    Restart,
}

/// The two slots, one of them running.
#[derive(Debug)]
pub struct Slots<F> {
    parts: Parts<F>,
    running: Slot,
}

impl<F: NorFlash + Clone> Slots<F> {
    /// The slots of this flash. A board knows from its memory mapping which one is running; `otadata` does not say, as a
    /// loader takes the other slot if an image does not verify.
    pub const fn new(parts: Parts<F>, running: Slot) -> Self {
        Self { parts, running }
    }

    /// The slot that is running.
    pub const fn running(&self) -> Slot {
        self.running
    }

    /// What this start is. Call it once, before anything that may fail.
    ///
    /// # Errors
    ///
    /// The flash failed. Unless [`Slots::on_trial`] says otherwise, go on as after [`Start::Trial`]. If the record could be read at all, an
    /// image on trial has then tried both to count the start and to go back.
    pub fn at_start(&mut self) -> Result<Start, FlashError<F::Error>> {
        let mut trial = self.trial()?;
        if let Some(trial) = &mut trial {
            if self.is_under_way(trial) {
                return self.count(*trial);
            }
            self.catch_up(trial)?;
        }
        self.settle()?;
        Ok(trial
            .filter(|trial| self.has_failed(trial))
            .map_or(Start::Settled, |trial| Start::WentBack(trial.image())))
    }

    /// Begins or resumes taking an image into the other slot.
    ///
    /// # Errors
    ///
    /// [`StoreError::OnTrial`] as long as the other slot is the way back; [`StoreError::Size`].
    pub fn store(&mut self, release: Release) -> Result<Store<F>, StoreError<F::Error>> {
        if self.trial()?.is_some_and(|trial| self.is_under_way(&trial)) {
            return Err(StoreError::OnTrial);
        }
        // Else an image would start without a trial once its last block is there.
        self.settle()?;
        let slot = self.running.other();
        Store::new(self.parts.images[slot.index()].clone(), slot, release)
    }

    /// Makes the next start a trial of this image. Reset the device then.
    ///
    /// After an error, or a power cut, the running image is started again, and the image is still there. Only if the flash fails once more,
    /// on the way back, the image may be tried all the same.
    pub fn switch(&mut self, image: Whole) -> Result<(), FlashError<F::Error>> {
        let switched = Trial::begin(&mut self.parts.storage, image.slot, image_id(&image.image))
            .and_then(|_| otadata::lead_to(&mut self.parts.otadata, image.slot, State::NEW));
        if switched.is_err() {
            // The entry may be whole, though it could not be read back.
            let _ = self.settle().or_else(|_| self.settle());
        }
        switched
    }

    /// Ends the trial of the running image: it is good. Nothing happens if it is not on trial.
    ///
    /// After an error call it again: until it returns, a start may still count.
    pub fn confirm(&mut self) -> Result<(), FlashError<F::Error>> {
        if let Some(mut trial) = self.trial()?.filter(|trial| self.is_under_way(trial)) {
            trial.mark_good(&mut self.parts.storage)?;
        }
        self.settle()
    }

    /// Ends the trial of the running image: it failed. `true` if the device is to be reset, `false` if the running image
    /// is not on trial; then nothing was written.
    pub fn go_back(&mut self) -> Result<bool, FlashError<F::Error>> {
        let under_way = self.trial()?.is_some_and(|trial| self.is_under_way(&trial));
        if under_way {
            otadata::settle(&mut self.parts.otadata, self.running.other())?;
        }
        Ok(under_way)
    }

    /// The running image, if it is on trial.
    pub fn on_trial(&mut self) -> Result<Option<ImageId>, FlashError<F::Error>> {
        let trial = self.trial()?;
        Ok(trial.filter(|trial| self.is_under_way(trial)).map(|trial| trial.image()))
    }

    /// The running image, if it was on trial and confirmed itself.
    pub fn confirmed(&mut self) -> Result<Option<ImageId>, FlashError<F::Error>> {
        let trial = self.trial()?;
        let is_it = |trial: &Trial| trial.slot() == self.running && trial.is_good();
        Ok(trial.filter(is_it).map(|trial| trial.image()))
    }

    /// Whether this image was the last one tried, and did not confirm itself: not to be tried again unless a person says so.
    pub fn went_back(&mut self, image: &Digest) -> Result<bool, FlashError<F::Error>> {
        let trial = self.trial()?;
        Ok(trial.is_some_and(|trial| self.has_failed(&trial) && trial.image() == image_id(image)))
    }

    /// Reads the first bytes of an image.
    pub fn read_head(&mut self, image: &Whole, bytes: &mut [u8]) -> Result<(), FlashError<F::Error>> {
        self.parts.images[image.slot.index()].read(0, bytes).map_err(FlashError::Flash)
    }

    /// Makes the image in the other slot one that no loader starts: it is below the floor. Not while the running one is on trial.
    pub fn erase_other(&mut self) -> Result<(), FlashError<F::Error>> {
        let other = &mut self.parts.images[self.running.other().index()];
        let size = other.capacity() as u32;
        // What starts, and how much of it was read back.
        for at in [0, size - SECTOR_BYTES] {
            other.erase(at, at + SECTOR_BYTES).map_err(FlashError::Flash)?;
        }
        Ok(())
    }

    /// Makes both entries lead to the running slot, so that no torn one leads elsewhere. Not while it is on trial.
    fn settle(&mut self) -> Result<(), FlashError<F::Error>> {
        otadata::settle(&mut self.parts.otadata, self.running)
    }

    /// Records what could not be recorded when it happened.
    fn catch_up(&mut self, trial: &mut Trial) -> Result<(), FlashError<F::Error>> {
        let entries = otadata::read(&mut self.parts.otadata)?;
        if trial.slot() == self.running {
            // The power went during `confirm`, and the line may read well only once.
            if !entries.iter().all(|entry| entry.is_settled(self.running)) {
                trial.mark_good(&mut self.parts.storage)?;
            }
        } else if !trial.was_started()
            && in_force(&entries).map(|sector| entries[sector].slot()) == Some(trial.slot())
        {
            // The loader was sent to the new image and came here: it does not start it, and will not the next time.
            trial.spend(&mut self.parts.storage)?;
        }
        Ok(())
    }

    /// Spends a start of the running image, or goes back.
    fn count(&mut self, mut trial: Trial) -> Result<Start, FlashError<F::Error>> {
        let other = self.running.other();
        if trial.left() > 0 && trial.spend(&mut self.parts.storage).is_ok() {
            return Ok(Start::Trial { image: trial.image(), left: trial.left() });
        }
        // The loader was sent there and came here: nothing in the other slot starts. Resetting again would go on for ever.
        if otadata::is_settled(&mut self.parts.otadata, other)? {
            return Ok(Start::Trial { image: trial.image(), left: 0 });
        }
        otadata::settle(&mut self.parts.otadata, other)?;
        Ok(Start::Restart)
    }

    fn trial(&mut self) -> Result<Option<Trial>, FlashError<F::Error>> {
        Trial::load(&mut self.parts.storage)
    }

    fn is_under_way(&self, trial: &Trial) -> bool {
        trial.slot() == self.running && !trial.is_good()
    }

    /// Whether the image of the other slot was tried in vain. One that had confirmed itself is not meant, even if a loader
    /// left it since: it may be taken again.
    fn has_failed(&self, trial: &Trial) -> bool {
        trial.slot() != self.running && trial.was_started() && !trial.is_good()
    }
}

#[cfg(test)]
mod tests;

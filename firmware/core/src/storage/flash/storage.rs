//! [`Storage`] in flash: keys, bond, network and counter, each in its own region.
//!
//! The counter is set to zero just before the first keys are stored, and never again. New keys continue with the old
//! counter, because a power cut may leave either keys. So a device with keys but no readable counter is damaged, and a
//! device that starts over cannot sign as the device that it was.

use embedded_storage::nor_flash::NorFlash;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    counter::FlashCounter,
    record::{MAX_VALUE_BYTES, Record},
    region::{FlashError, Region},
};
use crate::storage::{
    identity::{Bond, Keys},
    network::Network,
    traits::{Counter, Storage},
};

/// Everything that a device keeps, at the start of a flash or of a partition.
#[derive(Debug)]
pub struct FlashStorage<F> {
    flash: F,
    counter: FlashCounter,
}

const KEYS: Record = Record::new(Region::at(0), 1);
const BOND: Record = Record::new(Region::at(Region::SIZE), 2);
const NETWORK: Record = Record::new(Region::at(2 * Region::SIZE), 3);
const COUNTER: Region = Region::at(3 * Region::SIZE);
/// The trial of new firmware ([`slots`](crate::slots)), behind [`FlashStorage`] in the same partition.
pub const TRIAL: Region = Region::at(4 * Region::SIZE);
/// The keys that new firmware is signed by ([`update::trust`](crate::update::trust)).
pub const UPDATE_ROOT: Region = Region::at(5 * Region::SIZE);
/// The lowest version of firmware that is still taken.
pub const UPDATE_FLOOR: Region = Region::at(6 * Region::SIZE);
/// Bytes of a partition for all of these.
pub const BYTES: u32 = 7 * Region::SIZE;

impl<F: NorFlash> FlashStorage<F> {
    /// How many bytes of flash it needs: eight sectors.
    pub const SIZE: u32 = 4 * Region::SIZE;

    /// The storage in this flash.
    pub fn new(flash: F) -> Self {
        Self { flash, counter: FlashCounter::new(COUNTER) }
    }

    /// The flash itself.
    pub fn into_flash(self) -> F {
        self.flash
    }

    fn load<T: DeserializeOwned>(&mut self, record: Record) -> Result<Option<T>, FlashError<F::Error>> {
        let mut buffer = [0; MAX_VALUE_BYTES];
        match record.load(&mut self.flash, &mut buffer)? {
            None | Some([]) => Ok(None),
            Some(bytes) => match postcard::take_from_bytes(bytes) {
                Ok((value, [])) => Ok(Some(value)),
                _ => Err(FlashError::Damaged),
            },
        }
    }

    fn store(&mut self, record: Record, value: &impl Serialize) -> Result<(), FlashError<F::Error>> {
        let mut buffer = [0; MAX_VALUE_BYTES];
        let bytes = postcard::to_slice(value, &mut buffer).map_err(|_| FlashError::TooLarge)?;
        record.store(&mut self.flash, bytes)
    }
}

impl<F: NorFlash> Counter for FlashStorage<F> {
    type Error = FlashError<F::Error>;

    fn reserve(&mut self) -> Result<u64, Self::Error> {
        self.counter.reserve(&mut self.flash)
    }
}

impl<F: NorFlash> Storage for FlashStorage<F> {
    fn load_keys(&mut self) -> Result<Option<Keys>, Self::Error> {
        if let Some(keys) = self.load(KEYS)? {
            return Ok(Some(keys));
        }
        // A device that has reserved a number has had keys.
        match self.counter.last(&mut self.flash) {
            Ok(0) | Err(FlashError::Damaged) => Ok(None),
            Ok(_) => Err(FlashError::Damaged),
            Err(error) => Err(error),
        }
    }

    fn store_keys(&mut self, keys: &Keys) -> Result<(), Self::Error> {
        match self.counter.last(&mut self.flash) {
            // There is no counter, or none that can be continued.
            Err(FlashError::Damaged) => self.counter.format(&mut self.flash)?,
            found => _ = found?,
        }
        self.store(KEYS, keys)
    }

    fn load_bond(&mut self) -> Result<Option<Bond>, Self::Error> {
        self.load(BOND)
    }

    fn store_bond(&mut self, bond: &Bond) -> Result<(), Self::Error> {
        self.store(BOND, bond)
    }

    /// Stores an empty value, which erases the old one from both copies.
    fn wipe_bond(&mut self) -> Result<(), Self::Error> {
        BOND.store(&mut self.flash, &[])
    }

    fn load_network(&mut self) -> Result<Option<Network>, Self::Error> {
        self.load(NETWORK)
    }

    fn store_network(&mut self, network: &Network) -> Result<(), Self::Error> {
        self.store(NETWORK, network)
    }
}

#[cfg(test)]
mod tests;

//! The partition `storage` of partitions.csv, shared by the companion and the set-up: each has records of its own there.

use alloc::rc::Rc;
use core::cell::RefCell;

use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use esp_hal::peripherals::FLASH;
use esp_storage::{FlashStorage, FlashStorageError};
use gatepost_companion::flash::storage;

/// Where it begins, and its bytes.
const START: u32 = 0x3d_0000;
const SIZE: u32 = 0x1_0000;
const _: () = assert!(SIZE >= storage::FlashStorage::<Partition>::SIZE);

/// The partition.
#[derive(Clone)]
pub struct Partition(Rc<RefCell<FlashStorage<'static>>>);

impl Partition {
    /// Takes the flash.
    pub fn new(flash: FLASH<'static>) -> Self {
        Self(Rc::new(RefCell::new(FlashStorage::new(flash))))
    }
}

/// Where these bytes lie in the flash; nobody gets beyond the partition.
fn within(offset: u32, length: usize) -> Result<u32, FlashStorageError> {
    let end = u32::try_from(length).ok().and_then(|length| offset.checked_add(length));
    match end {
        Some(end) if end <= SIZE => Ok(START + offset),
        _ => Err(FlashStorageError::OutOfBounds),
    }
}

impl ErrorType for Partition {
    type Error = FlashStorageError;
}

impl ReadNorFlash for Partition {
    const READ_SIZE: usize = FlashStorage::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FlashStorageError> {
        let at = within(offset, bytes.len())?;
        self.0.borrow_mut().read_nor(at, bytes)
    }

    fn capacity(&self) -> usize {
        SIZE as usize
    }
}

impl NorFlash for Partition {
    const WRITE_SIZE: usize = FlashStorage::WRITE_SIZE;
    const ERASE_SIZE: usize = FlashStorage::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashStorageError> {
        let start = within(from, to.saturating_sub(from) as usize)?;
        self.0.borrow_mut().erase(start, START + to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FlashStorageError> {
        let at = within(offset, bytes.len())?;
        self.0.borrow_mut().write_nor(at, bytes)
    }
}

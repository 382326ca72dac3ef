//! The partition `storage` of partitions.csv, shared by the companion and the set-up: each has records of its own there.

use core::cell::RefCell;

use esp_hal::peripherals::FLASH;
use esp_storage::FlashStorage;
use gatepost_companion::flash::{part::Part, storage};
use static_cell::StaticCell;

/// Where it begins, and its bytes.
const START: u32 = 0x3d_0000;
const SIZE: u32 = 0x1_0000;
const _: () = assert!(SIZE >= storage::FlashStorage::<Partition>::SIZE);

/// The partition.
pub type Partition = Part<'static, FlashStorage<'static>>;

/// Takes the flash; once.
pub fn partition(flash: FLASH<'static>) -> Partition {
    static WHOLE: StaticCell<RefCell<FlashStorage<'static>>> = StaticCell::new();
    Part::new(WHOLE.init(RefCell::new(FlashStorage::new(flash))), START, SIZE)
}

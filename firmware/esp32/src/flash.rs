//! The partition `storage` of partitions.csv, shared by the companion and the set-up, which use different records in it.

use core::cell::RefCell;

use esp_hal::peripherals::FLASH;
use esp_storage::FlashStorage;
use gatepost_companion::flash::{part::Part, storage};
use static_cell::StaticCell;

/// Where the partition begins, and its bytes.
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

//! The chip's flash and its partitions: several tasks use different records and slots in it.

use core::cell::RefCell;

use esp_bootloader_esp_idf::partitions::{PARTITION_TABLE_MAX_LEN, read_partition_table};
use esp_hal::peripherals::FLASH;
use esp_storage::FlashStorage;
use gatepost_companion::{
    flash::{part::Part, storage},
    slots::{
        Parts, Slot,
        partitions::{IMAGES, STORAGE_BYTES, parts},
    },
};
use static_cell::StaticCell;

const _: () = assert!(STORAGE_BYTES >= storage::BYTES);

/// A partition.
pub type Partition = Part<'static, FlashStorage<'static>>;

/// Takes the flash; once. Its partitions, and the slot that runs.
///
/// # Panics
///
/// The flash has another table than partitions.csv.
pub fn take(flash: FLASH<'static>) -> (Parts<Partition>, Slot) {
    let mut flash = FlashStorage::new(flash);
    let running = running(&mut flash);
    static WHOLE: StaticCell<RefCell<FlashStorage<'static>>> = StaticCell::new();
    (parts(WHOLE.init(RefCell::new(flash))), running)
}

/// The slot that the chip's memory mapping has the program from.
fn running(flash: &mut FlashStorage<'static>) -> Slot {
    let mut buffer = [0; PARTITION_TABLE_MAX_LEN];
    let booted = read_partition_table(flash, &mut buffer).and_then(|table| table.booted_partition());
    let start = booted.ok().flatten().map(|partition| partition.offset());
    // With another table nothing lies where it is looked for; to guess would erase what somebody else has there.
    let running = Slot::ALL.into_iter().find(|slot| start == Some(IMAGES[slot.index()]));
    running.expect("the flash has the table of partitions.csv: write the image of the whole flash")
}

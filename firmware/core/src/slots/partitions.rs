//! Where everything lies in a device's flash: `firmware/esp32/partitions.csv`, for programs that read or write a flash.
//!
//! Fixed: devices in the field are updated in it.

use core::cell::RefCell;

use super::Parts;
use crate::storage::flash::part::Part;

/// Bytes of the whole flash.
pub const FLASH_BYTES: u32 = 0x40_0000;
/// Where `otadata` begins.
pub const OTADATA: u32 = 0x9000;
/// Bytes of `otadata`: two sectors.
pub const OTADATA_BYTES: u32 = 0x2000;
/// Where the slots begin, `ota_0` first.
pub const IMAGES: [u32; 2] = [0x1_0000, 0x1f_0000];
/// Bytes of a slot.
pub const SLOT_BYTES: u32 = 0x1e_0000;
/// Where the device's storage begins.
pub const STORAGE: u32 = 0x3d_0000;
/// Bytes of the storage.
pub const STORAGE_BYTES: u32 = 0x1_0000;

/// The partitions of this flash.
pub const fn parts<F>(flash: &RefCell<F>) -> Parts<Part<'_, F>> {
    Parts {
        otadata: Part::new(flash, OTADATA, OTADATA_BYTES),
        images: [Part::new(flash, IMAGES[0], SLOT_BYTES), Part::new(flash, IMAGES[1], SLOT_BYTES)],
        storage: Part::new(flash, STORAGE, STORAGE_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use std::{format, fs, path::Path, vec::Vec};

    use super::*;

    #[test]
    fn they_are_those_of_the_table_that_is_written_to_devices() {
        let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../esp32/partitions.csv");
        let table = fs::read_to_string(table).unwrap();
        let rows: Vec<Vec<&str>> =
            table.lines().map(|line| line.split(',').map(str::trim).collect()).collect();
        for (name, start, size) in [
            ("otadata", OTADATA, OTADATA_BYTES),
            ("ota_0", IMAGES[0], SLOT_BYTES),
            ("ota_1", IMAGES[1], SLOT_BYTES),
            ("storage", STORAGE, STORAGE_BYTES),
        ] {
            let row = rows.iter().find(|row| row[0] == name).expect("a row");
            assert_eq!(row[3..], [format!("{start:#x}"), format!("{size:#x}")], "{name}");
            assert!(start + size <= FLASH_BYTES);
        }
    }
}

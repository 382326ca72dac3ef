//! What goes before the firmware: ESP-IDF's loader, which espflash brings for each chip, and our partition table.

use esp_idf_part::PartitionTable;
use espflash::{
    flasher::{FlashData, FlashSettings, FlashSize},
    image_format::idf::IdfBootloaderFormat,
    target::XtalFrequency,
};

use crate::{Board, image::TABLE_AT};

/// The flash of every companion.
const TABLE: &str = include_str!("../../../firmware/esp32/partitions.csv");
/// A 32-bit little-endian RISC-V program without a section: its header alone
/// (<https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html>). espflash gives a loader to a program only.
const NO_PROGRAM: [u8; 52] = {
    let mut header = [0; 52];
    let beginning = [0x7f, b'E', b'L', b'F', 1, 1, 1];
    let mut at = 0;
    while at < beginning.len() {
        header[at] = beginning[at];
        at += 1;
    }
    // Executable; RISC-V; version 1; the size of this header, of a program's and of a section's.
    (header[16], header[18], header[20]) = (2, 0xf3, 1);
    (header[40], header[42], header[46]) = (52, 32, 40);
    header
};

/// Why there is no loader.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    /// espflash's words.
    #[error("the loader cannot be made: {0}; give a whole flash, gatepost-BOARD-VERSION.bin of a release")]
    Loader(String),
    /// The loader reaches into the table.
    #[error("the loader is too long; give a whole flash, gatepost-BOARD-VERSION.bin of a release")]
    TooLong,
}

/// The flash of a board up to the end of its partition table.
///
/// # Errors
/// espflash has no loader for the board.
pub fn before_firmware(board: Board) -> Result<Vec<u8>, LoaderError> {
    let failed = |error: &dyn std::fmt::Display| LoaderError::Loader(error.to_string());
    let settings = FlashSettings::new(None, Some(FlashSize::_4Mb), None);
    let data = FlashData::new(settings, 0, None, board.chip(), XtalFrequency::_40Mhz);
    let image = IdfBootloaderFormat::new(&NO_PROGRAM, &data, None, None, None, None);
    let image = image.map_err(|error| failed(&error))?;
    let loader = image.flash_segments().next().ok_or(LoaderError::TooLong)?;
    let table = PartitionTable::try_from_str(TABLE).and_then(|table| table.to_bin());
    let table = table.map_err(|error| failed(&error))?;
    let mut bytes = loader.data().to_vec();
    // Both chips have their loader at the beginning.
    if loader.addr != 0 || bytes.len() > TABLE_AT {
        return Err(LoaderError::TooLong);
    }
    bytes.resize(TABLE_AT, 0xff);
    bytes.extend(table);
    Ok(bytes)
}

//! What is written into a board: always its flash from the beginning up to the end of the firmware, so that an older choice between
//! two slots is gone with it. It never reaches the partition that keeps keys, pairing and network.
//!
//! A file of a release is one of three: a whole flash, the firmware alone, or the firmware signed as the hub keeps it. Signatures are
//! the hub's to judge, and the device's; what is checked here is that the chip can start it.

use gatepost_link::{
    Digest,
    update::{
        image::{DESCRIPTION, DESCRIPTION_AT, ESP_MAGIC, version},
        package::{MAGIC, Package},
    },
};

use crate::{
    Board,
    loader::{self, LoaderError},
};

/// Where the partition table is.
pub const TABLE_AT: usize = 0x8000;
/// Where the first slot begins and ends: `ota_0` in `firmware/esp32/partitions.csv`, which never changes.
pub const SLOT: std::ops::Range<usize> = 0x1_0000..0x1f_0000;
/// The longest file that is read: a whole flash.
pub const MAX_FILE: usize = 4 * 1024 * 1024;
/// What an entry of a partition table begins with
/// (<https://docs.espressif.com/projects/esp-idf/en/stable/esp32c3/api-guides/partition-tables.html>).
const TABLE_MAGIC: [u8; 2] = [0xaa, 0x50];
/// Where an image has its chip's number (`esp_image_header_t`, `chip_id`).
const CHIP_AT: usize = 12;
/// Bytes of the hash that ends an image.
const HASH: usize = 32;

/// What goes into a board's flash, from its beginning on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The firmware's version, if it says one.
    pub version: Option<String>,
}

/// Why a file is not written into a board.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It is something else.
    #[error(
        "the file is no companion's firmware for this board: give gatepost-{}-VERSION.bin, .ota.bin or .gpu of a release", .0.name()
    )]
    OtherKind(Board),
    /// It is for another chip.
    #[error("the firmware is for another chip, and this board is an {board}: take the one for {board}", board = .0.name())]
    OtherChip(Board),
    /// It was changed on its way.
    #[error(
        "the file is damaged or cut short: fetch it again, and compare it with SHA256SUMS of its release"
    )]
    Damaged,
    /// It would reach behind its slot.
    #[error("the file is longer than a companion's flash has room for")]
    TooLong,
    /// The loader for the firmware cannot be made.
    #[error(transparent)]
    Loader(LoaderError),
}

impl Image {
    /// What a board is written with for this file.
    ///
    /// # Errors
    /// The board would not start it.
    pub fn of(file: &[u8], board: Board) -> Result<Self, ImageError> {
        let other = || ImageError::OtherKind(board);
        let package =
            file.starts_with(MAGIC).then(|| Package::read(file)).transpose().map_err(|_| other())?;
        let file = package.as_ref().map_or(file, Package::image);
        // An application may have anything where a whole flash has its table.
        let begins = |at: usize, with: &[u8]| file.get(at..).is_some_and(|bytes| bytes.starts_with(with));
        let is_whole = !begins(DESCRIPTION_AT, &DESCRIPTION) && begins(TABLE_AT, &TABLE_MAGIC);
        let firmware = if is_whole { file.get(SLOT.start..).ok_or(ImageError::Damaged)? } else { file };
        check(firmware, board)?;
        if is_whole {
            check_chip(file, board)?;
        }
        let bytes = if is_whole {
            file.to_vec()
        } else {
            let mut bytes = loader::before_firmware(board).map_err(ImageError::Loader)?;
            bytes.resize(SLOT.start, 0xff);
            bytes.extend(firmware);
            bytes
        };
        if bytes.len() > SLOT.end {
            return Err(ImageError::TooLong);
        }
        Ok(Self { version: version(firmware).map(|version| version.to_string()), bytes })
    }
}

/// Whether this is an application for the board, whole.
fn check(firmware: &[u8], board: Board) -> Result<(), ImageError> {
    if firmware.first() != Some(&ESP_MAGIC) {
        return Err(ImageError::OtherKind(board));
    }
    check_chip(firmware, board)?;
    if !firmware.get(DESCRIPTION_AT..).is_some_and(|description| description.starts_with(&DESCRIPTION)) {
        return Err(ImageError::OtherKind(board));
    }
    let (before, hash) = firmware.split_last_chunk::<HASH>().ok_or(ImageError::Damaged)?;
    if Digest::of(before).0 == *hash { Ok(()) } else { Err(ImageError::Damaged) }
}

fn check_chip(image: &[u8], board: Board) -> Result<(), ImageError> {
    let chip = image.get(CHIP_AT..CHIP_AT + 2).ok_or(ImageError::Damaged)?;
    if u16::from_le_bytes([chip[0], chip[1]]) == board.chip().id() {
        Ok(())
    } else {
        Err(ImageError::OtherChip(board))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The smallest application that says a version.
    pub(crate) fn firmware(board: Board, length: usize) -> Vec<u8> {
        let mut image = vec![0; length.max(128)];
        (image[0], image[1], image[23]) = (ESP_MAGIC, 1, 1);
        image[CHIP_AT..CHIP_AT + 2].copy_from_slice(&board.chip().id().to_le_bytes());
        image[DESCRIPTION_AT..DESCRIPTION_AT + 4].copy_from_slice(&DESCRIPTION);
        image[DESCRIPTION_AT + 16..DESCRIPTION_AT + 21].copy_from_slice(b"1.4.0");
        for (at, byte) in image.iter_mut().enumerate().skip(128) {
            *byte = (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0];
        }
        let hash = Digest::of(&image).0;
        image.extend(hash);
        image
    }

    #[test]
    fn firmware_alone_gets_its_loader_and_table_and_is_a_whole_flash_then() {
        for board in Board::ALL {
            let firmware = firmware(board, 5_000);
            let image = Image::of(&firmware, board).unwrap();
            assert_eq!(image.version.as_deref(), Some("1.4.0"));
            assert_eq!(image.bytes[0], ESP_MAGIC);
            assert_eq!(image.bytes[TABLE_AT..TABLE_AT + 2], TABLE_MAGIC);
            assert!(image.bytes[0x9000..SLOT.start].iter().all(|byte| *byte == 0xff), "no choice of a slot");
            assert_eq!(image.bytes[SLOT.start..], firmware);
            assert_eq!(Image::of(&image.bytes, board).unwrap(), image);
        }
    }

    #[test]
    fn firmware_that_has_by_chance_what_a_table_begins_with_is_still_firmware() {
        let mut firmware = firmware(Board::Esp32c3, 50_000);
        firmware.truncate(50_000);
        firmware[TABLE_AT..TABLE_AT + 2].copy_from_slice(&TABLE_MAGIC);
        let hash = Digest::of(&firmware).0;
        firmware.extend(hash);
        let image = Image::of(&firmware, Board::Esp32c3).unwrap();
        assert_eq!(image.bytes[SLOT.start..], firmware);
    }

    #[test]
    fn what_the_chip_would_not_start_is_refused_with_what_to_do() {
        let good = firmware(Board::Esp32c3, 5_000);
        let said = |file: &[u8], board| Image::of(file, board).unwrap_err().to_string();
        assert!(said(&good, Board::Esp32c6).contains("another chip"));
        assert!(said(b"\x7fELF", Board::Esp32c3).contains("gatepost-esp32c3-VERSION.bin"));
        assert!(said(b"", Board::Esp32c3).contains("no companion's firmware"));
        assert!(said(b"GPU1 but no more", Board::Esp32c3).contains("no companion's firmware"));
        for length in 1..good.len() {
            Image::of(&good[..length], Board::Esp32c3).unwrap_err();
        }
        let mut changed = good.clone();
        changed[200] ^= 1;
        assert!(said(&changed, Board::Esp32c3).contains("damaged"));
        let long = firmware(Board::Esp32c3, SLOT.len());
        assert!(matches!(Image::of(&long, Board::Esp32c3), Err(ImageError::TooLong)));
    }

    #[test]
    fn nothing_is_written_where_a_device_keeps_its_keys() {
        let table = include_str!("../../../firmware/esp32/partitions.csv");
        let of = |name: &str, column: usize| {
            let line = table.lines().find(|line| line.starts_with(name)).unwrap();
            usize::from_str_radix(line.split(',').nth(column).unwrap().trim().trim_start_matches("0x"), 16)
                .unwrap()
        };
        assert_eq!(SLOT, of("ota_0", 3)..of("ota_0", 3) + of("ota_0", 4));
        assert!(of("storage", 3) >= SLOT.end);
    }
}

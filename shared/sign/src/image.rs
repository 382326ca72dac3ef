//! Whether an image is one that a board starts.
//!
//! Espressif's format: a header of 24 bytes (magic 0xE9, the count of segments at 1, the chip's number at 12, at 23 whether a hash
//! follows), segments of a header of 8 bytes (address, length) and their data, a checksum in the last of sixteen bytes, and
//! the SHA-256 of all before. An application's description, which has its version, is the first thing in its first segment:
//! <https://docs.espressif.com/projects/esp-idf/en/stable/esp32c3/api-reference/system/app_image_format.html>; chips:
//! `esp_chip_id_t` in
//! <https://github.com/espressif/esp-idf/blob/master/components/bootloader_support/include/esp_app_format.h>.

use std::{fmt, str::FromStr};

use gatepost_link::{
    Digest,
    update::{
        LIST_BYTES, Version,
        image::{
            DESCRIPTION, DESCRIPTION_AT, DESCRIPTION_VERSION_AT, DESCRIPTION_VERSION_BYTES,
            ESP_MAGIC as MAGIC, FLAT_MAGIC, FLAT_VERSION_AT, version,
        },
        label::Label,
    },
};

/// Bytes of a slot: `ota_0` and `ota_1` in `firmware/esp32/partitions.csv`, which never changes.
pub const SLOT_BYTES: u32 = 0x1e_0000;
/// Bytes of the largest image: the list of its blocks lies at the end of the slot while it is fetched.
pub const MAX_IMAGE: usize = SLOT_BYTES as usize - LIST_BYTES;

const HEADER: usize = 24;
const SEGMENT: usize = 8;
/// Bytes of an emulated board's header, of which this program reads the version.
const FLAT_HEADER: usize = 64;
/// What the checksum begins with.
const CHECKSUM: u8 = 0xef;

/// A board that companions are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// An ESP32-C3 with 4 MB of flash.
    Esp32c3,
    /// An ESP32-C6 with 4 MB of flash.
    Esp32c6,
    /// QEMU's riscv32 board `virt`.
    QemuVirt,
}

impl Board {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Esp32c3, Self::Esp32c6, Self::QemuVirt];

    /// Its name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Esp32c3 => "esp32c3",
            Self::Esp32c6 => "esp32c6",
            Self::QemuVirt => "qemu-virt",
        }
    }

    /// Its name as a label.
    pub const fn label(self) -> Label {
        Label::new(self.name()).expect("the names are short")
    }

    /// The board of a label, if it is one of ours.
    pub fn of(label: &Label) -> Option<Self> {
        Self::ALL.into_iter().find(|board| board.label() == *label)
    }

    const fn chip(self) -> Option<u16> {
        match self {
            Self::Esp32c3 => Some(5),
            Self::Esp32c6 => Some(13),
            Self::QemuVirt => None,
        }
    }

    /// Checks that the board can start an image, and that it fits a slot; the version that the image says that it is.
    ///
    /// # Errors
    ///
    /// It does not fit, is of another kind or chip, is damaged, or does not say a version.
    pub fn check(self, image: &[u8]) -> Result<Version, ImageError> {
        if image.is_empty() {
            return Err(ImageError::Empty);
        }
        if image.len() > MAX_IMAGE {
            return Err(ImageError::TooLarge { bytes: image.len() });
        }
        match self.chip() {
            Some(chip) => self.check_esp(image, chip)?,
            None if !image.starts_with(&FLAT_MAGIC) => return Err(ImageError::NotFlat { board: self }),
            None => {}
        }
        version(image).ok_or(ImageError::NoVersion)
    }

    fn check_esp(self, image: &[u8], chip: u16) -> Result<(), ImageError> {
        let found = match image {
            [MAGIC, ..] => image.get(12..14).map(|chip| u16::from_le_bytes([chip[0], chip[1]])),
            _ => return Err(ImageError::OtherKind { board: self }),
        };
        match found {
            Some(found) if found != chip => return Err(ImageError::OtherChip { board: self, chip, found }),
            _ => {}
        }
        let program = program(image).ok_or(ImageError::Damaged)?;
        if !image[DESCRIPTION_AT..].starts_with(&DESCRIPTION) {
            return Err(ImageError::NoApplication);
        }
        if program == image.len() { Ok(()) } else { Err(ImageError::Behind { bytes: image.len() - program }) }
    }

    /// The smallest image of this board that says this version and has these bytes in it: for the tests of what takes releases.
    pub fn image_with(self, version: Version, content: &[u8]) -> Vec<u8> {
        let Some(chip) = self.chip() else {
            let mut header = [0; FLAT_HEADER];
            header[..FLAT_MAGIC.len()].copy_from_slice(&FLAT_MAGIC);
            let numbers = [version.major, version.minor, version.patch].map(u16::to_le_bytes);
            header[FLAT_VERSION_AT..][..6].copy_from_slice(numbers.as_flattened());
            return [&header[..], content].concat();
        };
        let mut said = [0; DESCRIPTION_VERSION_BYTES];
        let text = version.to_string();
        said[..text.len()].copy_from_slice(text.as_bytes());
        let before = [0; DESCRIPTION_VERSION_AT - DESCRIPTION.len()];
        let mut image = vec![0; HEADER];
        (image[0], image[1], image[23]) = (MAGIC, 1, 1);
        image[12..14].copy_from_slice(&chip.to_le_bytes());
        let padding = vec![0; content.len().wrapping_neg() % 4];
        let data = [&DESCRIPTION[..], &before, &said, content, &padding].concat();
        image.extend([[0; 4], (data.len() as u32).to_le_bytes()].concat());
        image.extend(&data);
        image.resize(image.len() / 16 * 16 + 15, 0);
        image.push(data.iter().fold(CHECKSUM, |sum, byte| sum ^ byte));
        let hash = Digest::of(&image).0;
        image.extend(hash);
        image
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no such board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the boards are esp32c3, esp32c6 and qemu-virt")]
pub struct NoBoard;

impl FromStr for Board {
    type Err = NoBoard;

    fn from_str(name: &str) -> Result<Self, NoBoard> {
        Self::ALL.into_iter().find(|board| board.name() == name).ok_or(NoBoard)
    }
}

/// The length of the program at the beginning, if its checksum and its hash are right.
fn program(image: &[u8]) -> Option<usize> {
    let (header, mut rest) = image.split_at_checked(HEADER)?;
    let mut sum = CHECKSUM;
    for _ in 0..header[1] {
        let (segment, behind) = rest.split_at_checked(SEGMENT)?;
        let length = u32::from_le_bytes(segment[4..].try_into().ok()?);
        let (data, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
        sum = data.iter().fold(sum, |sum, byte| sum ^ byte);
        rest = behind;
    }
    let end = ((image.len() - rest.len()) / 16 + 1) * 16;
    if *image.get(end - 1)? != sum {
        return None;
    }
    if header[23] == 0 {
        return Some(end);
    }
    let hash = image.get(end..end + 32)?;
    (Digest::of(&image[..end]).0 == *hash).then_some(end + 32)
}

/// Why an image is not signed for a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// It has no bytes.
    #[error("the image is empty")]
    Empty,
    /// It does not fit beside the list of its blocks.
    #[error("the image has {bytes} bytes, and a slot takes at most {MAX_IMAGE}: make it smaller")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// It does not begin as Espressif's images do.
    #[error(
        "this is no image that {board} starts, which begins with 0xE9: make it of the program with `espflash save-image --chip {board}`"
    )]
    OtherKind {
        /// The board that was named.
        board: Board,
    },
    /// It does not begin as an emulated board's images do.
    #[error(
        "this is no image that {board} starts: `cargo xtask firmware {board}` makes one, whose name ends in .img"
    )]
    NotFlat {
        /// The board that was named.
        board: Board,
    },
    /// It does not say its version as releases do.
    #[error(
        "the image does not say its version in three numbers: build it with GATEPOST_FIRMWARE_VERSION=1.4.0"
    )]
    NoVersion,
    /// It is for another chip.
    #[error("the image is for another chip: number {found}, and {board} has number {chip}")]
    OtherChip {
        /// The board that was named.
        board: Board,
        /// Its chip.
        chip: u16,
        /// The image's chip.
        found: u16,
    },
    /// A segment is cut short, or the checksum or the hash is another.
    #[error("the image is damaged or cut short: make it again")]
    Damaged,
    /// It is a loader, which has no description.
    #[error(
        "the image is no application, but a loader or a whole flash: give what goes into a slot, made without --merge"
    )]
    NoApplication,
    /// Something follows the program.
    #[error("{bytes} bytes follow the program: give what goes into a slot alone")]
    Behind {
        /// How many.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_board_takes_its_own_images_only() {
        let version = Version::new("1.4.300").unwrap();
        let of = |board: Board| board.image_with(version, b"firmware");
        for board in Board::ALL {
            assert_eq!(board.check(&of(board)), Ok(version), "{board}");
            assert_eq!((board.name().parse(), Board::of(&board.label())), (Ok(board), Some(board)));
            assert_eq!(board.check(&[]), Err(ImageError::Empty));
        }
        let (board, chip, found) = (Board::Esp32c3, 5, 13);
        assert_eq!(board.check(&of(Board::Esp32c6)), Err(ImageError::OtherChip { board, chip, found }));
        assert_eq!(board.check(b"\x7fELF"), Err(ImageError::OtherKind { board }));
        let board = Board::QemuVirt;
        assert_eq!(board.check(&of(Board::Esp32c3)), Err(ImageError::NotFlat { board }));
        assert_eq!("esp32".parse::<Board>(), Err(NoBoard));
    }

    #[test]
    fn damaged_images_and_those_of_a_whole_flash_are_refused() {
        let board = Board::Esp32c3;
        let version = Version::new("1.4.0").unwrap();
        let good = board.image_with(version, &[7; 1000]);
        for length in 1..good.len() {
            assert_eq!(board.check(&good[..length]), Err(ImageError::Damaged), "{length}");
        }
        for at in (24..good.len()).filter(|at| !(28..32).contains(at)) {
            let mut changed = good.clone();
            changed[at] ^= 1;
            assert_eq!(board.check(&changed), Err(ImageError::Damaged), "{at}");
        }
        let followed = [&good[..], &[0xff; 5]].concat();
        assert_eq!(board.check(&followed), Err(ImageError::Behind { bytes: 5 }));
        let mut endless = good.clone();
        endless[28..32].fill(0xff);
        assert_eq!(board.check(&endless), Err(ImageError::Damaged));

        let mut loader = good[..good.len() - 32].to_vec();
        (loader[23], loader[32]) = (0, DESCRIPTION[0] ^ 1);
        *loader.last_mut().unwrap() ^= 1;
        assert_eq!(board.check(&loader), Err(ImageError::NoApplication));

        // What a version is not, with a checksum that is right.
        let mut unnamed = good[..good.len() - 32].to_vec();
        (unnamed[23], unnamed[48]) = (0, unnamed[48] ^ 0x40);
        *unnamed.last_mut().unwrap() ^= 0x40;
        assert_eq!(board.check(&unnamed), Err(ImageError::NoVersion));
    }

    #[test]
    fn an_image_fits_the_slot_of_the_partition_table() {
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/esp32/partitions.csv");
        let table = std::fs::read_to_string(table).unwrap();
        let slots: Vec<&str> = table.lines().filter(|line| line.starts_with("ota_")).collect();
        assert_eq!(slots.len(), 2);
        for slot in slots {
            let size = slot.split(',').nth(4).unwrap().trim().trim_start_matches("0x");
            assert_eq!(u32::from_str_radix(size, 16), Ok(SLOT_BYTES), "{slot}");
        }
        let board = Board::QemuVirt;
        let largest = board.image_with(Version::default(), &vec![0; MAX_IMAGE - FLAT_HEADER]);
        assert_eq!(board.check(&largest), Ok(Version::default()));
        let bytes = MAX_IMAGE + 1;
        assert_eq!(board.check(&vec![0; bytes]), Err(ImageError::TooLarge { bytes }));
    }
}

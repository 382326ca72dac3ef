//! What the device keeps, over any NOR flash with sectors of 4 KB: in two copies, read back after every write.
//!
//! A power cut at any instruction leaves every value as it was before or as it is after, and the counter never gives a
//! value twice. A store that trusted its own Ok once lost a key after two torn writes; hence three rules. A copy is
//! erased only while the other one is known to be whole. What was written while the power went may read differently
//! every time, so a copy counts as whole only once it was read back and marked. And every call that returns a value has
//! mended both copies before.
//!
//! - [`record`]: a small value, written seldom;
//! - [`counter`]: a number that only grows, written often;
//! - [`storage`]: all that a device keeps, as [`Storage`](crate::Storage);
//! - [`Region`]: where in the flash they lie;
//! - [`part`]: a part of a flash that others use too; [`blocks`]: a disk as a flash;
//! - [`memory`]: a flash in memory, for programs that write its image.
//!
//! Left out on purpose: secrecy. Whoever holds the board can read its flash.

pub mod blocks;
pub mod counter;
#[cfg(test)]
mod double;
pub mod memory;
pub mod part;
pub mod record;
pub mod storage;

use embedded_storage::nor_flash::NorFlash;
use sha2::{Digest as _, Sha256};

/// Bytes of a sector, the unit that is erased; a flash that erases less at once will do.
pub const SECTOR: u32 = 4096;
/// Bytes of a line, the unit that is written; a flash that writes less at once will do.
pub const LINE: usize = 16;

/// One line of flash.
pub(crate) type Line = [u8; LINE];

/// What an erased line holds.
pub(crate) const BLANK: Line = [0xff; LINE];

/// Why a value could not be read or kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlashError<E> {
    /// The flash's own error.
    Flash(E),
    /// What was read back is not what was written.
    NotKept,
    /// Neither copy is whole.
    Damaged,
    /// The value has more than [`record::MAX_VALUE`] bytes, or there is no greater number.
    TooLarge,
}

impl<E> FlashError<E> {
    /// Whether the same call may succeed another time. What is damaged stays so until it is written anew.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Flash(_) | Self::NotKept)
    }
}

impl<E: core::fmt::Debug> core::fmt::Display for FlashError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "the flash fails: {error:?}"),
            Self::NotKept => f.write_str("the flash did not keep what was written; it may be worn out"),
            Self::Damaged => {
                f.write_str("both copies of a value are damaged; reset the device and pair it anew")
            }
            Self::TooLarge => f.write_str("the value is too large to be kept"),
        }
    }
}

impl<E: core::fmt::Debug> core::error::Error for FlashError<E> {}

/// Two neighbouring sectors, for the two copies of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    first: u32,
}

impl Region {
    /// Bytes of a region.
    pub const SIZE: u32 = 2 * SECTOR;

    /// The region that begins this many bytes from the start of the flash.
    ///
    /// # Panics
    ///
    /// If `offset` is not that of a sector.
    pub const fn at(offset: u32) -> Self {
        assert!(offset.is_multiple_of(SECTOR), "a region begins with a sector");
        Self { first: offset }
    }

    /// Where one of the copies begins.
    const fn sector(self, copy: usize) -> u32 {
        self.first + copy as u32 * SECTOR
    }

    fn erase<F: NorFlash>(self, flash: &mut F, copy: usize) -> Result<(), FlashError<F::Error>> {
        const {
            assert!((SECTOR as usize).is_multiple_of(F::ERASE_SIZE), "the flash erases more than a sector");
            assert!(LINE.is_multiple_of(F::WRITE_SIZE), "the flash writes more than a line");
            assert!(LINE.is_multiple_of(F::READ_SIZE), "the flash reads more than a line");
        }
        let from = self.sector(copy);
        flash.erase(from, from + SECTOR).map_err(FlashError::Flash)
    }

    fn read<F: NorFlash>(
        self,
        flash: &mut F,
        copy: usize,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), FlashError<F::Error>> {
        flash.read(self.sector(copy) + offset as u32, bytes).map_err(FlashError::Flash)
    }

    /// Writes whole lines where the flash is erased, and reads them back.
    fn write<F: NorFlash>(
        self,
        flash: &mut F,
        copy: usize,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), FlashError<F::Error>> {
        flash.write(self.sector(copy) + offset as u32, bytes).map_err(FlashError::Flash)?;
        let mut line = [0; LINE];
        for (index, written) in bytes.chunks(LINE).enumerate() {
            self.read(flash, copy, offset + index * LINE, &mut line)?;
            if line[..written.len()] != *written {
                return Err(FlashError::NotKept);
            }
        }
        Ok(())
    }
}

/// The start of the SHA-256 of `domain` and `bytes`.
fn checksum<const N: usize>(domain: &[u8], bytes: &[u8]) -> [u8; N] {
    let hash = Sha256::new().chain_update(domain).chain_update(bytes).finalize();
    let mut start = [0; N];
    start.copy_from_slice(&hash[..N]);
    start
}

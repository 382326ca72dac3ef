//! The two sectors of one value, and what can go wrong in them.

use embedded_storage::nor_flash::NorFlash;
use sha2::{Digest as _, Sha256};

/// Bytes of a sector, which is erased at once. A flash with a smaller unit works too.
pub const SECTOR_BYTES: u32 = 4096;
/// Bytes of a line, which is written at once. A flash with a smaller unit works too.
pub const LINE_BYTES: usize = 16;

/// One line of flash.
pub(super) type Line = [u8; LINE_BYTES];

/// What an erased line holds.
pub(super) const BLANK: Line = [0xff; LINE_BYTES];

/// Why a value could not be read or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlashError<E> {
    /// The flash's own error.
    Flash(E),
    /// The bytes that were read back are not those that were written.
    NotStored,
    /// Neither copy is whole.
    Damaged,
    /// The value has more than [`MAX_VALUE_BYTES`](super::record::MAX_VALUE_BYTES) bytes, or the number cannot grow.
    TooLarge,
}

impl<E> FlashError<E> {
    /// Whether the same call may succeed later. A damaged value stays damaged until it is written again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Flash(_) | Self::NotStored)
    }
}

impl<E: core::fmt::Debug> core::fmt::Display for FlashError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
            Self::NotStored => f.write_str("the flash did not store what was written; it may be worn out"),
            Self::Damaged => {
                f.write_str("both copies of a value are damaged; reset the device and pair it again")
            }
            Self::TooLarge => f.write_str("the value is too large to be stored"),
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
    pub const SIZE: u32 = 2 * SECTOR_BYTES;

    /// The region that begins at this offset in the flash.
    ///
    /// # Panics
    ///
    /// If `offset` is not a multiple of [`SECTOR_BYTES`].
    pub const fn at(offset: u32) -> Self {
        assert!(offset.is_multiple_of(SECTOR_BYTES), "a region begins with a sector");
        Self { first: offset }
    }

    /// Where one of the copies begins.
    const fn sector(self, copy: usize) -> u32 {
        self.first + copy as u32 * SECTOR_BYTES
    }

    pub(crate) fn erase<F: NorFlash>(self, flash: &mut F, copy: usize) -> Result<(), FlashError<F::Error>> {
        const {
            assert!(
                (SECTOR_BYTES as usize).is_multiple_of(F::ERASE_SIZE),
                "the flash erases more than a sector"
            );
            assert!(LINE_BYTES.is_multiple_of(F::WRITE_SIZE), "the flash writes more than a line");
            assert!(LINE_BYTES.is_multiple_of(F::READ_SIZE), "the flash reads more than a line");
        }
        let from = self.sector(copy);
        flash.erase(from, from + SECTOR_BYTES).map_err(FlashError::Flash)
    }

    pub(crate) fn read<F: NorFlash>(
        self,
        flash: &mut F,
        copy: usize,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), FlashError<F::Error>> {
        flash.read(self.sector(copy) + offset as u32, bytes).map_err(FlashError::Flash)
    }

    /// Writes whole lines to erased flash, and reads them back.
    pub(crate) fn write<F: NorFlash>(
        self,
        flash: &mut F,
        copy: usize,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), FlashError<F::Error>> {
        write_and_read_back(flash, self.sector(copy) + offset as u32, bytes)
    }
}

/// Writes whole lines to erased flash, and reads them back.
pub(crate) fn write_and_read_back<F: NorFlash>(
    flash: &mut F,
    offset: u32,
    bytes: &[u8],
) -> Result<(), FlashError<F::Error>> {
    flash.write(offset, bytes).map_err(FlashError::Flash)?;
    let mut line = [0; LINE_BYTES];
    for (offset, written) in (offset..).step_by(LINE_BYTES).zip(bytes.chunks(LINE_BYTES)) {
        flash.read(offset, &mut line).map_err(FlashError::Flash)?;
        if line[..written.len()] != *written {
            return Err(FlashError::NotStored);
        }
    }
    Ok(())
}

/// The start of the SHA-256 of `domain` and `bytes`.
pub(crate) fn checksum<const N: usize>(domain: &[u8], bytes: &[u8]) -> [u8; N] {
    let hash = Sha256::new().chain_update(domain).chain_update(bytes).finalize();
    let mut start = [0; N];
    start.copy_from_slice(&hash[..N]);
    start
}

//! Where image, list and marks lie in a slot, and how they are written and read.
//!
//! ```text
//! 0                    image_bytes()                       the slot's end
//! | image, in blocks   | list: 32 bytes a block ...   ... marks: a line for eight blocks |
//! ```

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::update;
use sha2::{Digest as _, Sha256};

use crate::storage::flash::{FlashError, LINE_BYTES, SECTOR_BYTES, region::write_and_read_back};

/// Bytes of a block: a sector, so that one can be written again alone.
pub const BLOCK_BYTES: u32 = SECTOR_BYTES;
const _: () = assert!(BLOCK_BYTES as usize == update::BLOCK_BYTES);
/// Bytes of a block's hash in the list.
pub(super) const HASH_BYTES: u32 = update::HASH_BYTES as u32;
/// How many blocks one cleared line stands for.
pub(super) const BLOCKS_PER_MARK: u32 = 8;
const LINE: u32 = LINE_BYTES as u32;

/// The greatest image for a slot of so many bytes, a multiple of [`SECTOR_BYTES`]. The rest is for the list and the marks.
pub const fn image_bytes(slot: u32) -> u32 {
    let sectors = slot / SECTOR_BYTES;
    let mut list = 1;
    while list < sectors {
        let blocks = sectors - list;
        if blocks * HASH_BYTES + blocks.div_ceil(BLOCKS_PER_MARK) * LINE <= list * SECTOR_BYTES {
            return blocks * BLOCK_BYTES;
        }
        list += 1;
    }
    0
}

/// The flash of a slot, laid out for an image of so many bytes.
#[derive(Debug)]
pub(super) struct SlotFlash<F> {
    flash: F,
    size: u32,
}

impl<F: NorFlash> SlotFlash<F> {
    /// [`None`] if the image is empty or does not fit.
    pub(super) fn new(flash: F, size: u32) -> Option<Self> {
        (size != 0 && size <= image_bytes(flash.capacity() as u32)).then_some(Self { flash, size })
    }

    pub(super) fn list_at(&self) -> u32 {
        image_bytes(self.flash.capacity() as u32)
    }

    pub(super) fn list_bytes(&self) -> u32 {
        self.size.div_ceil(BLOCK_BYTES) * HASH_BYTES
    }

    /// The sector that has all the marks, and the end of the list.
    pub(super) fn last_sector(&self) -> u32 {
        self.flash.capacity() as u32 - SECTOR_BYTES
    }

    pub(super) fn marks(&self) -> u32 {
        self.size.div_ceil(BLOCK_BYTES).div_ceil(BLOCKS_PER_MARK)
    }

    /// The marks stand from the end backwards.
    pub(super) fn mark_at(&self, mark: u32) -> u32 {
        self.flash.capacity() as u32 - (mark + 1) * LINE
    }

    pub(super) fn erase(&mut self, sector: u32) -> Result<(), FlashError<F::Error>> {
        self.flash.erase(sector, sector + SECTOR_BYTES).map_err(FlashError::Flash)
    }

    pub(super) fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), FlashError<F::Error>> {
        self.flash.read(at, bytes).map_err(FlashError::Flash)
    }

    /// Writes to erased flash, filled up to whole lines, and reads it back.
    pub(super) fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), FlashError<F::Error>> {
        let (lines, rest) = bytes.split_at(bytes.len() - bytes.len() % LINE_BYTES);
        write_and_read_back(&mut self.flash, at, lines)?;
        if rest.is_empty() {
            return Ok(());
        }
        let mut line = [0xff; LINE_BYTES];
        line[..rest.len()].copy_from_slice(rest);
        write_and_read_back(&mut self.flash, at + lines.len() as u32, &line)
    }

    /// Hashes these bytes of the slot.
    pub(super) fn hash(
        &mut self,
        hasher: &mut Sha256,
        from: u32,
        to: u32,
    ) -> Result<(), FlashError<F::Error>> {
        let mut chunk = [0; 256];
        let mut at = from;
        while at < to {
            let length = ((to - at) as usize).min(chunk.len());
            self.read(at, &mut chunk[..length.next_multiple_of(LINE_BYTES)])?;
            hasher.update(&chunk[..length]);
            at += length as u32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_of_the_partition_table_has_its_last_four_sectors_for_the_list() {
        assert_eq!(image_bytes(0x1e_0000), 0x1e_0000 - update::LIST_BYTES as u32);
        assert_eq!(image_bytes(4 * SECTOR_BYTES), 3 * SECTOR_BYTES);
        assert_eq!((image_bytes(SECTOR_BYTES), image_bytes(0)), (0, 0));
        for sectors in 2..=480 {
            let (image, slot) = (image_bytes(sectors * SECTOR_BYTES), sectors * SECTOR_BYTES);
            let blocks = image / BLOCK_BYTES;
            let marks = blocks.div_ceil(BLOCKS_PER_MARK) * LINE;
            assert!(image + blocks * HASH_BYTES + marks <= slot && blocks as usize <= update::MAX_BLOCKS);
            assert!(marks <= SECTOR_BYTES, "one erase clears them all");
        }
    }
}

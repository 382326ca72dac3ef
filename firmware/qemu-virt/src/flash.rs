//! A disk as a NOR flash: bits are written to zero only, and to one by the sector.
//!
//! QEMU hands every write to the host's file system before it says that it is done: what was written outlives a QEMU
//! that is killed.

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use gatepost_companion::flash::SECTOR;
use virtio_drivers::device::blk::SECTOR_SIZE as BLOCK;

use crate::dma::Disk;

/// The flash.
pub struct Flash {
    disk: Disk,
}

/// Why the disk did not do it.
#[derive(Debug)]
pub enum DiskError {
    /// The disk is smaller, or the bytes are not whole words.
    OutOfBounds,
    /// Its own error.
    Failed,
}

impl NorFlashError for DiskError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::OutOfBounds => NorFlashErrorKind::OutOfBounds,
            Self::Failed => NorFlashErrorKind::Other,
        }
    }
}

impl Flash {
    /// Takes the disk.
    pub fn new(disk: Disk) -> Self {
        Self { disk }
    }

    /// Calls `touch` for every block that these bytes lie in: with the block, and where in it and in them.
    fn blocks(
        &mut self,
        offset: u32,
        length: usize,
        mut touch: impl FnMut(&mut Disk, usize, core::ops::Range<usize>, usize) -> virtio_drivers::Result,
    ) -> Result<(), DiskError> {
        let (start, end) = (offset as usize, offset as usize + length);
        if end > self.capacity() {
            return Err(DiskError::OutOfBounds);
        }
        let mut at = start;
        while at < end {
            let within = at % BLOCK;
            let next = end.min(at - within + BLOCK);
            touch(&mut self.disk, at / BLOCK, within..within + next - at, at - start)
                .map_err(|_| DiskError::Failed)?;
            at = next;
        }
        Ok(())
    }
}

impl ErrorType for Flash {
    type Error = DiskError;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), DiskError> {
        self.blocks(offset, bytes.len(), |disk, block, part, at| {
            let mut whole = [0; BLOCK];
            disk.read_blocks(block, &mut whole)?;
            bytes[at..at + part.len()].copy_from_slice(&whole[part]);
            Ok(())
        })
    }

    fn capacity(&self) -> usize {
        self.disk.capacity() as usize * BLOCK
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), DiskError> {
        self.blocks(from, to.saturating_sub(from) as usize, |disk, block, _, _| {
            disk.write_blocks(block, &[0xff; BLOCK])
        })
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), DiskError> {
        self.blocks(offset, bytes.len(), |disk, block, part, at| {
            let mut whole = [0; BLOCK];
            disk.read_blocks(block, &mut whole)?;
            for (old, new) in whole[part].iter_mut().zip(&bytes[at..]) {
                *old &= new;
            }
            disk.write_blocks(block, &whole)
        })
    }
}

//! A disk as a NOR flash: writing only clears bits, and erasing sets them, a sector at a time.
//!
//! For emulated boards. What the disk reports as written must survive a loss of power.

use core::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

use super::region::SECTOR_BYTES;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;

/// A disk that is read and written in blocks.
pub trait Disk {
    /// Why it failed.
    type Error: core::fmt::Debug;

    /// The number of its blocks.
    fn count(&self) -> usize;

    /// Reads a block below [`Disk::count`].
    fn read(&mut self, block: usize, bytes: &mut [u8; BLOCK_BYTES]) -> Result<(), Self::Error>;

    /// Writes a block below [`Disk::count`].
    fn write(&mut self, block: usize, bytes: &[u8; BLOCK_BYTES]) -> Result<(), Self::Error>;
}

/// A disk as a flash.
#[derive(Debug)]
pub struct Blocks<D>(pub D);

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskError<E> {
    /// The disk's own error.
    Disk(E),
    /// It is outside the disk, or not whole units of the flash.
    Outside(NorFlashErrorKind),
}

impl<E: core::fmt::Debug> NorFlashError for DiskError<E> {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Disk(_) => NorFlashErrorKind::Other,
            Self::Outside(kind) => *kind,
        }
    }
}

/// The blocks that contain these bytes: each with the range within the block, and the offset of that range within the
/// bytes.
fn blocks(offset: u32, length: usize) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    let (start, end) = (offset as usize, offset as usize + length);
    let mut at = start;
    core::iter::from_fn(move || {
        let (block, within) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
        let next = end.min((block + 1) * BLOCK_BYTES);
        let found = (at < end).then(|| (block, within..within + next - at, at - start));
        at = next;
        found
    })
}

impl<D: Disk> ErrorType for Blocks<D> {
    type Error = DiskError<D::Error>;
}

impl<D: Disk> ReadNorFlash for Blocks<D> {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len()).map_err(DiskError::Outside)?;
        for (block, part, at) in blocks(offset, bytes.len()) {
            let mut whole = [0; BLOCK_BYTES];
            self.0.read(block, &mut whole).map_err(DiskError::Disk)?;
            bytes[at..at + part.len()].copy_from_slice(&whole[part]);
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.count() * BLOCK_BYTES
    }
}

impl<D: Disk> NorFlash for Blocks<D> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR_BYTES as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to).map_err(DiskError::Outside)?;
        for (block, ..) in blocks(from, (to - from) as usize) {
            self.0.write(block, &[0xff; BLOCK_BYTES]).map_err(DiskError::Disk)?;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(self, offset, bytes.len()).map_err(DiskError::Outside)?;
        for (block, part, at) in blocks(offset, bytes.len()) {
            let mut whole = [0; BLOCK_BYTES];
            self.0.read(block, &mut whole).map_err(DiskError::Disk)?;
            for (old, new) in whole[part].iter_mut().zip(&bytes[at..]) {
                *old &= new;
            }
            self.0.write(block, &whole).map_err(DiskError::Disk)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use super::*;

    /// One that writes no block but those that it may.
    struct PowerCutFlash(Vec<[u8; BLOCK_BYTES]>, Range<usize>);

    impl Disk for PowerCutFlash {
        type Error = usize;

        fn count(&self) -> usize {
            self.0.len()
        }

        fn read(&mut self, block: usize, bytes: &mut [u8; BLOCK_BYTES]) -> Result<(), usize> {
            *bytes = self.0[block];
            Ok(())
        }

        fn write(&mut self, block: usize, bytes: &[u8; BLOCK_BYTES]) -> Result<(), usize> {
            match self.1.contains(&block) {
                true => self.0[block] = *bytes,
                false => return Err(block),
            }
            Ok(())
        }
    }

    fn flash(may: Range<usize>) -> Blocks<PowerCutFlash> {
        Blocks(PowerCutFlash(vec![[0xff; BLOCK_BYTES]; 24], may))
    }

    #[test]
    fn bytes_over_the_edge_of_a_block_are_written_and_read_whole() {
        let mut flash = flash(0..3);
        let written: Vec<u8> = (0..1_200).map(|n| n as u8).collect();
        flash.write(100, &written).unwrap();
        let mut bytes = vec![0; 1_208];
        flash.read(96, &mut bytes).unwrap();
        assert_eq!(bytes[4..1_204], written);
        assert_eq!((bytes[..4].to_vec(), bytes[1_204..].to_vec()), (vec![0xff; 4], vec![0xff; 4]));
    }

    #[test]
    fn a_bit_is_set_by_erasing_its_sector_alone() {
        let mut flash = flash(0..24);
        flash.write(0, &[0x0f; 4]).unwrap();
        flash.write(0, &[0xf1; 4]).unwrap();
        flash.write(SECTOR_BYTES, &[0; 4]).unwrap();
        let mut bytes = [0; 4];
        flash.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [1; 4]);
        flash.erase(0, SECTOR_BYTES).unwrap();
        flash.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [0xff; 4]);
        flash.read(SECTOR_BYTES, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 4], "another sector's");
    }

    #[test]
    fn what_the_disk_refuses_and_what_it_has_not_are_errors() {
        let mut flash = flash(0..1);
        assert_eq!(flash.write(BLOCK_BYTES as u32, &[0; 4]), Err(DiskError::Disk(1)));
        let outside = Err(DiskError::Outside(NorFlashErrorKind::OutOfBounds));
        assert_eq!(flash.write(24 * BLOCK_BYTES as u32 - 4, &[0; 8]), outside);
        assert_eq!(flash.read(u32::MAX - 3, &mut [0; 4]), outside);
        assert_eq!(flash.erase(SECTOR_BYTES, 0), outside);
        assert_eq!(flash.erase(1, SECTOR_BYTES), Err(DiskError::Outside(NorFlashErrorKind::NotAligned)));
    }
}

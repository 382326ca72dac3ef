//! A flash in memory, for programs that read or write the image of a device's flash as a file.
//!
//! Accesses outside its bytes are errors.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

use super::region::SECTOR_BYTES;

/// The bytes of a flash. A new one is all `0xff`.
#[derive(Debug, Clone)]
pub struct Memory<B>(pub B);

impl<B> ErrorType for Memory<B> {
    type Error = NorFlashErrorKind;
}

impl<B: AsRef<[u8]>> ReadNorFlash for Memory<B> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let start = offset as usize;
        bytes.copy_from_slice(&self.0.as_ref()[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.as_ref().len()
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> NorFlash for Memory<B> {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = SECTOR_BYTES as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.0.as_mut()[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        self.0.as_mut()[offset as usize..].iter_mut().zip(bytes).for_each(|(old, new)| *old &= new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn bits_are_cleared_by_writing_and_set_by_erasing_alone() {
        let mut flash = Memory(vec![0xff; 2 * SECTOR_BYTES as usize]);
        flash.write(3, &[0x0f, 0xaa]).unwrap();
        flash.write(3, &[0xf1]).unwrap();
        let mut bytes = [0; 3];
        flash.read(2, &mut bytes).unwrap();
        assert_eq!(bytes, [0xff, 0x01, 0xaa]);
        flash.erase(0, SECTOR_BYTES).unwrap();
        flash.read(2, &mut bytes).unwrap();
        assert_eq!(bytes, [0xff; 3]);
    }

    #[test]
    fn an_access_outside_is_an_error() {
        let mut flash = Memory([0xff; 64]);
        assert_eq!(flash.read(63, &mut [0; 2]), Err(NorFlashErrorKind::OutOfBounds));
        assert_eq!(flash.write(u32::MAX, &[0]), Err(NorFlashErrorKind::OutOfBounds));
        assert_eq!(flash.erase(0, SECTOR_BYTES), Err(NorFlashErrorKind::OutOfBounds));
    }
}

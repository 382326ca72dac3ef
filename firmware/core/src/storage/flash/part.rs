//! A part of a flash that is shared: nothing outside the part can be accessed.

use core::cell::RefCell;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

/// A part of a flash. Clones are the same part.
#[derive(Debug)]
pub struct Part<'f, F> {
    flash: &'f RefCell<F>,
    start: u32,
    size: u32,
}

impl<F> Clone for Part<'_, F> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// Why a part of a flash could not be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartError<E> {
    /// The flash's own error.
    Flash(E),
    /// It is outside the part, or not whole units of the flash.
    Outside(NorFlashErrorKind),
}

impl<E: NorFlashError> NorFlashError for PartError<E> {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Flash(error) => error.kind(),
            Self::Outside(kind) => *kind,
        }
    }
}

impl<'f, F> Part<'f, F> {
    /// The part of this flash at offset `start` with `size` bytes, both multiples of a sector.
    pub const fn new(flash: &'f RefCell<F>, start: u32, size: u32) -> Self {
        Self { flash, start, size }
    }
}

impl<F: ErrorType> ErrorType for Part<'_, F> {
    type Error = PartError<F::Error>;
}

impl<F: ReadNorFlash> ReadNorFlash for Part<'_, F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len()).map_err(PartError::Outside)?;
        self.flash.borrow_mut().read(self.start + offset, bytes).map_err(PartError::Flash)
    }

    fn capacity(&self) -> usize {
        self.size as usize
    }
}

impl<F: NorFlash> NorFlash for Part<'_, F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to).map_err(PartError::Outside)?;
        self.flash.borrow_mut().erase(self.start + from, self.start + to).map_err(PartError::Flash)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(self, offset, bytes.len()).map_err(PartError::Outside)?;
        self.flash.borrow_mut().write(self.start + offset, bytes).map_err(PartError::Flash)
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::{
        super::{memory::Memory, region::SECTOR_BYTES},
        *,
    };

    #[test]
    fn clones_see_the_same_bytes_and_change_nothing_outside_the_part() {
        let whole = RefCell::new(Memory(vec![0; 4 * SECTOR_BYTES as usize]));
        let mut one = Part::new(&whole, SECTOR_BYTES, 2 * SECTOR_BYTES);
        let mut other = one.clone();
        one.erase(0, 2 * SECTOR_BYTES).unwrap();
        one.write(4, &[1, 2]).unwrap();
        let mut bytes = [0; 3];
        other.read(3, &mut bytes).unwrap();
        assert_eq!(bytes, [0xff, 1, 2]);
        assert_eq!(other.capacity(), 2 * SECTOR_BYTES as usize);
        let all = &whole.borrow().0;
        let (before, after) = (&all[..SECTOR_BYTES as usize], &all[3 * SECTOR_BYTES as usize..]);
        assert!(before.iter().chain(after).all(|byte| *byte == 0));
    }

    #[test]
    fn an_access_outside_is_an_error() {
        let whole = RefCell::new(Memory(vec![0; 4 * SECTOR_BYTES as usize]));
        let mut part = Part::new(&whole, SECTOR_BYTES, 2 * SECTOR_BYTES);
        let outside = Err(PartError::Outside(NorFlashErrorKind::OutOfBounds));
        assert_eq!(part.erase(0, 3 * SECTOR_BYTES), outside);
        assert_eq!(part.erase(SECTOR_BYTES, 0), outside);
        assert_eq!(part.write(2 * SECTOR_BYTES - 1, &[0, 0]), outside);
        assert_eq!(part.write(u32::MAX, &[0]), outside);
        assert_eq!(part.read(2 * SECTOR_BYTES, &mut [0]), outside);
        assert!(whole.borrow().0.iter().all(|byte| *byte == 0));
    }
}

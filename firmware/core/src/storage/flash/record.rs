//! A small value in two copies, each a sector of its own.
//!
//! A copy is a header, the value, a checksum and, once all of that was read back, a mark. The copies are written one after
//! the other, the worse one first, so that at every moment one copy is whole; the generation says which one is newer. A
//! copy with a correct checksum but no mark can be read now but perhaps not later, so it is rewritten before its value is
//! returned.
//!
//! Two begun copies of which neither is whole are damage, and nothing mends that but a reset. So the second copy is begun only
//! when the mark of the first is firm, and a first one that a power cut broke off is begun again itself. An earlier order
//! wrote the blank copy instead, and a second power cut in a row took the first keys or the first root of a device for good.

use embedded_storage::nor_flash::NorFlash;

use super::region::{BLANK, FlashError, LINE_BYTES, Line, Region, checksum};

/// Bytes of the longest value.
pub const MAX_VALUE_BYTES: usize = 480;

/// The first bytes of every copy; the last one is the version of the layout.
const MAGIC: [u8; 5] = *b"gate\x01";
const DOMAIN: &[u8] = b"gatepost/flash/record/1";
/// Bytes of the longest image: header, value, checksum.
const MAX_IMAGE_BYTES: usize = LINE_BYTES + MAX_VALUE_BYTES + LINE_BYTES;
/// Marks that the copy before it was read back.
const MARK: Line = [0; LINE_BYTES];

/// A copy's header, value and checksum.
struct Image {
    bytes: [u8; MAX_IMAGE_BYTES],
    length: usize,
}

impl Image {
    fn new(kind: u8, generation: u32, value: &[u8]) -> Self {
        let mut bytes = [0xff; MAX_IMAGE_BYTES];
        bytes[..5].copy_from_slice(&MAGIC);
        bytes[5] = kind;
        bytes[6..8].copy_from_slice(&(value.len() as u16).to_le_bytes());
        bytes[8..12].copy_from_slice(&generation.to_le_bytes());
        bytes[LINE_BYTES..LINE_BYTES + value.len()].copy_from_slice(value);
        let end = LINE_BYTES + value.len().next_multiple_of(LINE_BYTES);
        let sum: Line = checksum(DOMAIN, &bytes[..end]);
        bytes[end..end + LINE_BYTES].copy_from_slice(&sum);
        Self { bytes, length: end + LINE_BYTES }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn value(&self) -> &[u8] {
        let length = u16::from_le_bytes([self.bytes[6], self.bytes[7]]);
        &self.bytes[LINE_BYTES..LINE_BYTES + usize::from(length)]
    }

    fn generation(&self) -> u32 {
        u32::from_le_bytes([self.bytes[8], self.bytes[9], self.bytes[10], self.bytes[11]])
    }
}

/// What a sector contains, from worse to better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Copy {
    /// Nothing of ours.
    None,
    /// An incomplete copy.
    Torn,
    /// A complete copy without a mark.
    Unmarked { generation: u32 },
    /// A complete copy that was read back.
    Whole { generation: u32 },
}

impl Copy {
    fn generation(self) -> Option<u32> {
        match self {
            Self::None | Self::Torn => None,
            Self::Unmarked { generation } | Self::Whole { generation } => Some(generation),
        }
    }
}

/// Where one value is stored.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    region: Region,
    kind: u8,
}

impl Record {
    /// A value in its own region; `kind` distinguishes values in case a later layout moves them.
    pub const fn new(region: Region, kind: u8) -> Self {
        Self { region, kind }
    }

    /// Reads the value into `buffer`, and repairs a copy that needs it. `None` if none was ever stored.
    pub fn load<'b, F: NorFlash>(
        &self,
        flash: &mut F,
        buffer: &'b mut [u8; MAX_VALUE_BYTES],
    ) -> Result<Option<&'b [u8]>, FlashError<F::Error>> {
        let [(one, image), (other, spare)] = [self.inspect(flash, 0)?, self.inspect(flash, 1)?];
        let Some(generation) = one.generation().max(other.generation()) else {
            // The second copy is begun when the first is whole. If both were begun, there was a value.
            return if (one, other) == (Copy::Torn, Copy::Torn) {
                Err(FlashError::Damaged)
            } else {
                Ok(None)
            };
        };
        let lengths = [image.length, spare.length];
        let image = if one.generation() == Some(generation) { image } else { spare };
        self.complete(flash, [one, other], lengths, &image)?;
        let value = image.value();
        buffer[..value.len()].copy_from_slice(value);
        Ok(Some(&buffer[..value.len()]))
    }

    /// Stores a value. When this returns, both copies contain it and were read back.
    ///
    /// After an error the value is the old one or the new one; the next [`Record::load`] decides which.
    pub fn store<F: NorFlash>(&self, flash: &mut F, value: &[u8]) -> Result<(), FlashError<F::Error>> {
        if value.len() > MAX_VALUE_BYTES {
            return Err(FlashError::TooLarge);
        }
        let found = [0, 1].map(|copy| self.inspect(flash, copy).map(|(copy, image)| (copy, image.length)));
        let [one, other] = found;
        let ((one, length), (other, other_length)) = (one?, other?);
        let last = one.generation().max(other.generation());
        // The flash wears out long before this number does.
        let generation = last.map_or(Some(0), |last| last.checked_add(1)).ok_or(FlashError::TooLarge)?;
        let image = Image::new(self.kind, generation, value);
        self.complete(flash, [one, other], [length, other_length], &image)
    }

    /// Writes this image, the newest, to each copy that is not whole and of its generation. `lengths` are those of the images in the copies.
    fn complete<F: NorFlash>(
        &self,
        flash: &mut F,
        copies: [Copy; 2],
        lengths: [usize; 2],
        image: &Image,
    ) -> Result<(), FlashError<F::Error>> {
        let done = Copy::Whole { generation: image.generation() };
        let [first, second] = order(copies);
        if copies[first] != done {
            if matches!(copies[second], Copy::Whole { .. }) {
                // Its mark may have been written during a power cut, and read as blank once the first copy is gone.
                self.region.write(flash, second, lengths[second], &MARK)?;
            }
            self.write(flash, first, image)?;
        }
        if copies[second] != done {
            self.write(flash, second, image)?;
        }
        Ok(())
    }

    fn write<F: NorFlash>(
        &self,
        flash: &mut F,
        copy: usize,
        image: &Image,
    ) -> Result<(), FlashError<F::Error>> {
        self.region.erase(flash, copy)?;
        self.region.write(flash, copy, 0, image.bytes())?;
        self.region.write(flash, copy, image.length, &MARK)
    }

    /// What a copy contains. The image is valid only if the copy has a generation.
    fn inspect<F: NorFlash>(
        &self,
        flash: &mut F,
        copy: usize,
    ) -> Result<(Copy, Image), FlashError<F::Error>> {
        let mut image = Image { bytes: [0xff; MAX_IMAGE_BYTES], length: LINE_BYTES };
        self.region.read(flash, copy, 0, &mut image.bytes[..LINE_BYTES])?;
        if image.bytes[..5] != MAGIC || image.bytes[5] != self.kind {
            return Ok((Copy::None, image));
        }
        let length = usize::from(u16::from_le_bytes([image.bytes[6], image.bytes[7]]));
        if length > MAX_VALUE_BYTES {
            return Ok((Copy::Torn, image));
        }
        let end = LINE_BYTES + length.next_multiple_of(LINE_BYTES);
        self.region.read(flash, copy, LINE_BYTES, &mut image.bytes[LINE_BYTES..end + LINE_BYTES])?;
        image.length = end + LINE_BYTES;
        let sum: Line = checksum(DOMAIN, &image.bytes[..end]);
        if image.bytes[end..end + LINE_BYTES] != sum {
            return Ok((Copy::Torn, image));
        }
        let mut mark = BLANK;
        self.region.read(flash, copy, image.length, &mut mark)?;
        let generation = image.generation();
        // One cleared bit is enough: the mark is written only after the copy was read back.
        Ok((if mark == BLANK { Copy::Unmarked { generation } } else { Copy::Whole { generation } }, image))
    }
}

/// In which order the copies are written: the worse one first, unless the other is not begun and this one is not known to be whole.
fn order(copies: [Copy; 2]) -> [usize; 2] {
    match copies {
        [Copy::Torn | Copy::Unmarked { .. }, Copy::None] => [0, 1],
        [Copy::None, Copy::Torn | Copy::Unmarked { .. }] => [1, 0],
        [one, other] if one <= other => [0, 1],
        _ => [1, 0],
    }
}

#[cfg(test)]
mod tests;

//! A small value in two copies, each a sector of its own.
//!
//! A copy is a header, the value, a checksum and, once all of that was read back, a mark. The copies are written one after
//! the other, the worse one first, so that at every moment one copy is whole; the generation says which one is newer. A
//! copy with a correct checksum but no mark can be read now but perhaps not later, so it is rewritten before its value is
//! returned.

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
        let copies = [self.inspect(flash, 0)?, self.inspect(flash, 1)?];
        let [one, other] = [0, 1].map(|copy: usize| copies[copy].0);
        let Some(generation) = one.generation().max(other.generation()) else {
            // The second copy is started when the first is whole. If both were started, there was a value.
            return if (one, other) == (Copy::Torn, Copy::Torn) {
                Err(FlashError::Damaged)
            } else {
                Ok(None)
            };
        };
        let latest = usize::from(one.generation() != Some(generation));
        let [(_, image), (_, spare)] = copies;
        let image = if latest == 0 { image } else { spare };
        for copy in worse_first([one, other]) {
            if [one, other][copy] != (Copy::Whole { generation }) {
                self.write(flash, copy, &image)?;
            }
        }
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
        let copies = [self.inspect(flash, 0)?.0, self.inspect(flash, 1)?.0];
        let last = copies[0].generation().max(copies[1].generation());
        // The flash wears out long before this number does.
        let generation = last.map_or(Some(0), |last| last.checked_add(1)).ok_or(FlashError::TooLarge)?;
        let image = Image::new(self.kind, generation, value);
        worse_first(copies).into_iter().try_for_each(|copy| self.write(flash, copy, &image))
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

fn worse_first(copies: [Copy; 2]) -> [usize; 2] {
    if copies[0] <= copies[1] { [0, 1] } else { [1, 0] }
}

#[cfg(test)]
mod tests;

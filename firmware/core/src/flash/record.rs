//! A small value in two copies, each a sector of its own.
//!
//! A copy is a header, the value, a checksum and, once all that was read back, a mark. Writing goes copy by copy, the
//! worse one first, so that at every instruction one copy is whole; its generation tells which is the later one. A copy
//! with a right checksum and no mark is readable but may not stay so: it is written again before anybody hears of it.

use embedded_storage::nor_flash::NorFlash;

use super::{BLANK, FlashError, LINE, Line, Region, checksum};

/// The longest value, in bytes.
pub const MAX_VALUE: usize = 480;

/// The first bytes of every copy; the last is the layout's version.
const MAGIC: [u8; 5] = *b"gate\x01";
const DOMAIN: &[u8] = b"gatepost/flash/record/1";
/// Header, value, checksum.
const MAX_IMAGE: usize = LINE + MAX_VALUE + LINE;
/// Says that the copy before it was read back.
const MARK: Line = [0; LINE];

/// A copy's header, value and checksum.
struct Image {
    bytes: [u8; MAX_IMAGE],
    length: usize,
}

impl Image {
    fn new(kind: u8, generation: u32, value: &[u8]) -> Self {
        let mut bytes = [0xff; MAX_IMAGE];
        bytes[..5].copy_from_slice(&MAGIC);
        bytes[5] = kind;
        bytes[6..8].copy_from_slice(&(value.len() as u16).to_le_bytes());
        bytes[8..12].copy_from_slice(&generation.to_le_bytes());
        bytes[LINE..LINE + value.len()].copy_from_slice(value);
        let end = LINE + value.len().next_multiple_of(LINE);
        let sum: Line = checksum(DOMAIN, &bytes[..end]);
        bytes[end..end + LINE].copy_from_slice(&sum);
        Self { bytes, length: end + LINE }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn value(&self) -> &[u8] {
        let length = u16::from_le_bytes([self.bytes[6], self.bytes[7]]);
        &self.bytes[LINE..LINE + usize::from(length)]
    }

    fn generation(&self) -> u32 {
        u32::from_le_bytes([self.bytes[8], self.bytes[9], self.bytes[10], self.bytes[11]])
    }
}

/// What a sector holds; the later, the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Copy {
    /// Nothing of ours.
    None,
    /// The start of a copy.
    Torn,
    /// A copy that nobody has marked.
    Weak { generation: u32 },
    /// A copy that was read back.
    Whole { generation: u32 },
}

impl Copy {
    fn generation(self) -> Option<u32> {
        match self {
            Self::None | Self::Torn => None,
            Self::Weak { generation } | Self::Whole { generation } => Some(generation),
        }
    }
}

/// Where one value is kept.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    region: Region,
    kind: u8,
}

impl Record {
    /// A value in a region of its own; `kind` tells values apart, should a layout ever move them.
    pub const fn new(region: Region, kind: u8) -> Self {
        Self { region, kind }
    }

    /// Reads the value into `buffer` and mends a copy that needs it. `None` if none was ever kept.
    pub fn load<'b, F: NorFlash>(
        &self,
        flash: &mut F,
        buffer: &'b mut [u8; MAX_VALUE],
    ) -> Result<Option<&'b [u8]>, FlashError<F::Error>> {
        let copies = [self.inspect(flash, 0)?, self.inspect(flash, 1)?];
        let [one, other] = [0, 1].map(|copy: usize| copies[copy].0);
        let Some(generation) = one.generation().max(other.generation()) else {
            // The second copy is begun when the first is whole: if both were begun, there was a value.
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

    /// Keeps a value. When this returns, both copies hold it and were read back.
    ///
    /// After an error the value is the old one or the new one; the next [`Record::load`] decides which.
    pub fn store<F: NorFlash>(&self, flash: &mut F, value: &[u8]) -> Result<(), FlashError<F::Error>> {
        if value.len() > MAX_VALUE {
            return Err(FlashError::TooLarge);
        }
        let copies = [self.inspect(flash, 0)?.0, self.inspect(flash, 1)?.0];
        let last = copies[0].generation().max(copies[1].generation());
        // A flash wears out some 40,000 times before this does.
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

    /// What a copy holds; the image means something only where there is a generation.
    fn inspect<F: NorFlash>(
        &self,
        flash: &mut F,
        copy: usize,
    ) -> Result<(Copy, Image), FlashError<F::Error>> {
        let mut image = Image { bytes: [0xff; MAX_IMAGE], length: LINE };
        self.region.read(flash, copy, 0, &mut image.bytes[..LINE])?;
        if image.bytes[..5] != MAGIC || image.bytes[5] != self.kind {
            return Ok((Copy::None, image));
        }
        let length = usize::from(u16::from_le_bytes([image.bytes[6], image.bytes[7]]));
        if length > MAX_VALUE {
            return Ok((Copy::Torn, image));
        }
        let end = LINE + length.next_multiple_of(LINE);
        self.region.read(flash, copy, LINE, &mut image.bytes[LINE..end + LINE])?;
        image.length = end + LINE;
        let sum: Line = checksum(DOMAIN, &image.bytes[..end]);
        if image.bytes[end..end + LINE] != sum {
            return Ok((Copy::Torn, image));
        }
        let mut mark = BLANK;
        self.region.read(flash, copy, image.length, &mut mark)?;
        let generation = image.generation();
        // The mark's first bit tells: it is written only behind a copy that was read back.
        Ok((if mark == BLANK { Copy::Weak { generation } } else { Copy::Whole { generation } }, image))
    }
}

fn worse_first(copies: [Copy; 2]) -> [usize; 2] {
    if copies[0] <= copies[1] { [0, 1] } else { [1, 0] }
}

#[cfg(test)]
mod tests;

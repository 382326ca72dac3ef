//! A number that only grows, in two sectors that both contain the latest.
//!
//! Each reservation appends one line to both sectors, and a full sector is erased while the other one has the number: two
//! erases for 256 reservations. An incomplete line counts as a used number, because it may have been read as complete
//! before. Gaps are harmless; a repeated number would allow a signature to be replayed.

use embedded_storage::nor_flash::NorFlash;

use super::region::{BLANK, FlashError, LINE_BYTES, Line, Region, SECTOR_BYTES, checksum};

/// Lines of a sector.
const LINES_PER_SECTOR: usize = SECTOR_BYTES as usize / LINE_BYTES;
const DOMAIN: &[u8] = b"gatepost/flash/counter/1";

/// A counter in flash.
#[derive(Debug)]
pub struct FlashCounter {
    region: Region,
    /// `None` before the first scan, and after an error.
    known: Option<Known>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    last: u64,
    /// How many lines of each sector are written.
    used: [usize; 2],
}

/// What a sector contains.
#[derive(Debug, Clone, Copy)]
struct Scan {
    /// The greatest number that may have been used; `None` if the sector has no number.
    last: Option<u64>,
    used: usize,
    /// Whether every line up to `used` is whole.
    clean: bool,
}

impl FlashCounter {
    /// The counter in this region, which is scanned at the first use.
    pub const fn new(region: Region) -> Self {
        Self { region, known: None }
    }

    /// Starts at zero. Only for a device that has never signed anything.
    pub fn format<F: NorFlash>(&mut self, flash: &mut F) -> Result<(), FlashError<F::Error>> {
        self.known = None;
        (0..2).try_for_each(|copy| self.rewrite(flash, copy, 0))?;
        self.known = Some(Known { last: 0, used: [1; 2] });
        Ok(())
    }

    /// The number reserved last, or one that may have been.
    pub fn last<F: NorFlash>(&mut self, flash: &mut F) -> Result<u64, FlashError<F::Error>> {
        let known = match self.known {
            Some(known) => known,
            None => self.recover(flash)?,
        };
        Ok(self.known.insert(known).last)
    }

    /// Reserves the next number. When this returns, both sectors contain it and were read back.
    pub fn reserve<F: NorFlash>(&mut self, flash: &mut F) -> Result<u64, FlashError<F::Error>> {
        let last = self.last(flash)?;
        // Nothing is known until everything is written: after an error the flash is scanned again.
        let mut known = self.known.take().unwrap_or(Known { last, used: [LINES_PER_SECTOR; 2] });
        let next = known.last.checked_add(1).ok_or(FlashError::TooLarge)?;
        for copy in 0..2 {
            if known.used[copy] < LINES_PER_SECTOR {
                self.region.write(flash, copy, known.used[copy] * LINE_BYTES, &line(next))?;
                known.used[copy] += 1;
            } else {
                self.rewrite(flash, copy, next)?;
                known.used[copy] = 1;
            }
        }
        self.known = Some(Known { last: next, ..known });
        Ok(next)
    }

    /// Scans both sectors, and rewrites a sector that is behind or not whole.
    fn recover<F: NorFlash>(&self, flash: &mut F) -> Result<Known, FlashError<F::Error>> {
        let mut scans = [self.scan(flash, 0)?, self.scan(flash, 1)?];
        let last = scans[0].last.max(scans[1].last).ok_or(FlashError::Damaged)?;
        // The sector with the greater number is rewritten last.
        let order = if scans[0].last <= scans[1].last { [0, 1] } else { [1, 0] };
        for copy in order {
            if !scans[copy].clean || scans[copy].last != Some(last) {
                self.rewrite(flash, copy, last)?;
                scans[copy].used = 1;
            }
        }
        Ok(Known { last, used: scans.map(|scan| scan.used) })
    }

    fn rewrite<F: NorFlash>(
        &self,
        flash: &mut F,
        copy: usize,
        value: u64,
    ) -> Result<(), FlashError<F::Error>> {
        self.region.erase(flash, copy)?;
        self.region.write(flash, copy, 0, &line(value))
    }

    fn scan<F: NorFlash>(&self, flash: &mut F, copy: usize) -> Result<Scan, FlashError<F::Error>> {
        let mut scan = Scan { last: None, used: 0, clean: true };
        let mut torn: u64 = 0;
        for index in 0..LINES_PER_SECTOR {
            let mut found = BLANK;
            self.region.read(flash, copy, index * LINE_BYTES, &mut found)?;
            if found == BLANK {
                continue;
            }
            scan.clean &= scan.used == index;
            scan.used = index + 1;
            match number(&found) {
                Some(value) => {
                    scan.last = scan.last.max(Some(value));
                    torn = 0;
                }
                None => {
                    scan.clean = false;
                    torn += 1;
                }
            }
        }
        scan.last = scan.last.map(|last| last.saturating_add(torn));
        Ok(scan)
    }
}

fn line(value: u64) -> Line {
    let mut line = [0; LINE_BYTES];
    let (number, sum) = line.split_at_mut(8);
    number.copy_from_slice(&value.to_le_bytes());
    sum.copy_from_slice(&checksum::<8>(DOMAIN, number));
    line
}

fn number(line: &Line) -> Option<u64> {
    let (number, sum) = line.split_first_chunk::<8>()?;
    (*sum == checksum::<8>(DOMAIN, number)).then(|| u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests;

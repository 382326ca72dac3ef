//! The record of an image on trial: which one it is, how often it was started, and whether it proved good.
//!
//! Two sectors are written in turn, so the record of the last trial stands until the next one's is whole. In a sector, a
//! line of 32 bytes names the trial; then each event clears a line of its own, and nothing is ever rewritten:
//!
//! ```text
//! line 0     number u32 | slot u8 | 0, 0, 0 | start of the image's SHA-256, 8 | checksum, 16
//! line 1-3   zeros once a start is spent, one line a start
//! line 4     zeros once the image is good
//! ```
//!
//! Numbers are little-endian. A line that was torn while a start was spent counts as spent: a start is lost, never gained. A
//! torn line 4 does not count: the trial goes on.

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::update::ImageId;

use super::entry::Slot;
use crate::storage::flash::{
    FlashError,
    region::{LINE_BYTES, checksum},
    storage::TRIAL,
};

/// How often an image is started before it is given up.
pub const STARTS: u8 = 3;

const DOMAIN: &[u8] = b"gatepost/flash/trial/1";
const BYTES_PER_LINE: usize = 32;
const GOOD_LINE: usize = 1 + STARTS as usize;
const LINES: usize = 1 + GOOD_LINE;
/// What an event writes to its line.
const CLEARED: [u8; LINE_BYTES] = [0; LINE_BYTES];

/// A trial as the flash has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    number: u32,
    copy: usize,
    slot: Slot,
    image: ImageId,
    spent: [bool; STARTS as usize],
    good: bool,
}

impl Trial {
    /// The latest trial, under way or over. [`None`] if there never was one.
    pub fn load<F: NorFlash>(storage: &mut F) -> Result<Option<Self>, FlashError<F::Error>> {
        let [one, other] = [Self::inspect(storage, 0)?, Self::inspect(storage, 1)?];
        Ok([one, other].into_iter().flatten().max_by_key(|trial| trial.number))
    }

    /// Records that the image in this slot is to be tried. When this returns, the record was read back.
    pub fn begin<F: NorFlash>(
        storage: &mut F,
        slot: Slot,
        image: ImageId,
    ) -> Result<Self, FlashError<F::Error>> {
        let (number, copy) = match Self::load(storage)? {
            Some(last) => (last.number.checked_add(1).ok_or(FlashError::TooLarge)?, 1 - last.copy),
            None => (0, 0),
        };
        let mut line = [0; BYTES_PER_LINE];
        line[..4].copy_from_slice(&number.to_le_bytes());
        line[4] = slot.index() as u8;
        line[8..16].copy_from_slice(&image);
        let sum: [u8; 16] = checksum(DOMAIN, &line[..16]);
        line[16..].copy_from_slice(&sum);
        TRIAL.erase(storage, copy)?;
        TRIAL.write(storage, copy, 0, &line)?;
        Ok(Self { number, copy, slot, image, spent: [false; STARTS as usize], good: false })
    }

    /// The slot of the image.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Which image it is.
    pub fn image(&self) -> ImageId {
        self.image
    }

    /// How many starts are left.
    pub fn left(&self) -> u8 {
        self.spent.iter().map(|spent| u8::from(!spent)).sum()
    }

    /// Whether the image was ever started.
    pub fn was_started(&self) -> bool {
        self.left() < STARTS
    }

    /// Whether the image proved good.
    pub fn is_good(&self) -> bool {
        self.good
    }

    /// Spends a start. When this returns, that was read back. Nothing happens if none is left.
    pub fn spend<F: NorFlash>(&mut self, storage: &mut F) -> Result<(), FlashError<F::Error>> {
        if let Some(start) = self.spent.iter().position(|spent| !spent) {
            TRIAL.write(storage, self.copy, (1 + start) * BYTES_PER_LINE, &CLEARED)?;
            self.spent[start] = true;
        }
        Ok(())
    }

    /// Records that the image is good. Once more does no harm, and makes a line firm that was written during a power cut.
    pub fn mark_good<F: NorFlash>(&mut self, storage: &mut F) -> Result<(), FlashError<F::Error>> {
        TRIAL.write(storage, self.copy, GOOD_LINE * BYTES_PER_LINE, &CLEARED)?;
        self.good = true;
        Ok(())
    }

    fn inspect<F: NorFlash>(storage: &mut F, copy: usize) -> Result<Option<Self>, FlashError<F::Error>> {
        let mut bytes = [0; LINES * BYTES_PER_LINE];
        TRIAL.read(storage, copy, 0, &mut bytes)?;
        let sum: [u8; 16] = checksum(DOMAIN, &bytes[..16]);
        if bytes[16..BYTES_PER_LINE] != sum {
            return Ok(None);
        }
        let Some(slot) = Slot::ALL.get(usize::from(bytes[4])).copied() else { return Ok(None) };
        let mut image = ImageId::default();
        image.copy_from_slice(&bytes[8..16]);
        let line = |index: usize| &bytes[index * BYTES_PER_LINE..][..LINE_BYTES];
        Ok(Some(Self {
            number: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            copy,
            slot,
            image,
            spent: core::array::from_fn(|start| line(1 + start).iter().any(|byte| *byte != 0xff)),
            good: *line(GOOD_LINE) == CLEARED,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::flash::{SECTOR_BYTES, power_cut::PowerCutFlash};

    const OLD: ImageId = [1; 8];
    const NEW: ImageId = [2; 8];

    fn blank(seed: u64) -> PowerCutFlash {
        PowerCutFlash::blank(16 * SECTOR_BYTES, seed)
    }

    #[test]
    fn a_trial_is_named_spent_and_found_good_over_restarts() {
        let mut flash = blank(1);
        assert_eq!(Trial::load(&mut flash), Ok(None));
        let mut trial = Trial::begin(&mut flash, Slot::Ota1, NEW).unwrap();
        for left in (0..STARTS).rev() {
            trial.spend(&mut flash).unwrap();
            assert_eq!(trial.left(), left);
            assert_eq!(Trial::load(&mut flash), Ok(Some(trial)));
        }
        trial.spend(&mut flash).unwrap();
        assert_eq!((trial.left(), trial.is_good()), (0, false));
        trial.mark_good(&mut flash).unwrap();
        trial.mark_good(&mut flash).unwrap();
        assert_eq!(Trial::load(&mut flash), Ok(Some(trial)));
        assert_eq!((trial.slot(), trial.image(), trial.is_good()), (Slot::Ota1, NEW, true));
    }

    #[test]
    fn a_start_whose_line_reads_as_unspent_later_is_spent_first() {
        let mut flash = blank(1);
        let mut trial = Trial::begin(&mut flash, Slot::Ota1, NEW).unwrap();
        trial.spend(&mut flash).unwrap();
        trial.spend(&mut flash).unwrap();
        flash.bytes[8 * SECTOR_BYTES as usize + BYTES_PER_LINE..][..LINE_BYTES].fill(0xff);
        for left in [1, 0] {
            let mut trial = Trial::load(&mut flash).unwrap().expect("a record");
            assert_eq!(trial.left(), left + 1);
            trial.spend(&mut flash).unwrap();
            assert_eq!(Trial::load(&mut flash).unwrap().map(|trial| trial.left()), Some(left));
        }
    }

    #[test]
    fn a_cut_leaves_the_last_trial_or_the_next_and_no_start_is_gained() {
        // An erase and the first line; a start; the mark.
        const STEPS: usize = 16 + 32 + 16 + 16;
        let mut cuts = 0;
        for seed in 1..=8 {
            let mut before = blank(seed);
            Trial::begin(&mut before, Slot::Ota1, NEW).unwrap();
            let mut last = Trial::begin(&mut before, Slot::Ota0, OLD).unwrap();
            last.spend(&mut before).unwrap();
            last.mark_good(&mut before).unwrap();
            for cut in 0..STEPS {
                let mut flash = before.clone();
                flash.power_on(Some(cut));
                let cut_short = Trial::begin(&mut flash, Slot::Ota1, NEW)
                    .and_then(|mut trial| trial.spend(&mut flash).and_then(|()| trial.mark_good(&mut flash)));
                cut_short.unwrap_err();
                cuts += usize::from(flash.was_cut());
                flash.power_on(None);
                let found = Trial::load(&mut flash).unwrap().expect("a record");
                if found.image == OLD {
                    assert_eq!(found, last, "cut {cut}");
                    assert!(cut < 48);
                } else {
                    assert_eq!((found.slot, found.number), (Slot::Ota1, 2), "cut {cut}");
                    assert!(found.left() == STARTS || cut >= 48);
                    assert!(
                        found.left() == STARTS - 1 || cut < 64,
                        "cut {cut}: a start that was spent is not"
                    );
                }
            }
        }
        assert_eq!(cuts, 8 * STEPS);
    }
}

//! A simulated flash that loses power in the middle of a step that the test chooses.
//!
//! A step writes one byte or erases a sixteenth of a sector; a test that writes much can have its long writes go in pages.
//! At the cut, some bits of the step have their new state, some have their old state, and some float: they read differently
//! every time until they are erased or written. After the cut nothing works until [`PowerCutFlash::power_on`].

use core::ops::Range;
use std::{vec, vec::Vec};

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};

use super::region::SECTOR_BYTES;

/// Bytes of a sector that are erased in one step.
const ERASE_STEP_BYTES: usize = SECTOR_BYTES as usize / 16;
/// What is longer is written in steps of a page.
const LONG_WRITE_BYTES: usize = 64;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    NoPower,
    Broken,
    Misused,
}

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// How a flash is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breakage {
    Reads,
    Writes,
    Erases,
    /// Writes and erases succeed but change nothing.
    Silent,
}

#[derive(Debug, Clone)]
pub(crate) struct PowerCutFlash {
    pub(crate) bytes: Vec<u8>,
    /// The bits that float.
    floating: Vec<u8>,
    /// Steps since the power came on.
    pub(crate) steps: usize,
    cut: Option<usize>,
    pub(crate) broken: Option<Breakage>,
    /// Reads since the power came on, and which of them fail.
    pub(crate) reads: usize,
    pub(crate) failing_reads: Range<usize>,
    pub(crate) erases: usize,
    /// Bytes of a step in a long write.
    pub(crate) page: usize,
    /// Whether the power is cut just before a step, and not in the middle of it.
    pub(crate) cuts_between: bool,
    powered: bool,
    dice: u64,
}

impl PowerCutFlash {
    /// A new flash, erased.
    pub(crate) fn blank(size: u32, seed: u64) -> Self {
        let size = size as usize;
        Self {
            bytes: vec![0xff; size],
            floating: vec![0; size],
            steps: 0,
            cut: None,
            broken: None,
            reads: 0,
            failing_reads: 0..0,
            erases: 0,
            page: 1,
            cuts_between: false,
            powered: true,
            dice: dice(seed),
        }
    }

    /// The same flash, with other dice for its next cuts and for the bits that float.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        Self { dice: dice(seed), ..self.clone() }
    }

    /// Lets these bits of a byte float.
    pub(crate) fn set_floating(&mut self, at: usize, bits: u8) {
        self.floating[at] |= bits;
    }

    /// Whether a bit of these bytes floats.
    pub(crate) fn floats(&self, bytes: Range<usize>) -> bool {
        const NONE: [u8; 256] = [0; 256];
        self.floating[bytes].chunks(NONE.len()).any(|bits| *bits != NONE[..bits.len()])
    }

    /// Switches the power on; it is cut at step number `cut`.
    pub(crate) fn power_on(&mut self, cut: Option<usize>) {
        (self.steps, self.reads) = (0, 0);
        self.cut = cut;
        self.powered = true;
    }

    /// Whether the power was cut.
    pub(crate) fn was_cut(&self) -> bool {
        !self.powered
    }

    /// Overwrites a byte, as time and radiation do.
    pub(crate) fn rot(&mut self, offset: u32) {
        self.bytes[offset as usize] ^= 0x55;
    }

    fn roll(&mut self) -> u8 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 24) as u8
    }

    /// Counts a step; `false` if the power is cut in the middle of it.
    fn step(&mut self) -> bool {
        self.powered = self.cut != Some(self.steps);
        self.steps += 1;
        self.powered
    }

    /// A power cut while one byte changes to `to`.
    fn interrupt(&mut self, at: usize, to: u8) {
        if self.cuts_between {
            return;
        }
        let moving = self.bytes[at] ^ to;
        let (arrived, floating) = (self.roll() & moving, self.roll() & moving);
        self.bytes[at] ^= arrived;
        self.floating[at] |= floating;
    }

    fn usable(&self, offset: u32, length: usize, unit: usize) -> Result<(), Fault> {
        let end = offset as usize + length;
        match () {
            () if !self.powered => Err(Fault::NoPower),
            () if end > self.bytes.len() => Err(Fault::Misused),
            () if !(offset as usize).is_multiple_of(unit) || !length.is_multiple_of(unit) => {
                Err(Fault::Misused)
            }
            () => Ok(()),
        }
    }
}

impl ErrorType for PowerCutFlash {
    type Error = Fault;
}

impl ReadNorFlash for PowerCutFlash {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        self.usable(offset, bytes.len(), Self::READ_SIZE)?;
        self.reads += 1;
        if self.broken == Some(Breakage::Reads) || self.failing_reads.contains(&(self.reads - 1)) {
            return Err(Fault::Broken);
        }
        let range = offset as usize..offset as usize + bytes.len();
        if !self.floats(range.clone()) {
            bytes.copy_from_slice(&self.bytes[range]);
            return Ok(());
        }
        for (at, byte) in (offset as usize..).zip(bytes) {
            let floating = self.floating[at];
            let noise = if floating == 0 { 0 } else { self.roll() & floating };
            *byte = self.bytes[at] ^ noise;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for PowerCutFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR_BYTES as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        self.usable(from, (to - from) as usize, Self::ERASE_SIZE)?;
        match self.broken {
            Some(Breakage::Erases) => return Err(Fault::Broken),
            Some(Breakage::Silent) => return Ok(()),
            _ => {}
        }
        self.erases += 1;
        for start in (from as usize..to as usize).step_by(ERASE_STEP_BYTES) {
            if !self.step() {
                (start..start + ERASE_STEP_BYTES).for_each(|at| self.interrupt(at, 0xff));
                return Err(Fault::NoPower);
            }
            self.bytes[start..start + ERASE_STEP_BYTES].fill(0xff);
            self.floating[start..start + ERASE_STEP_BYTES].fill(0);
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.usable(offset, bytes.len(), Self::WRITE_SIZE)?;
        match self.broken {
            Some(Breakage::Writes) => return Err(Fault::Broken),
            Some(Breakage::Silent) => return Ok(()),
            _ => {}
        }
        let page = if bytes.len() > LONG_WRITE_BYTES { self.page } else { 1 };
        for (start, bytes) in (offset as usize..).step_by(page).zip(bytes.chunks(page)) {
            // Writing only clears bits.
            if self.bytes[start..].iter().zip(bytes).any(|(old, new)| old & new != *new) {
                return Err(Fault::Misused);
            }
            if !self.step() {
                (start..).zip(bytes).for_each(|(at, byte)| self.interrupt(at, *byte));
                return Err(Fault::NoPower);
            }
            for (at, byte) in (start..).zip(bytes) {
                self.bytes[at] = *byte;
                // A floating bit that stays one keeps floating.
                self.floating[at] &= *byte;
            }
        }
        Ok(())
    }
}

/// Cuts the power at every step of `work`, and again at some steps of `work` on what is left of the flash: at its first ones and at every
/// `stride`th. `check` looks at the flash after one cut and after two. Returns how many cuts there were.
pub(crate) fn cut_twice(
    before: &PowerCutFlash,
    stride: usize,
    work: impl Fn(&mut PowerCutFlash),
    check: impl Fn(&mut PowerCutFlash, &str),
) -> usize {
    let mut cuts = 0;
    for seed in 1..=4 {
        for first in 0.. {
            let mut once = before.with_seed(seed);
            once.power_on(Some(first));
            work(&mut once);
            if !once.was_cut() {
                break;
            }
            cuts += 1;
            let seconds = [0, 7, first / 3].into_iter().chain((first % stride..).step_by(stride));
            for second in core::iter::once(None).chain(seconds.map(Some)) {
                let mut flash = once.clone();
                if let Some(second) = second {
                    flash.power_on(Some(second));
                    work(&mut flash);
                    cuts += usize::from(flash.was_cut());
                }
                let is_past_the_end = second > Some(first) && !flash.was_cut();
                flash.power_on(None);
                check(&mut flash, &std::format!("seed {seed}, cut {first}, then {second:?}"));
                if is_past_the_end {
                    break;
                }
            }
        }
    }
    cuts
}

fn dice(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

//! A flash that loses power at a step of the test's choice, half way through it.
//!
//! A step is one byte written or a sixteenth of a sector erased. At the cut some bits of the step have reached their
//! new state, some have not, and some float: they read differently every time until they are erased or written. After
//! the cut nothing works until [`Double::power_on`].

use std::{vec, vec::Vec};

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};

use super::SECTOR;

/// Bytes of a sector that are erased in one step.
const STRIDE: usize = SECTOR as usize / 16;

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

/// What a broken flash does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breakage {
    Reads,
    Writes,
    Erases,
    /// Says Ok, and keeps nothing.
    Keeps,
}

#[derive(Debug, Clone)]
pub(crate) struct Double {
    pub(crate) bytes: Vec<u8>,
    /// Bits that float.
    floating: Vec<u8>,
    /// Steps done since the power came.
    pub(crate) steps: usize,
    cut: Option<usize>,
    pub(crate) broken: Option<Breakage>,
    pub(crate) erases: usize,
    powered: bool,
    dice: u64,
}

impl Double {
    /// A new flash, all of it erased.
    pub(crate) fn blank(size: u32, seed: u64) -> Self {
        let size = size as usize;
        Self {
            bytes: vec![0xff; size],
            floating: vec![0; size],
            steps: 0,
            cut: None,
            broken: None,
            erases: 0,
            powered: true,
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// Power, until so many steps are done.
    pub(crate) fn power_on(&mut self, cut: Option<usize>) {
        self.steps = 0;
        self.cut = cut;
        self.powered = true;
    }

    /// Whether the power went since it came.
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

    /// Counts a step; `false` if the power goes in the middle of it.
    fn step(&mut self) -> bool {
        self.powered = self.cut != Some(self.steps);
        self.steps += 1;
        self.powered
    }

    /// One byte on its way from what it is to `to`, when the power goes.
    fn interrupt(&mut self, at: usize, to: u8) {
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

impl ErrorType for Double {
    type Error = Fault;
}

impl ReadNorFlash for Double {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        self.usable(offset, bytes.len(), Self::READ_SIZE)?;
        if self.broken == Some(Breakage::Reads) {
            return Err(Fault::Broken);
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

impl NorFlash for Double {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        self.usable(from, (to - from) as usize, Self::ERASE_SIZE)?;
        match self.broken {
            Some(Breakage::Erases) => return Err(Fault::Broken),
            Some(Breakage::Keeps) => return Ok(()),
            _ => {}
        }
        self.erases += 1;
        for start in (from as usize..to as usize).step_by(STRIDE) {
            if !self.step() {
                (start..start + STRIDE).for_each(|at| self.interrupt(at, 0xff));
                return Err(Fault::NoPower);
            }
            self.bytes[start..start + STRIDE].fill(0xff);
            self.floating[start..start + STRIDE].fill(0);
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.usable(offset, bytes.len(), Self::WRITE_SIZE)?;
        match self.broken {
            Some(Breakage::Writes) => return Err(Fault::Broken),
            Some(Breakage::Keeps) => return Ok(()),
            _ => {}
        }
        for (at, byte) in (offset as usize..).zip(bytes) {
            // A bit is written to zero only.
            if self.bytes[at] & byte != *byte {
                return Err(Fault::Misused);
            }
            if !self.step() {
                self.interrupt(at, *byte);
                return Err(Fault::NoPower);
            }
            self.bytes[at] = *byte;
            // A floating bit that is left at one floats on.
            self.floating[at] &= *byte;
        }
        Ok(())
    }
}

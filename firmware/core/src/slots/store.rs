//! A new image on its way into the slot that is not running, piece by piece, over restarts.
//!
//! The slot's last sectors hold the list of the blocks' hashes, which the manifest vouches for and which is fetched first.
//! So each block is checked as soon as it is written, against what the flash returns. At the very end of the slot a line is
//! cleared for every eight blocks that were read back whole. A restart goes on behind those lines: it loses seven blocks at
//! most, and hashes nothing but the list. Before a switch the whole image is hashed as it lies in the flash.
//!
//! An earlier design kept no such lines. It hashed the blocks from the first on until one differed, and went on one before
//! it, as the last equal one may have been under way when the power went. But versions share blocks: if the one under way
//! reads well once, and the next one still stands there from an older version, the search runs past a block whose bytes
//! read differently every time. `resumed_behind_a_torn_block` here is that case.
//!
//! [`Store`] holds no buffer: pieces go to the flash as they come. What it writes is worth nothing until [`Whole`] exists,
//! for a slot is only started once a switch names it. One call erases one sector at most, and hashes 16 KB at most: the
//! device looks at its buttons in between.
//!
//! `layout` says where everything lies, `release` what is taken, and in which pieces.

mod layout;
mod release;

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::frame::Part;
use sha2::{Digest as _, Sha256};

use self::layout::{BLOCKS_PER_MARK, HASH_BYTES, SlotFlash};
pub use self::{
    layout::{BLOCK_BYTES, image_bytes},
    release::{Next, PIECE_BYTES, Piece, Release, StoreError, Whole},
};
use super::entry::Slot;
use crate::storage::flash::{LINE_BYTES, SECTOR_BYTES};

/// Bytes that one call hashes at most.
const STEP_BYTES: u32 = 4 * SECTOR_BYTES;
const MARK: [u8; LINE_BYTES] = [0; LINE_BYTES];

#[derive(Debug)]
enum Stage {
    /// Whether the list is there is not known yet.
    Look,
    /// The marks are to be erased, and the end of the list with them.
    Clear,
    /// So many bytes of the list are there.
    List(u32),
    /// So many bytes of the image are there.
    Image(u32),
    /// So many bytes of the image are hashed.
    Hash(u32, Sha256),
    Whole,
}

/// An image on its way into a slot.
#[derive(Debug)]
pub struct Store<F> {
    flash: SlotFlash<F>,
    slot: Slot,
    release: Release,
    stage: Stage,
}

impl<F: NorFlash> Store<F> {
    /// Takes this release into the slot whose flash this is. What is there of it already is kept.
    pub(super) fn new(flash: F, slot: Slot, release: Release) -> Result<Self, StoreError<F::Error>> {
        let flash = SlotFlash::new(flash, release.size).ok_or(StoreError::Size)?;
        Ok(Self { flash, slot, release, stage: Stage::Look })
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        let (part, offset, end) = match self.stage {
            Stage::Look | Stage::Clear | Stage::Hash(..) => return Next::Work,
            Stage::Whole => return Next::Whole,
            Stage::List(at) => (Part::List, at, self.flash.list_bytes()),
            Stage::Image(at) => (Part::Image, at, self.release.size),
        };
        Next::Piece(Piece { part, offset, length: PIECE_BYTES.min(end - offset) })
    }

    /// How many bytes of the image are in the slot.
    pub fn taken(&self) -> u32 {
        match self.stage {
            Stage::Look | Stage::Clear | Stage::List(_) => 0,
            Stage::Image(at) => at,
            Stage::Hash(..) | Stage::Whole => self.release.size,
        }
    }

    /// Does the next step that needs nothing from the hub, if it is one. After an error it can be called again.
    pub fn work(&mut self) -> Result<(), StoreError<F::Error>> {
        match &self.stage {
            Stage::Look => {
                let whole = self.list_is_whole()?;
                let start = if whole { self.resume()? } else { 0 };
                self.stage = if whole { self.image_from(start) } else { Stage::Clear };
                Ok(())
            }
            Stage::Clear => {
                self.flash.erase(self.flash.last_sector())?;
                self.stage = Stage::List(0);
                Ok(())
            }
            Stage::Hash(at, hasher) => {
                let (at, hasher) = (*at, hasher.clone());
                self.hash_image(at, hasher)
            }
            Stage::List(_) | Stage::Image(_) | Stage::Whole => Ok(()),
        }
    }

    /// Takes the piece that [`Store::next`] names. After an error that is another one.
    pub fn take(&mut self, part: Part, offset: u32, bytes: &[u8]) -> Result<(), StoreError<F::Error>> {
        let piece = Piece { part, offset, length: bytes.len() as u32 };
        if self.next() != Next::Piece(piece) {
            return Err(StoreError::Unasked);
        }
        match part {
            Part::List => {
                // Unless the whole list is right, nothing of it counts.
                self.stage = Stage::Clear;
                self.take_list(offset, bytes)
            }
            Part::Image => {
                // Unless the piece is stored, its block is written again.
                self.stage = Stage::Image(offset - offset % BLOCK_BYTES);
                self.take_image(offset, bytes)
            }
        }
    }

    /// The proof that all of it is there, once [`Store::next`] says so.
    pub fn into_whole(self) -> Option<Whole> {
        let Self { slot, release, stage, .. } = self;
        matches!(stage, Stage::Whole).then_some(Whole { slot, image: release.image })
    }

    fn take_list(&mut self, offset: u32, bytes: &[u8]) -> Result<(), StoreError<F::Error>> {
        let at = self.flash.list_at() + offset;
        // The last sector was erased with the marks, before anything else of the list.
        if at.is_multiple_of(SECTOR_BYTES) && at != self.flash.last_sector() {
            self.flash.erase(at)?;
        }
        self.flash.write(at, bytes)?;
        let done = offset + bytes.len() as u32;
        if done < self.flash.list_bytes() {
            self.stage = Stage::List(done);
        } else if self.list_is_whole()? {
            self.stage = Stage::Image(0);
        } else {
            return Err(StoreError::Wrong(Part::List));
        }
        Ok(())
    }

    fn take_image(&mut self, offset: u32, bytes: &[u8]) -> Result<(), StoreError<F::Error>> {
        if offset.is_multiple_of(BLOCK_BYTES) {
            self.flash.erase(offset)?;
        }
        self.flash.write(offset, bytes)?;
        let done = offset + bytes.len() as u32;
        let ends = done.is_multiple_of(BLOCK_BYTES) || done == self.release.size;
        if ends {
            self.check_block(offset / BLOCK_BYTES, done)?;
        }
        self.stage = self.image_from(done);
        Ok(())
    }

    /// Compares a block with its hash in the list; with it the blocks of one mark may be complete.
    fn check_block(&mut self, block: u32, end: u32) -> Result<(), StoreError<F::Error>> {
        let mut hasher = Sha256::new();
        self.flash.hash(&mut hasher, block * BLOCK_BYTES, end)?;
        let mut hash = [0; HASH_BYTES as usize];
        let entry = self.flash.list_at() + block * HASH_BYTES;
        self.flash.read(entry, &mut hash)?;
        if hasher.finalize()[..] != hash {
            // Or it is the list that reads differently now.
            self.stage = Stage::Look;
            return Err(StoreError::Wrong(Part::Image));
        }
        if (block + 1).is_multiple_of(BLOCKS_PER_MARK) || end == self.release.size {
            let mark = self.flash.mark_at(block / BLOCKS_PER_MARK);
            self.flash.write(mark, &MARK)?;
        }
        Ok(())
    }

    fn hash_image(&mut self, at: u32, mut hasher: Sha256) -> Result<(), StoreError<F::Error>> {
        let end = self.release.size.min(at + STEP_BYTES);
        self.flash.hash(&mut hasher, at, end)?;
        if end < self.release.size {
            self.stage = Stage::Hash(end, hasher);
        } else if hasher.finalize()[..] == self.release.image.0 {
            self.stage = Stage::Whole;
        } else {
            self.stage = Stage::Clear;
            return Err(StoreError::WrongImage);
        }
        Ok(())
    }

    fn image_from(&self, at: u32) -> Stage {
        if at < self.release.size { Stage::Image(at) } else { Stage::Hash(0, Sha256::new()) }
    }

    /// How many bytes of the image are there according to the marks.
    fn resume(&mut self) -> Result<u32, StoreError<F::Error>> {
        for mark in 0..self.flash.marks() {
            let mut line = [0xff; LINE_BYTES];
            let at = self.flash.mark_at(mark);
            self.flash.read(at, &mut line)?;
            // A mark was begun after its blocks were read back, so a torn one that reads whole tells no lie.
            if line != MARK {
                return Ok(mark * BLOCKS_PER_MARK * BLOCK_BYTES);
            }
        }
        Ok(self.release.size)
    }

    fn list_is_whole(&mut self) -> Result<bool, StoreError<F::Error>> {
        let (from, length) = (self.flash.list_at(), self.flash.list_bytes());
        let mut hasher = Sha256::new();
        self.flash.hash(&mut hasher, from, from + length)?;
        Ok(hasher.finalize()[..] == self.release.blocks.0)
    }
}

#[cfg(test)]
mod tests;

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

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::Digest;
use sha2::{Digest as _, Sha256};

use super::entry::Slot;
use crate::storage::flash::{FlashError, LINE_BYTES, SECTOR_BYTES};

/// Bytes of a block: a sector, so that one can be written again alone.
pub const BLOCK_BYTES: u32 = SECTOR_BYTES;
/// Bytes of the longest piece. Two make a block.
pub const PIECE_BYTES: u32 = 2048;
/// Bytes of a block's hash in the list.
const HASH_BYTES: u32 = 32;
/// How many blocks one cleared line stands for.
const BLOCKS_PER_MARK: u32 = 8;
/// Bytes that one call hashes at most.
const STEP_BYTES: u32 = 4 * SECTOR_BYTES;
const MARK: [u8; LINE_BYTES] = [0; LINE_BYTES];
const LINE: u32 = LINE_BYTES as u32;

/// What a manifest says of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The image's length in bytes.
    pub size: u32,
    /// SHA-256 of the image.
    pub image: Digest,
    /// SHA-256 of the list of the blocks' hashes.
    pub blocks: Digest,
}

/// What is fetched: first the list, then the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// SHA-256 of each block, one after the other.
    List,
    /// The image.
    Image,
}

/// A piece to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Of what.
    pub section: Section,
    /// Where it begins there, in bytes.
    pub offset: u32,
    /// Its length, [`PIECE_BYTES`] at most.
    pub length: u32,
}

/// What a store needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A call of [`Store::work`].
    Work,
    /// This piece, for [`Store::take`].
    Piece(Piece),
    /// Nothing: [`Store::into_whole`].
    Whole,
}

/// Why an image could not be taken, or not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreError<E> {
    /// The flash failed.
    Flash(FlashError<E>),
    /// The image is empty, or larger than a slot.
    Size,
    /// The running image is on trial: the other slot is its way back.
    OnTrial,
    /// The piece is not the one that [`Store::next`] names.
    Unasked,
    /// The hash of the list or of a block is another one. It is asked for again.
    Wrong(Section),
    /// Every block was right, but the image's hash is another one. All of it is asked for again.
    WrongImage,
}

impl<E> StoreError<E> {
    /// Whether going on with what [`Store::next`] names may succeed. The caller counts, and gives up some time.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Flash(error) => error.is_transient(),
            Self::Unasked | Self::Wrong(_) | Self::WrongImage => true,
            Self::Size | Self::OnTrial => false,
        }
    }
}

impl<E> From<FlashError<E>> for StoreError<E> {
    fn from(error: FlashError<E>) -> Self {
        Self::Flash(error)
    }
}

impl<E: core::fmt::Debug> core::fmt::Display for StoreError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Flash(error) => return error.fmt(f),
            Self::Size => "the image is empty or larger than a slot; build a smaller one",
            Self::OnTrial => "the running firmware is on trial; wait until it is confirmed",
            Self::Unasked => "the piece is not the one that was asked for",
            Self::Wrong(Section::List) => "the list of blocks is not the one in the manifest; fetch it again",
            Self::Wrong(Section::Image) => "the block is not the one in the list; fetch it again",
            Self::WrongImage => {
                "the image is not the one in the manifest; fetch it again, or build the release anew"
            }
        })
    }
}

impl<E: core::fmt::Debug> core::error::Error for StoreError<E> {}

/// An image that lies in a slot in full, and was read back there. Needed for a switch.
#[derive(Debug, PartialEq, Eq)]
pub struct Whole {
    pub(super) slot: Slot,
    pub(super) image: Digest,
}

impl Whole {
    /// SHA-256 of the image.
    pub fn image(&self) -> &Digest {
        &self.image
    }

    /// The slot in which it lies.
    pub fn slot(&self) -> Slot {
        self.slot
    }
}

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
    flash: F,
    slot: Slot,
    release: Release,
    stage: Stage,
}

/// The greatest image for a slot of so many bytes, a multiple of [`SECTOR_BYTES`]. The rest is for the list and the marks.
pub const fn image_bytes(slot: u32) -> u32 {
    let sectors = slot / SECTOR_BYTES;
    let mut list = 1;
    while list < sectors {
        let blocks = sectors - list;
        if blocks * HASH_BYTES + blocks.div_ceil(BLOCKS_PER_MARK) * LINE <= list * SECTOR_BYTES {
            return blocks * BLOCK_BYTES;
        }
        list += 1;
    }
    0
}

impl<F: NorFlash> Store<F> {
    /// Takes this release into the slot whose flash this is. What is there of it already is kept.
    pub(super) fn new(flash: F, slot: Slot, release: Release) -> Result<Self, StoreError<F::Error>> {
        if release.size == 0 || release.size > image_bytes(flash.capacity() as u32) {
            return Err(StoreError::Size);
        }
        Ok(Self { flash, slot, release, stage: Stage::Look })
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        let (section, offset, end) = match self.stage {
            Stage::Look | Stage::Clear | Stage::Hash(..) => return Next::Work,
            Stage::Whole => return Next::Whole,
            Stage::List(at) => (Section::List, at, self.list_bytes()),
            Stage::Image(at) => (Section::Image, at, self.release.size),
        };
        Next::Piece(Piece { section, offset, length: PIECE_BYTES.min(end - offset) })
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
                let end = self.slot_bytes();
                self.erase(end - SECTOR_BYTES)?;
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
    pub fn take(&mut self, section: Section, offset: u32, bytes: &[u8]) -> Result<(), StoreError<F::Error>> {
        let piece = Piece { section, offset, length: bytes.len() as u32 };
        if self.next() != Next::Piece(piece) {
            return Err(StoreError::Unasked);
        }
        match section {
            Section::List => {
                // Unless the whole list is right, nothing of it counts.
                self.stage = Stage::Clear;
                self.take_list(offset, bytes)
            }
            Section::Image => {
                // Unless the piece is right, its block is written again.
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
        let at = self.list_at() + offset;
        // The last sector was erased with the marks, before anything else of the list.
        if at.is_multiple_of(SECTOR_BYTES) && at + SECTOR_BYTES != self.slot_bytes() {
            self.erase(at)?;
        }
        self.put(at, bytes)?;
        let done = offset + bytes.len() as u32;
        if done < self.list_bytes() {
            self.stage = Stage::List(done);
        } else if self.list_is_whole()? {
            self.stage = Stage::Image(0);
        } else {
            return Err(StoreError::Wrong(Section::List));
        }
        Ok(())
    }

    fn take_image(&mut self, offset: u32, bytes: &[u8]) -> Result<(), StoreError<F::Error>> {
        if offset.is_multiple_of(BLOCK_BYTES) {
            self.erase(offset)?;
        }
        self.put(offset, bytes)?;
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
        self.hash(&mut hasher, block * BLOCK_BYTES, end)?;
        let mut hash = [0; HASH_BYTES as usize];
        let entry = self.list_at() + block * HASH_BYTES;
        self.read(entry, &mut hash)?;
        if hasher.finalize()[..] != hash {
            return Err(StoreError::Wrong(Section::Image));
        }
        if (block + 1).is_multiple_of(BLOCKS_PER_MARK) || end == self.release.size {
            let mark = self.mark_at(block / BLOCKS_PER_MARK);
            self.put(mark, &MARK)?;
        }
        Ok(())
    }

    fn hash_image(&mut self, at: u32, mut hasher: Sha256) -> Result<(), StoreError<F::Error>> {
        let end = self.release.size.min(at + STEP_BYTES);
        self.hash(&mut hasher, at, end)?;
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
        let marks = self.release.size.div_ceil(BLOCK_BYTES).div_ceil(BLOCKS_PER_MARK);
        for mark in 0..marks {
            let mut line = [0xff; LINE_BYTES];
            let at = self.mark_at(mark);
            self.read(at, &mut line)?;
            // A mark was begun after its blocks were read back, so a torn one that reads whole tells no lie.
            if line != MARK {
                return Ok(mark * BLOCKS_PER_MARK * BLOCK_BYTES);
            }
        }
        Ok(self.release.size)
    }

    fn list_is_whole(&mut self) -> Result<bool, StoreError<F::Error>> {
        let (from, length) = (self.list_at(), self.list_bytes());
        let mut hasher = Sha256::new();
        self.hash(&mut hasher, from, from + length)?;
        Ok(hasher.finalize()[..] == self.release.blocks.0)
    }

    fn slot_bytes(&self) -> u32 {
        self.flash.capacity() as u32
    }

    fn list_at(&self) -> u32 {
        image_bytes(self.slot_bytes())
    }

    fn list_bytes(&self) -> u32 {
        self.release.size.div_ceil(BLOCK_BYTES) * HASH_BYTES
    }

    /// The marks stand from the end backwards.
    fn mark_at(&self, mark: u32) -> u32 {
        self.slot_bytes() - (mark + 1) * LINE
    }

    fn erase(&mut self, at: u32) -> Result<(), FlashError<F::Error>> {
        self.flash.erase(at, at + SECTOR_BYTES).map_err(FlashError::Flash)
    }

    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), FlashError<F::Error>> {
        self.flash.read(at, bytes).map_err(FlashError::Flash)
    }

    /// Writes to erased flash, filled up to whole lines, and reads it back.
    fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), FlashError<F::Error>> {
        let (lines, rest) = bytes.split_at(bytes.len() - bytes.len() % LINE_BYTES);
        self.flash.write(at, lines).map_err(FlashError::Flash)?;
        if !rest.is_empty() {
            let mut line = [0xff; LINE_BYTES];
            line[..rest.len()].copy_from_slice(rest);
            self.flash.write(at + lines.len() as u32, &line).map_err(FlashError::Flash)?;
        }
        let mut line = [0; LINE_BYTES];
        for (index, written) in bytes.chunks(LINE_BYTES).enumerate() {
            self.read(at + index as u32 * LINE, &mut line)?;
            if line[..written.len()] != *written {
                return Err(FlashError::NotStored);
            }
        }
        Ok(())
    }

    /// Hashes these bytes of the slot.
    fn hash(&mut self, hasher: &mut Sha256, from: u32, to: u32) -> Result<(), FlashError<F::Error>> {
        let mut chunk = [0; 256];
        let mut at = from;
        while at < to {
            let length = ((to - at) as usize).min(chunk.len());
            self.read(at, &mut chunk[..length.next_multiple_of(LINE_BYTES)])?;
            hasher.update(&chunk[..length]);
            at += length as u32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

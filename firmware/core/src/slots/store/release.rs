//! What is taken, in which pieces, and why it may not be.

use gatepost_link::{
    Digest,
    frame::Part,
    update::{FETCH_BYTES, Manifest},
};

use super::super::entry::Slot;
use crate::storage::flash::FlashError;

/// Bytes of the longest piece. Two make a block.
pub const PIECE_BYTES: u32 = FETCH_BYTES as u32;

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

impl From<&Manifest> for Release {
    fn from(manifest: &Manifest) -> Self {
        Self { size: manifest.size, image: manifest.image, blocks: manifest.blocks }
    }
}

/// A piece to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Of the list, which comes first, or of the image.
    pub part: Part,
    /// Where it begins there, in bytes.
    pub offset: u32,
    /// Its length, [`PIECE_BYTES`] at most.
    pub length: u32,
}

/// What a store needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A call of [`Store::work`](super::Store::work).
    Work,
    /// This piece, for [`Store::take`](super::Store::take).
    Piece(Piece),
    /// Nothing: [`Store::into_whole`](super::Store::into_whole).
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
    /// The piece is not the one that [`Store::next`](super::Store::next) names.
    Unasked,
    /// The hash of the list or of a block is another one. It is asked for again, a block with those since the last mark.
    Wrong(Part),
    /// Every block was right, but the image's hash is another one. All of it is asked for again.
    WrongImage,
}

impl<E> StoreError<E> {
    /// Whether going on with what [`Store::next`](super::Store::next) names may succeed. The caller counts, and gives up some time.
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
            Self::Wrong(Part::List) => "the list of blocks is not the one in the manifest; fetch it again",
            Self::Wrong(Part::Image) => "the block is not the one in the list; fetch it again",
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
    pub(in crate::slots) slot: Slot,
    pub(in crate::slots) image: Digest,
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

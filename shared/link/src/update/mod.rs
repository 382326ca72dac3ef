//! New firmware for a companion: who may sign it, what is signed, and how it travels.
//!
//! A release is signed away from the hub: the hub stores and passes on what it cannot make. Who may sign is said by a
//! [`root::Root`], which a device has from its factory and exchanges only for the next one, signed by enough keys of both. The
//! keys of a root sign manifests: [`manifest::Manifest`], [`signed::Signed`]. All of a release is one file, a
//! [`package::Package`], which the hub cuts into pieces on demand. What may be installed is judged by [`rule`], the same code on
//! the device, in the hub and in the program that signs.
//!
//! These layouts are of one length or bounded, and a device in the field checks them by what it knew when it left: they never
//! change; another layout would have another domain. Numbers are big-endian.
//!
//! Two roles of The Update Framework are here, root and targets (<https://theupdateframework.github.io/specification/latest/>).
//! There is no timestamp role: that a hub withholds updates is for people to see.

mod bytes;
pub mod image;
pub mod label;
pub mod manifest;
pub mod package;
pub mod root;
pub mod rule;
pub mod signed;
#[cfg(test)]
mod testing;

pub use self::{
    label::{Label, Version},
    manifest::Manifest,
    root::Root,
    signed::Signed,
};

/// Bytes of one block of an image, which is erased, written and verified at once; only the last may be shorter.
pub const BLOCK_BYTES: usize = 4096;
/// Bytes of a [`crate::frame::Down::Block`]; only the last of a part may be shorter.
pub const FETCH_BYTES: usize = 2048;
/// Bytes of a block's hash in the list.
pub const HASH_BYTES: usize = 32;
/// Bytes at the end of a slot that hold the list of the image's blocks while it is fetched.
pub const LIST_BYTES: usize = 4 * BLOCK_BYTES;
/// Most blocks of an image: as many as hashes fit [`LIST_BYTES`].
pub const MAX_BLOCKS: usize = LIST_BYTES / HASH_BYTES;

/// The list of an image's blocks: the hash of each, one after the other.
pub fn list(image: &[u8]) -> impl Iterator<Item = u8> {
    image.chunks(BLOCK_BYTES).flat_map(|block| crate::Digest::of(block).0)
}

/// The first bytes of an image's hash, by which frames and records name it.
pub type ImageId = [u8; 8];

/// The name of the image with this hash.
pub fn image_id(image: &crate::Digest) -> ImageId {
    let [a, b, c, d, e, f, g, h, ..] = image.0;
    [a, b, c, d, e, f, g, h]
}

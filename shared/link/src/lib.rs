//! What hub and companion say to each other.
//!
//! Everything here is `no_std` and free of allocation, so that the daemon and the firmware run the same code:
//!
//! - [`document`]: the approval document, the bytes that are shown, hashed and signed;
//! - [`decision`]: a person's verdict on one document, signed by the companion's key;
//! - [`session`]: the hash that ties a decision to one connection, so that an old one cannot be replayed;
//! - [`frame`]: the messages on the wire, postcard behind a version byte, at most [`frame::MAX_FRAME`] bytes;
//! - [`topic`]: where on the broker they travel.
//!
//! Read [`document`] first. The broker is not trusted: nothing here relies on it to keep order, origin or content.
//! What it can still do today is read; sealing the link comes with pairing.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

pub mod decision;
pub mod document;
pub mod frame;
pub mod pairing;
pub mod seal;
pub mod session;
pub mod topic;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The SHA-256 of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl core::fmt::Debug for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

/// Lower-case hexadecimal.
impl core::fmt::Display for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// Names one request for approval. Drawn at random by the hub; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestId(pub [u8; 16]);

impl core::fmt::Debug for RequestId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

/// Lower-case hexadecimal.
impl core::fmt::Display for RequestId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

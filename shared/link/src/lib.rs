//! The protocol between hub and companion.
//!
//! Everything here is `no_std`, so that the daemon and the firmware run the same code. Only the handshakes allocate:
//!
//! - [`document`]: the approval document, the bytes that are shown, hashed and signed;
//! - [`decision`]: a person's verdict on one document, signed by the companion's key;
//! - [`frame`]: what both say within a session;
//! - [`update`]: the signed description of new firmware;
//! - [`session`]: sealed sessions, and the hash that ties a decision to one of them;
//! - [`pairing`]: how hub and companion come to know each other's keys;
//! - [`seal`]: keys for both, and where randomness comes from;
//! - [`envelope`]: what the broker carries of it, at most [`envelope::MAX_FRAME`] bytes behind a version byte;
//! - [`topic`]: the topics on the broker.
//!
//! Read [`document`] first. The broker is not trusted: it, and anybody connected to it, can delay and drop messages, but
//! cannot read them, nor change, repeat or reorder them unnoticed.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod decision;
pub mod document;
pub mod envelope;
pub mod frame;
pub mod pairing;
pub mod seal;
pub mod session;
#[cfg(test)]
mod testing;
pub mod topic;
pub mod update;
#[cfg(test)]
mod wire_format;

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

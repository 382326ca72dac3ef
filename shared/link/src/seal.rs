//! Sealed sessions between a hub and a device.

use serde::{Deserialize, Serialize};

/// Random bytes fit for keys, such as a board's hardware generator gives.
pub trait Random {
    /// Fills `bytes` with bytes that nobody can guess.
    fn fill(&mut self, bytes: &mut [u8]);
}

/// A public X25519 key, of a hub or of a device: what sessions with it are sealed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SealKey(pub [u8; 32]);

/// A secret X25519 key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealSecret(pub [u8; 32]);

/// Never the key itself.
impl core::fmt::Debug for SealSecret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SealSecret(***)")
    }
}

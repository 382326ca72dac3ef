//! The session hash: both sides' fresh nonces and both keys.
//!
//! A decision names its session, so one that was recorded in an earlier session is worth nothing in this one. When the
//! link is sealed, the handshake's own hash takes this place.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::decision::PublicKey;

const DOMAIN: &[u8] = b"gatepost/session/1";

/// Sixteen bytes, drawn at random by one side for one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nonce(pub [u8; 16]);

impl Nonce {
    /// The nonce of the next session, for a device that has no randomness at hand: nobody has seen it before, and the
    /// hub's half is random again.
    pub fn next(self) -> Self {
        let mut hash = Sha256::new_with_prefix(b"gatepost/nonce/1");
        hash.update(self.0);
        let digest: [u8; 32] = hash.finalize().into();
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&digest[..16]);
        Self(nonce)
    }
}

/// Identifies one session between one hub and one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHash(pub [u8; 32]);

impl SessionHash {
    /// The hash that both sides compute once each knows the other's nonce.
    pub fn new(hub: PublicKey, device: PublicKey, device_nonce: Nonce, hub_nonce: Nonce) -> Self {
        let mut hash = Sha256::new();
        for field in [DOMAIN, &hub.0, &device.0, &device_nonce.0, &hub_nonce.0] {
            hash.update(field);
        }
        Self(hash.finalize().into())
    }
}

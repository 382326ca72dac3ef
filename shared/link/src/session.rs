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

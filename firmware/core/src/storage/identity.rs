//! Who a device is, and the hub that it is paired with.

use gatepost_link::{
    decision::PublicKey,
    seal::{Random, SealKey, SealSecret},
};
use heapless::String;
use serde::{Deserialize, Serialize};

/// Bytes of the longest user name and of the longest password at a broker.
pub const MAX_LOGIN: usize = gatepost_link::pairing::MAX_LOGIN;

/// A device's two secret keys. They are made at its first start, and new ones when it forgets a hub.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// The seed of the Ed25519 key with which it signs; the device is identified by the public key.
    pub sign: [u8; 32],
    /// The X25519 secret with which it opens sessions.
    pub seal: SealSecret,
}

impl Keys {
    /// New keys.
    pub fn generate(random: &mut impl Random) -> Self {
        let (mut sign, mut seal) = ([0; 32], [0; 32]);
        random.fill(&mut sign);
        random.fill(&mut seal);
        Self { sign, seal: SealSecret(seal) }
    }
}

/// Hides the keys.
impl core::fmt::Debug for Keys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Keys(***)")
    }
}

/// What a device keeps of the hub that it is paired with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    /// The hub's signing key, which identifies it.
    pub hub: PublicKey,
    /// The hub's key for sessions.
    pub seal: SealKey,
    /// The device's own user name at the broker.
    pub user: String<MAX_LOGIN>,
    /// Its password.
    pub password: String<MAX_LOGIN>,
    /// The highest version of the link that this hub has used. Lower versions are no longer accepted from it.
    pub version: u8,
}

/// Hides the password.
impl core::fmt::Debug for Bond {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Bond")
            .field("hub", &self.hub)
            .field("seal", &self.seal)
            .field("user", &self.user)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;
    use crate::storage::network::Network;

    #[test]
    fn secrets_are_not_printed() {
        let keys = Keys { sign: [0xab; 32], seal: SealSecret([0xab; 32]) };
        let bond = Bond {
            hub: PublicKey([1; 32]),
            seal: SealKey([2; 32]),
            user: "device".try_into().unwrap(),
            password: "tiger".try_into().unwrap(),
            version: 3,
        };
        let network = Network {
            ssid: "home".try_into().unwrap(),
            password: "tiger".try_into().unwrap(),
            host: "hub.home".try_into().unwrap(),
            port: 1883,
        };
        let said = format!("{keys:?} {:?} {bond:?} {network:?}", keys.seal);
        assert!(!said.contains("171") && !said.contains("ab") && !said.contains("tiger"), "{said}");
    }
}

//! What a device keeps over a loss of power: who it is, whom it answers, how it gets there, and its counter.
//!
//! The promise that every implementation must keep: a call that returns `Ok` is on the medium, read back and in whole,
//! and a power cut at any moment leaves what was there before or what was being written, never nothing. What is damaged
//! is an error and not [`None`]: a device that made itself new keys would be a stranger to its hub, and one that forgot
//! its counter would repeat one.

use gatepost_link::{
    decision::PublicKey,
    seal::{Random, SealKey, SealSecret},
};
use heapless::String;
use serde::{Deserialize, Serialize};

use crate::Counter;

/// The longest user name and the longest password at a broker, in bytes.
pub const MAX_LOGIN: usize = gatepost_link::pairing::MAX_LOGIN;
/// The longest name of a wireless network, in bytes: IEEE 802.11's bound.
pub const MAX_SSID: usize = 32;
/// The longest password of a wireless network, in bytes: WPA's bound.
pub const MAX_PASSPHRASE: usize = 64;
/// The shortest that a protected network takes, in bytes: WPA's bound.
pub const MIN_PASSPHRASE: usize = 8;
/// The longest host name of a hub, in bytes.
pub const MAX_HOST: usize = 64;

/// Where a device keeps what outlives a loss of power. [`Counter::reserve`] is part of it.
pub trait Storage: Counter {
    /// The device's keys; [`None`] only where none were ever stored.
    fn load_keys(&mut self) -> Result<Option<Keys>, Self::Error>;

    /// Stores the keys of a new device, or of one that forgets its hub, in place of those before. The counter goes on: a
    /// power cut may leave the keys before.
    fn store_keys(&mut self, keys: &Keys) -> Result<(), Self::Error>;

    /// The hub that the device is paired with; [`None`] only where it is paired with none.
    fn load_bond(&mut self) -> Result<Option<Bond>, Self::Error>;

    /// Stores a bond in place of the one before.
    fn store_bond(&mut self, bond: &Bond) -> Result<(), Self::Error>;

    /// Forgets the bond; keys and counter stay.
    fn wipe_bond(&mut self) -> Result<(), Self::Error>;

    /// The network to join; [`None`] before the device was set up.
    fn load_network(&mut self) -> Result<Option<Network>, Self::Error>;

    /// Stores a network in place of the one before.
    fn store_network(&mut self, network: &Network) -> Result<(), Self::Error>;
}

/// A device's two secret keys: made at its first start, and anew when it forgets a hub.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// The seed of the Ed25519 key with which it signs: its identity.
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

/// Never the keys themselves.
impl core::fmt::Debug for Keys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Keys(***)")
    }
}

/// What a device keeps of the hub that it is paired with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    /// The hub's signing key: who it is.
    pub hub: PublicKey,
    /// The hub's key for sessions.
    pub seal: SealKey,
    /// The device's own user name at the broker.
    pub user: String<MAX_LOGIN>,
    /// Its password.
    pub password: String<MAX_LOGIN>,
    /// The highest version of the link that this hub has spoken: none below is taken from it any more.
    pub version: u8,
}

/// Without the password.
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

/// How a device gets to its hub's broker.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The wireless network's name.
    pub ssid: String<MAX_SSID>,
    /// Its password; empty where it is open.
    pub password: String<MAX_PASSPHRASE>,
    /// The broker's host name or address.
    pub host: String<MAX_HOST>,
    /// The broker's port.
    pub port: u16,
}

/// Where a hub's broker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hub {
    /// Host name or address.
    pub host: String<MAX_HOST>,
    /// Port.
    pub port: u16,
}

impl core::fmt::Display for Hub {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// What a device asks of a wireless network before it joins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Nothing.
    Open,
    /// WPA2 with the network's password at the least: one of the same name without protection is not joined.
    Wpa2,
}

impl Network {
    /// Where the hub is, if anybody has said so.
    pub fn hub(&self) -> Option<Hub> {
        (!self.host.is_empty()).then(|| Hub { host: self.host.clone(), port: self.port })
    }

    /// What is asked of it. [`None`] where no protected network could have such a password.
    pub fn security(&self) -> Option<Security> {
        match self.password.len() {
            0 => Some(Security::Open),
            MIN_PASSPHRASE.. => Some(Security::Wpa2),
            _ => None,
        }
    }
}

/// Without the password.
impl core::fmt::Debug for Network {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Network")
            .field("ssid", &self.ssid)
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

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

    #[test]
    fn there_is_a_hub_only_where_somebody_has_named_one() {
        let (ssid, password) = ("home".try_into().unwrap(), String::new());
        let mut network = Network { ssid, password, host: String::new(), port: 1883 };
        assert_eq!(network.hub(), None);
        network.host = "hub.home".try_into().unwrap();
        assert_eq!(format!("{}", network.hub().unwrap()), "hub.home:1883");
    }

    #[test]
    fn a_network_with_a_password_is_never_joined_without_protection() {
        let security = |password: &str| {
            let password = password.try_into().unwrap();
            Network { ssid: "home".try_into().unwrap(), password, host: String::new(), port: 0 }.security()
        };
        assert_eq!(security(""), Some(Security::Open));
        assert_eq!(security("tiger"), None);
        assert_eq!(security("12345678"), Some(Security::Wpa2));
        assert_eq!(security(&"f".repeat(MAX_PASSPHRASE)), Some(Security::Wpa2));
    }
}

//! A companion that is made on the hub's own machine, together with its hub: the two are told of each other without the network
//! between, so that there is no number to compare.
//!
//! It is software, and marked as such: whoever can read its keys can approve, and a hub takes its decisions only if its owner says so.

use ed25519_dalek::SigningKey;
use gatepost_companion::{Bond, Keys};
use gatepost_link::{Digest, decision::PublicKey, envelope::VERSION, seal::SealKey};

use super::logins;
use crate::approval::device::Device;

/// Both halves of such a pairing.
#[derive(Debug)]
pub struct Introduced {
    /// What the hub's register gets.
    pub device: Device,
    password: String,
}

impl Introduced {
    /// A companion with these keys, of this name.
    pub fn new(keys: &Keys, name: &str) -> Self {
        let password = crate::random::hex::<16>();
        let device = Device {
            key: PublicKey(SigningKey::from_bytes(&keys.sign).verifying_key().to_bytes()),
            seal: keys.seal.public(),
            name: name.into(),
            software: true,
            login: Some(Digest::of(password.as_bytes())),
            version: VERSION,
        };
        Self { device, password }
    }

    /// What the companion keeps of a hub with these keys.
    pub fn bond(&self, hub: PublicKey, seal: SealKey) -> Bond {
        let login = |text: &str| text.try_into().expect("short enough for any login");
        Bond {
            hub,
            seal,
            user: login(logins::user(self.device.key).as_str()),
            password: login(&self.password),
            version: VERSION,
        }
    }
}

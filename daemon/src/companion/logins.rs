//! Who may connect to the embedded broker, and by what word.
//!
//! The hub by a secret of this start, each companion by its own, of which the hub keeps a hash. Nobody else, but for the
//! minutes in which a companion is being paired: then a device without a login may come as [`PAIRING_USER`]. What any of
//! them says there is worth nothing by itself.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gatepost_link::{Digest, decision::PublicKey, pairing::PAIRING_USER, topic};

use crate::{approval::device::Device, settings::secret::Secret};

/// A handle on the logins. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Logins(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    fixed: HashMap<String, Digest>,
    devices: HashMap<String, Digest>,
    pairing: bool,
}

/// A companion's user name.
pub fn user(device: PublicKey) -> String {
    format!("device-{}", topic::name(device))
}

impl Logins {
    /// Whoever has this secret may connect by this name for as long as the hub runs.
    pub fn fix(&self, user: &str, secret: &Secret) {
        self.known().fixed.insert(user.to_owned(), Digest::of(secret.expose().as_bytes()));
    }

    /// These are the companions that may connect.
    pub(super) fn set(&self, devices: &[Device]) {
        let logins = devices.iter().filter_map(|device| Some((user(device.key), device.login?)));
        self.known().devices = logins.collect();
    }

    /// Whether a device without a login may connect.
    pub(super) fn pairing(&self, open: bool) {
        self.known().pairing = open;
    }

    /// Whether this user may connect with this password.
    pub(super) fn admit(&self, user: &str, password: &str) -> bool {
        let known = self.known();
        match known.fixed.get(user).or_else(|| known.devices.get(user)) {
            // Hashes: how long a comparison takes tells nothing about the password.
            Some(hash) => *hash == Digest::of(password.as_bytes()),
            None => known.pairing && user == PAIRING_USER && password.is_empty(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::seal::SealKey;

    use super::*;

    #[test]
    fn each_comes_by_its_own_word_and_a_stranger_only_while_somebody_pairs() {
        let logins = Logins::default();
        logins.fix("hub", &Secret::from("the hub's"));
        let device = Device {
            key: PublicKey([1; 32]),
            seal: SealKey([1; 32]),
            name: "shelf".into(),
            software: false,
            login: Some(Digest::of(b"its own")),
            version: 3,
        };
        let without = Device { key: PublicKey([2; 32]), login: None, ..device.clone() };
        logins.set(&[device.clone(), without.clone()]);
        assert!(logins.admit("hub", "the hub's") && logins.admit(&user(device.key), "its own"));
        for (name, word) in [
            ("hub", ""),
            ("hub", "its own"),
            (&user(device.key), "the hub's"),
            (&user(device.key), ""),
            (&user(without.key), ""),
            ("pairing", ""),
            ("", ""),
        ] {
            assert!(!logins.admit(name, word), "{name} {word}");
        }
        logins.pairing(true);
        assert!(logins.admit("pairing", "") && !logins.admit("pairing", "x") && !logins.admit("", ""));
        logins.pairing(false);
        logins.set(&[]);
        assert!(!logins.admit("pairing", "") && !logins.admit(&user(device.key), "its own"));
        assert!(logins.admit("hub", "the hub's"));
    }
}

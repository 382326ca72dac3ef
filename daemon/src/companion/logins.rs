//! Who may connect to the embedded broker, and by what word.
//!
//! The hub by a secret of this start, each companion by its own, of which the hub keeps a hash. Nobody else, but for the
//! minutes in which a companion is being paired: then a device without a login may come as [`PAIRING_USER`]. What any of
//! them says there is worth nothing by itself.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gatepost_link::{
    Digest,
    decision::PublicKey,
    pairing::PAIRING_USER,
    topic::{self, Topics},
};
use tokio::sync::watch;

use super::broker::access::Access;
use crate::{approval::device::Device, settings::secret::Secret};

/// A handle on the logins. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Logins(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    /// How often they have changed: who is connected may have to leave.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Known {
    fixed: HashMap<String, Digest>,
    devices: HashMap<String, (Digest, Arc<Topics>)>,
    pairing: bool,
}

/// A login that was admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Login {
    /// The user name.
    pub(super) user: String,
    password: Digest,
    /// What it may hear and say.
    pub(super) access: Access,
}

/// A companion's user name.
pub fn user(device: PublicKey) -> String {
    format!("device-{}", topic::name(device))
}

impl Logins {
    /// Whoever has this secret may connect by this name for as long as the hub runs, and hear and say everything.
    pub fn fix(&self, user: &str, secret: &Secret) {
        self.known().fixed.insert(user.to_owned(), Digest::of(secret.expose().as_bytes()));
    }

    /// These are the companions of this hub that may connect.
    pub(super) fn set(&self, hub: PublicKey, devices: &[Device]) {
        let logins = devices.iter().filter_map(|device| {
            let topics = Arc::new(Topics::new(hub, device.key));
            Some((user(device.key), (device.login?, topics)))
        });
        self.known().devices = logins.collect();
        self.tell();
    }

    /// Whether a device without a login may connect.
    pub(super) fn pairing(&self, open: bool) {
        self.known().pairing = open;
        self.tell();
    }

    /// The login of this user with this password, if they may connect.
    pub(super) fn admit(&self, user: &str, password: &str) -> Option<Login> {
        let password = Digest::of(password.as_bytes());
        let access = self.access(user, password)?;
        Some(Login { user: user.to_owned(), password, access })
    }

    /// Whether a login that was admitted still would be.
    pub(super) fn stands(&self, login: &Login) -> bool {
        self.access(&login.user, login.password).as_ref() == Some(&login.access)
    }

    /// Says when logins have changed.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    fn access(&self, user: &str, password: Digest) -> Option<Access> {
        let known = self.known();
        // Hashes: how long a comparison takes tells nothing about the password.
        if let Some(hash) = known.fixed.get(user) {
            return (*hash == password).then_some(Access::Everything);
        }
        if let Some((hash, topics)) = known.devices.get(user) {
            return (*hash == password).then(|| Access::Device(Arc::clone(topics)));
        }
        let stranger = known.pairing && user == PAIRING_USER && password == Digest::of(b"");
        stranger.then_some(Access::Stranger)
    }

    fn tell(&self) {
        self.0.changed.send_modify(|changed| *changed += 1);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
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
        let hub = PublicKey([9; 32]);
        logins.set(hub, &[device.clone(), without.clone()]);
        let access = |user: &str, word: &str| logins.admit(user, word).map(|login| login.access);
        assert_eq!(access("hub", "the hub's"), Some(Access::Everything));
        let own = logins.admit(&user(device.key), "its own").unwrap();
        assert_eq!(own.access, Access::Device(Arc::new(Topics::new(hub, device.key))));
        for (name, word) in [
            ("hub", ""),
            ("hub", "its own"),
            (&user(device.key), "the hub's"),
            (&user(device.key), ""),
            (&user(without.key), ""),
            ("pairing", ""),
            ("", ""),
        ] {
            assert_eq!(access(name, word), None, "{name} {word}");
        }
        logins.pairing(true);
        let stranger = logins.admit("pairing", "").unwrap();
        assert_eq!(stranger.access, Access::Stranger);
        assert!(access("pairing", "x").is_none() && access("", "").is_none());
        let changes = logins.changes();
        logins.pairing(false);
        assert!(changes.has_changed().unwrap() && !logins.stands(&stranger) && logins.stands(&own));
        logins.set(hub, &[Device { login: Some(Digest::of(b"another")), ..device.clone() }]);
        assert!(!logins.stands(&own), "it was paired anew");
        logins.set(hub, &[]);
        assert!(access("pairing", "").is_none() && access(&user(device.key), "its own").is_none());
        assert!(access("hub", "the hub's").is_some());
    }
}

//! The network of a device, and where its hub's broker is.

use heapless::String;
use serde::{Deserialize, Serialize};

/// Bytes of the longest name of a wireless network (IEEE 802.11).
pub const MAX_SSID: usize = 32;
/// Bytes of the longest password of a wireless network (WPA).
pub const MAX_PASSPHRASE: usize = 64;
/// Bytes of the shortest password of a protected network (WPA).
pub const MIN_PASSPHRASE: usize = 8;
/// Bytes of the longest host name of a hub.
pub const MAX_HOST: usize = 64;

/// How a device reaches its hub's broker.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The wireless network's name.
    pub ssid: String<MAX_SSID>,
    /// Its password; empty if it is open.
    pub password: String<MAX_PASSPHRASE>,
    /// The broker's host name or address; empty until it was set up.
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

/// The least protection with which a device joins a wireless network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// None.
    Open,
    /// WPA2 with the network's password. A network of the same name with less protection is not joined.
    Wpa2,
}

impl Network {
    /// Where the hub is, if it was set up.
    pub fn hub(&self) -> Option<Hub> {
        (!self.host.is_empty()).then(|| Hub { host: self.host.clone(), port: self.port })
    }

    /// The protection that it must have; [`None`] if no protected network can have such a password.
    pub fn security(&self) -> Option<Security> {
        match self.password.len() {
            0 => Some(Security::Open),
            MIN_PASSPHRASE.. => Some(Security::Wpa2),
            _ => None,
        }
    }
}

/// Hides the password.
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
    fn there_is_a_hub_only_if_it_was_set_up() {
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

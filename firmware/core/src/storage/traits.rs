//! What every storage of a device must offer.
//!
//! The promise: when a call returns `Ok`, the value is on the medium in full and was read back. A power cut at any moment
//! leaves the old value or the new one, never nothing. Damage is an error and not [`None`]: a device that made itself new
//! keys would be a stranger to its hub, and one that lost its counter would use a value twice.

use super::{
    identity::{Bond, Keys},
    network::Network,
};

/// The device's counter, in storage that survives a loss of power.
pub trait Counter {
    /// Why a value could not be stored.
    type Error;

    /// Reserves the next value. It is on the medium before this returns, and no value is ever returned twice.
    fn reserve(&mut self) -> Result<u64, Self::Error>;
}

/// Where a device keeps everything that survives a loss of power, its counter included.
pub trait Storage: Counter {
    /// The device's keys; [`None`] only if none were ever stored.
    fn load_keys(&mut self) -> Result<Option<Keys>, Self::Error>;

    /// Replaces the keys, for a new device or one that forgets its hub. The counter continues, because a power cut may leave
    /// the old keys.
    fn store_keys(&mut self, keys: &Keys) -> Result<(), Self::Error>;

    /// The bond with the device's hub; [`None`] only if it is not paired.
    fn load_bond(&mut self) -> Result<Option<Bond>, Self::Error>;

    /// Replaces the bond.
    fn store_bond(&mut self, bond: &Bond) -> Result<(), Self::Error>;

    /// Removes the bond. Keys and counter stay.
    fn wipe_bond(&mut self) -> Result<(), Self::Error>;

    /// The network to join; [`None`] before the device was set up.
    fn load_network(&mut self) -> Result<Option<Network>, Self::Error>;

    /// Replaces the network.
    fn store_network(&mut self, network: &Network) -> Result<(), Self::Error>;
}

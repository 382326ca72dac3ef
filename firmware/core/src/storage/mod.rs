//! What a device keeps when the power is lost: who it is, its hub, its network, and its counter.
//!
//! - [`traits`]: [`Storage`] and [`Counter`], and the promise that every implementation keeps; read it first;
//! - [`identity`]: the device's keys, and its bond with a hub;
//! - [`network`]: its wireless network, and where the hub's broker is;
//! - [`flash`]: all of it in a flash.

pub mod flash;
pub mod identity;
pub mod network;
pub mod traits;

pub use identity::{Bond, Keys, MAX_LOGIN};
pub use network::{Hub, MAX_HOST, MAX_PASSPHRASE, MAX_SSID, MIN_PASSPHRASE, Network, Security};
pub use traits::{Counter, Storage};

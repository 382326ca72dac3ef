//! The device's network: how it is set up, how it is joined, and the broker in it.
//!
//! - [`setup`]: how the device is told its network and its hub, over the serial line;
//! - [`wifi`]: the wireless network, joined whenever it is known;
//! - [`radio`]: what the two ask of each other;
//! - [`mqtt`]: one connection to the broker.

pub mod mqtt;
pub mod radio;
pub mod setup;
pub mod wifi;

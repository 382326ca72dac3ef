//! Pairing a hub and a device.

/// The longest user name and the longest password that a hub gives a device for its broker, in bytes.
pub const MAX_LOGIN: usize = 64;

//! The device's link with its hub, over a broker that nobody trusts.
//!
//! - [`session`]: sealed sessions with the hub, read it first;
//! - [`pairing`]: how the device and a hub come to know each other;
//! - [`fetch`]: a document fetched piece by piece;
//! - [`outbound`]: the frames that wait to be sent;
//! - [`retry`]: when a frame without an answer is sent again;
//! - [`payload`]: what the device publishes.

pub mod fetch;
pub mod outbound;
pub mod pairing;
pub mod payload;
pub mod retry;
pub mod session;

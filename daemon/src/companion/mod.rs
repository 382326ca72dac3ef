//! The companions' side of the hub: the broker they meet at, and the sessions with them.
//!
//! - [`broker`]: the embedded MQTT broker, or the address of one that somebody runs, and [`tls`] to that one;
//! - [`sealed`]: one companion's sealed sessions, without I/O: payloads in, frames out;
//! - [`session`]: what is said in them, and `outdated`: what companions with older firmware are told;
//! - [`link`]: the hub's connection to the broker, and the loop that joins sessions and approvals;
//! - [`pairing`]: how a new one is taken in, without I/O, and [`logins`]: who may connect to the embedded broker;
//! - [`introduced`]: one that is made on the hub's own machine;
//! - [`register`]: what their owner does to them.

pub mod broker;
pub(crate) mod connection;
pub mod introduced;
pub mod link;
pub mod logins;
mod outdated;
pub mod pairing;
pub mod register;
pub mod sealed;
pub mod session;
#[cfg(test)]
mod testing;
pub mod tls;

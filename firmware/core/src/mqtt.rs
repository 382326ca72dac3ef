//! The device at an MQTT broker: one connection after the other, for ever.
//!
//! MQTT 3.1.1, because the hub's own broker speaks that and nothing later, and every other broker does too. Only what
//! a companion needs: a login, a last will, one subscription; QoS 1 for what the broker itself acts on, QoS 0 for frames, which
//! hub and companion number themselves. Nothing is kept from one connection to
//! the next: what matters is said again by the application, and what a broker kept for an earlier session would be
//! void in this one. The broker is not trusted with anything, its packets may be any bytes.
//!
//! - [`run`](run()): connects, serves, waits and connects again; read it first;
//! - [`client`]: one connection;
//! - [`inbox`], [`packet`]: bytes as packets, without I/O;
//! - [`pause`]: how long to wait before the next attempt.

pub mod client;
pub mod inbox;
pub mod packet;
pub mod pause;
mod run;

pub use client::MqttError;
pub use run::{Board, Connector, HANG_UPS, KEEP_ALIVE, Note, PATIENCE, Peer, run};

//! The device's connection to an MQTT broker.
//!
//! MQTT 3.1.1, because the hub's own broker speaks nothing later, and every other broker speaks it too. Only what a
//! companion needs: a login, a last will, one subscription; QoS 1 for messages to the broker itself, QoS 0 for frames,
//! which hub and companion number themselves. No state is kept between connections: the application repeats what matters,
//! and whatever a broker kept for an earlier session would be void. The broker is not trusted; its packets may be any
//! bytes.
//!
//! - [`client`]: one connection, read it first;
//! - [`inbox`], [`packet`]: bytes as packets, without I/O;
//! - [`access`]: who the device is at the broker, and its topics;
//! - [`backoff`]: how long to wait before the next attempt.

pub mod access;
pub mod backoff;
pub mod client;
pub mod inbox;
pub mod packet;

pub use access::Access;
pub use client::MqttError;

//! The device's connection to an MQTT broker.
//!
//! MQTT 3.1.1, because the hub's own broker speaks nothing later, and every other broker speaks it too. Only what a
//! companion needs: a login, a last will, one subscription; QoS 1 for messages to the broker itself, QoS 0 for frames,
//! which hub and companion number themselves. No state is kept between connections: the application repeats what matters,
//! and whatever a broker kept for an earlier session would be void. The broker is not trusted; its packets may be any
//! bytes.
//!
//! No kept crate without an allocator speaks 3.1.1: `minimq` 0.13.5 and `rust-mqtt` 0.6.0 (whose feature `v3` is empty) are for MQTT 5
//! alone, which the hub's broker does not accept. Apart from that, `rust-mqtt` ends the connection at a packet that is too large, so that
//! anybody who may publish could end it, while [`inbox`] skips that packet; and its `poll_body` must not be cancelled, while a
//! button ends every wait of the companion's loop. Ours can be cancelled whenever it reads.
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

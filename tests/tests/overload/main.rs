//! The hub under the worst minute that somebody who reaches it can make: its memory is bounded and given back, others are
//! served meanwhile, and its log and its metrics say what happens. With 1,024 descriptors.
//!
//! - [`broker`]: clients of the embedded broker: strangers in a pairing window, and a companion's login in hostile hands;
//! - [`http`]: connections to the HTTP interface: without a token, and with a valid one;
//! - [`platform`]: notifications that no platform has sent;
//! - [`stage`]: the hub, who is served meanwhile, and what is measured.
//!
//! Each attack lasts some seconds, or as many as `OVERLOAD_SECONDS` says; the bounds are the same.

mod broker;
mod http;
mod mqtt;
mod platform;
mod stage;

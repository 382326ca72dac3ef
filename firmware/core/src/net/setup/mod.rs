//! First-time set-up over the serial line.
//!
//! - [`provisioning`]: what the device answers, without I/O, read it first;
//! - [`packet`]: packets of Improv Wi-Fi, from web installers and other tools;
//! - [`line`]: lines that a person types;
//! - [`lines`]: two serial lines as one;
//! - [`serve`](mod@serve): connects it with a board's serial line and radio.

pub mod line;
pub mod lines;
pub mod packet;
pub mod provisioning;
pub mod serve;

pub use provisioning::{About, SetUp};

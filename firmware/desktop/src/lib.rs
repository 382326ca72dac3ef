//! The companion on the developer's own machine: the same application as on the ESP32, with a terminal for a screen
//! and two keys for buttons.
//!
//! - [`link`]: runs the application at the broker, read it first; `connection`: one connection;
//! - [`store`]: its storage, in memory or in files, and [`vault`]: files sealed with a passphrase;
//! - [`keys`]: key events as button edges;
//! - [`terminal`]: the screen in a terminal; [`keyboard`]: its keys; [`prompt`]: a line that is typed without being shown;
//! - [`person`]: a scripted person, for unattended demos and tests.
//!
//! Nothing here decides anything: `gatepost_companion` decides what a press means. A hub marks such a companion as
//! software, and accepts it outside the demo only if its owner allows it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod connection;
pub mod keyboard;
pub mod keys;
pub mod link;
pub mod person;
pub mod prompt;
pub mod store;
pub mod terminal;
pub mod vault;

pub use link::{Companion, Contact, Display, Settings};
pub use store::{Store, StoreError};

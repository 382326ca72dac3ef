//! The companion on the developer's own machine: the same application as on the ESP32, with a terminal for a screen
//! and two keys for buttons.
//!
//! - [`link`]: connects to the broker and runs the application, read it first;
//! - [`store`]: what it keeps, in memory or in files, and [`vault`]: how those lie under a passphrase;
//! - [`keys`]: key events as button edges;
//! - [`terminal`]: the screen in place, lines above it, the terminal as it was before, and [`prompt`]: what is typed there
//!   without being shown;
//! - [`person`]: a scripted person, for unattended demos and tests.
//!
//! Nothing here decides anything: what a press means is `gatepost_companion`'s business. A hub marks a companion like
//! this one as software and takes it for real only where its owner says so.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod keys;
pub mod link;
pub mod person;
pub mod prompt;
pub mod store;
pub mod terminal;
pub mod vault;

pub use link::{Companion, Contact, Display, Settings};
pub use store::{Store, StoreError};

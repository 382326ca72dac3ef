//! What an ESP32's parts need beside their maker's drivers, for the runner there. Nothing is decided here.
//!
//! - [`flash`]: the partitions, and which slot runs;
//! - [`light`]: the light that is on while a card waits;
//! - [`restart`]: what restarts the device: a panic, and firmware on trial that hangs.
#![no_std]
#![warn(missing_docs)]

pub mod flash;
pub mod light;
pub mod restart;

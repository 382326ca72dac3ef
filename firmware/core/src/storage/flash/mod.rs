//! The device's storage in any NOR flash with sectors of 4 KB: every value in two copies, read back after every write.
//!
//! A power cut at any instruction leaves each value as it was before or as it is after, and the counter never returns a
//! value twice. An earlier design that trusted a successful write lost a key after two torn writes; hence three rules. A
//! copy is erased only while the other one is known to be whole. Bytes that were being written during a power cut may read
//! differently every time, so a copy counts as whole only once it was read back and marked. Every call that returns a
//! value has repaired both copies before.
//!
//! - [`storage`]: everything that a device keeps, as [`Storage`](crate::Storage); read it first;
//! - [`record`]: a small value that is written seldom;
//! - [`counter`]: a number that only grows and is written often;
//! - [`region`]: the two sectors of one value;
//! - [`part`]: a part of a flash that others use too; [`blocks`]: a disk as a flash;
//! - [`memory`]: a flash in memory, for programs that write an image of it.
//!
//! Secrecy is left out on purpose: whoever holds the board can read its flash.

pub mod blocks;
pub mod counter;
pub mod memory;
pub mod part;
#[cfg(test)]
mod power_cut;
pub mod record;
pub mod region;
pub mod storage;

pub use region::{FlashError, LINE_BYTES, Region, SECTOR_BYTES};

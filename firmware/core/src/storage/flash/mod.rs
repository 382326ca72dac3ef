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
//! `sequential-storage` 8.0.2 (its map, in two sectors) was run on the simulated flash of these tests, with keys of
//! 97 bytes and a counter, and does not keep these rules:
//!
//! - it keeps one copy and ignores a damaged one: one changed byte, at 106 of 912 places, made the keys "never stored", so that the
//!   device would make itself new ones; at 17 places the counter gave a number again; a lost sector did both without an error;
//! - it does not read back: a flash that ignores writes got `Ok` for a value that was not there;
//! - a byte that was being written at a power cut may be read as whole now and not later: of 388 cuts, two made the counter repeat a
//!   number and one left it unusable; of 1,824 cuts, three let the new value be read and the old one afterwards;
//! - a removed value stays in the flash: the bond's password is still there after a wipe.
//!
//! What our layer would add on top to mend this (two copies, marks, reading back) is all that it consists of.
//!
//! Secrecy is left out on purpose: whoever holds the board can read its flash.

pub mod blocks;
pub mod counter;
pub mod memory;
pub mod part;
#[cfg(test)]
pub(crate) mod power_cut;
pub mod record;
pub mod region;
pub mod storage;

pub use region::{FlashError, LINE_BYTES, Region, SECTOR_BYTES};

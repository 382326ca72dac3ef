//! Signs releases of companion firmware.
//!
//! The formats, and the rule by which a device takes a release, are [`gatepost_link::update`]'s. Here they are made:
//!
//! - [`minisign`]: secret keys, public keys and signatures of files, as minisign has them;
//! - [`roots`]: who may sign, from one version to the next;
//! - [`image`]: whether an image is one that a board starts;
//! - [`release`]: a signed image in one file, with the roots that lead to its keys;
//! - [`date`]: the days on which both expire.
//!
//! Read [`release`] first. Nothing here reads a file, asks a question or opens a connection: the program `gatepost-sign` does
//! the first two. Hub and chores never link it outside their tests, as they never see a secret key.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod date;
pub mod image;
pub mod minisign;
#[cfg(test)]
mod outside;
pub mod release;
pub mod roots;

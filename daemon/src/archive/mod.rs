//! A backup for another machine: one file with the database, the files that it refers to and the configuration, and on request the
//! hub's keys and secrets.
//!
//! What goes into it is what a new card needs, and a reader believes nothing of it before it has read all: a backup is written
//! long before it is needed, and comes back over media that rot. So the last entry lists every other one with its size and its
//! SHA-256, a file that ends early has no such list, and names are a closed set, so that no archive writes where it likes.
//!
//! Format 1 is a tar archive (`ustar` of POSIX.1-1988, regular files alone, names of at most 100 bytes,
//! <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html>) with these entries, in this order:
//!
//! | name | is |
//! |---|---|
//! | `gatepost-backup` | the format: `gatepost backup, format 1` and a line end |
//! | `gatepost.db` | the database: a copy that says of itself that it is one |
//! | `files/SHA256` | a file that a row of the database refers to |
//! | `configuration/NAME` | the configuration; with keys also what its secrets are read from |
//! | `keys/NAME` | a key or token of the hub's |
//! | `manifest.json` | [`Manifest`] |
//!
//! One with keys is sealed under a passphrase as a whole, in the format of age ([`age`]): `age -d FILE | tar -t` lists it.
//!
//! - [`entry`]: the names; [`tar`]: the archive; [`age`]: the seal; [`manifest`]: the list;
//! - [`write`]: making one; [`configuration`]: which files belong to the configuration; [`unpack`]: reading one, into a folder;
//! - [`target`]: the file that it becomes, whole or not at all; [`source`]: what a file is.

mod age;
mod configuration;
mod entry;
mod error;
mod manifest;
mod source;
mod tar;
mod target;
mod unpack;
mod write;

pub use age::judge;
pub use configuration::Configuration;
pub use error::ArchiveError;
pub use manifest::{Listed, Manifest};
pub use source::{Kind, Source};
pub use target::{Target, WorkFile};
pub use unpack::{Unpacked, unpack};
pub use write::{Contents, write};

/// Opens and unpacks whatever bytes these are, for the fuzzer: neither may do more than refuse.
#[doc(hidden)]
pub fn read_anything(bytes: &[u8], into: &std::path::Path) -> bool {
    let sealed =
        age::Opener::cheap(bytes, "correct horse battery").is_ok_and(|opener| unpack(opener, into).is_ok());
    sealed || unpack(bytes, into).is_ok()
}

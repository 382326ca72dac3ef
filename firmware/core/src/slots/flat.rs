//! The image of an emulated board, which has no image format of its own: a header, and the program as it lies in memory.
//!
//! ```text
//! magic 8 | program's length u32 | version 3×u16 | trial u16, seconds | built u64 | flaw u8 | 0×3 | SHA-256 of all this and the program
//! ```
//!
//! Numbers are little-endian. What differs between two releases of one program stands in the header, so a
//! test makes as many releases as it needs of a program that was built once. It can also make one that fails: see [`Flaw`].

use gatepost_link::update::{
    Version,
    image::{FLAT_MAGIC, FLAT_VERSION_AT},
};
use sha2::{Digest as _, Sha256};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;
/// Most bytes of a program: as much as the board has for it.
pub const MAX_PROGRAM_BYTES: u32 = 1 << 20;
/// The hash's place in the header.
const HASHED_BYTES: usize = 32;

/// How a program fails on purpose, so that a test sees the way back to the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It does not.
    None,
    /// It hangs in `main`, once its start was counted.
    Hangs,
    /// It panics once the network has given it an address.
    Panics,
    /// It finds no network.
    NoNetwork,
    /// It does not find its display.
    NoDisplay,
}

impl Flaw {
    /// All, by their numbers in the header.
    pub const ALL: [Self; 5] = [Self::None, Self::Hangs, Self::Panics, Self::NoNetwork, Self::NoDisplay];
}

/// What an image says of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the program.
    pub length: u32,
    /// Its version.
    pub version: Version,
    /// After so many seconds of a trial that was not confirmed the board's watchdog resets.
    pub trial_s: u16,
    /// When it was built, in seconds since 1970, UTC.
    pub built: u64,
    /// How it fails.
    pub flaw: Flaw,
}

impl Header {
    /// What these bytes say; [`None`] if they begin no image, or one of a program that the board has no room for.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let short = |at| u16::from_le_bytes(*part(bytes, at));
        let header = Self {
            length: u32::from_le_bytes(*part(bytes, 8)),
            version: Version {
                major: short(FLAT_VERSION_AT),
                minor: short(FLAT_VERSION_AT + 2),
                patch: short(FLAT_VERSION_AT + 4),
            },
            trial_s: short(18),
            built: u64::from_le_bytes(*part(bytes, 20)),
            flaw: *Flaw::ALL.get(usize::from(bytes[28]))?,
        };
        let fits = (1..=MAX_PROGRAM_BYTES).contains(&header.length);
        (bytes.starts_with(&FLAT_MAGIC) && fits).then_some(header)
    }

    /// The header of this program. Its length is the program's, whatever is said here.
    pub fn to_bytes(self, program: &[u8]) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&FLAT_MAGIC);
        bytes[8..12].copy_from_slice(&(program.len() as u32).to_le_bytes());
        let Version { major, minor, patch } = self.version;
        let version = FLAT_VERSION_AT;
        let shorts = [(version, major), (version + 2, minor), (version + 4, patch), (18, self.trial_s)];
        for (at, short) in shorts {
            bytes[at..at + 2].copy_from_slice(&short.to_le_bytes());
        }
        bytes[20..28].copy_from_slice(&self.built.to_le_bytes());
        bytes[28] = self.flaw as u8;
        let hash = hash(&bytes, program);
        bytes[HASHED_BYTES..].copy_from_slice(&hash);
        bytes
    }
}

/// Whether this is the header of this program.
pub fn verifies(header: &[u8; HEADER_BYTES], program: &[u8]) -> bool {
    hash(header, program) == header[HASHED_BYTES..]
}

fn hash(header: &[u8; HEADER_BYTES], program: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(&header[..HASHED_BYTES]).chain_update(program).finalize().into()
}

fn part<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> &[u8; N] {
    bytes[at..].first_chunk().expect("every field lies within the header")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let version = Version { major: 1, minor: 2, patch: 300 };
        Header { length: 5, version, trial_s: 180, built: 1_790_000_000, flaw: Flaw::NoNetwork }
    }

    #[test]
    fn a_header_is_read_as_it_was_written_and_belongs_to_one_program() {
        let bytes = header().to_bytes(b"12345");
        assert_eq!(Header::from_bytes(&bytes), Some(header()));
        assert_eq!(gatepost_link::update::image::version(&bytes), Some(header().version));
        assert!(verifies(&bytes, b"12345") && !verifies(&bytes, b"12346"));
        for at in 0..HEADER_BYTES {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert!(!verifies(&changed, b"12345"), "byte {at}");
        }
    }

    #[test]
    fn what_is_no_image_or_too_large_has_no_header() {
        let bytes = header().to_bytes(b"12345");
        let with = |at: usize, byte: u8| {
            let mut changed = bytes;
            changed[at] = byte;
            Header::from_bytes(&changed)
        };
        assert_eq!((with(0, 0xff), with(28, 5), with(8, 0)), (None, None, None));
        assert_eq!((with(11, 1), Header::from_bytes(&[0xff; HEADER_BYTES])), (None, None));
    }
}

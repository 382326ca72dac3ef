//! What tests need: bytes as people read them, and randomness that is the same every time.

use std::{format, string::String, vec::Vec};

use crate::{Digest, seal::Random};

/// The bytes that `digits` stand for; white space is left out.
pub(crate) fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        digits.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The same, of a known length.
pub(crate) fn array<const N: usize>(digits: &str) -> [u8; N] {
    bytes(digits).try_into().unwrap()
}

/// Lines of 32 bytes each.
pub(crate) fn lines(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(32).map(line).collect()
}

/// Bytes that follow from a seed.
pub(crate) struct Seeded(pub(crate) u64);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            self.0 += 1 << 32;
            chunk.copy_from_slice(&Digest::of(&self.0.to_be_bytes()).0[..chunk.len()]);
        }
    }
}

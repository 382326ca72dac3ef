//! A file that stands as base64 in an answer of JSON, decoded as the answer comes: a file is not in memory as a whole.

use std::io;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Whole groups of four; what is left at the end may have its padding or not.
const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What stands before the file.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels) struct Head {
    /// Behind it the file begins.
    pub(in crate::channels) ends: &'static [u8],
    /// The longest, in bytes.
    pub(in crate::channels) most: usize,
    /// Whether white space in it counts for nothing.
    pub(in crate::channels) is_spaced: bool,
}

/// Why an answer has no file in it, or not a whole one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::channels) enum NoFile<'a> {
    /// This is no head of one.
    Head(&'a [u8]),
    /// It broke off.
    BrokeOff,
}

/// The file in an answer that comes in pieces.
#[derive(Debug)]
pub(in crate::channels) struct Base64 {
    head: Head,
    /// In words for people.
    says: fn(NoFile<'_>) -> String,
    /// What stands before the file, or of the file and is no group of four yet.
    kept: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl Base64 {
    /// The file behind such a head; `says` what is to be said where there is none.
    pub(in crate::channels) fn behind(head: Head, says: fn(NoFile<'_>) -> String) -> Self {
        Self { head, says, kept: Vec::new(), begun: false, ended: false }
    }

    /// The bytes of the file in the next piece of the answer; of its end where there is none.
    pub(in crate::channels) fn decode(&mut self, piece: Option<&[u8]>) -> io::Result<Vec<u8>> {
        if self.ended {
            return Ok(Vec::new());
        }
        let Some(piece) = piece else { return Err(self.refused()) };
        let Head { ends, most, is_spaced } = self.head;
        let counts = |byte: &&u8| self.begun || !is_spaced || !byte.is_ascii_whitespace();
        self.kept.extend(piece.iter().filter(counts));
        if !self.begun {
            let Some(at) = self.kept.windows(ends.len()).position(|window| window == ends) else {
                return if self.kept.len() > most { Err(self.refused()) } else { Ok(Vec::new()) };
            };
            self.kept.drain(..at + ends.len());
            self.begun = true;
        }
        let end = self.kept.iter().position(|byte| *byte == b'"');
        self.ended = end.is_some();
        let whole = end.unwrap_or(self.kept.len() / 4 * 4);
        let decoded =
            STANDARD.decode(&self.kept[..whole]).map_err(|_| io::Error::other("it is no base64"))?;
        self.kept.drain(..whole);
        Ok(decoded)
    }

    fn refused(&self) -> io::Error {
        let why = if self.begun { NoFile::BrokeOff } else { NoFile::Head(&self.kept) };
        io::Error::other((self.says)(why))
    }
}

#[cfg(test)]
pub(in crate::channels) fn decoded(mut base64: Base64, pieces: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut whole = Vec::new();
    for piece in pieces {
        whole.extend(base64.decode(Some(piece))?);
    }
    whole.extend(base64.decode(None)?);
    Ok(whole)
}

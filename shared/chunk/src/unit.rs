//! What a platform counts when it limits a text.
//!
//! A limit counted in the wrong unit gets a message refused or cut, so every length in this crate has a unit.

use crate::clusters;

/// Bytes that are counted together, at most 255 units: the compiler turns the loop over them into vector instructions.
const BLOCK: usize = 64;

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes of UTF-8.
    Bytes,
    /// Unicode scalar values.
    CodePoints,
    /// UTF-16 code units: two for each code point past U+FFFF.
    Utf16,
    /// Extended grapheme clusters (UAX #29): what a reader takes for one character.
    Graphemes,
}

impl Unit {
    /// How many of this unit `text` has.
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::CodePoints => text.chars().count(),
            // Most text is, and this takes one look at several bytes.
            Self::Utf16 if text.is_ascii() => text.len(),
            Self::Utf16 => {
                let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
                blocks.iter().map(|block| utf16_units(block)).sum::<usize>() + utf16_units(rest)
            }
            Self::Graphemes => clusters::measure(text, usize::MAX).1,
        }
    }

    /// The longest prefix of `text`, whole code points (or clusters), of at most `limit` units: its bytes and its units.
    pub(crate) fn measure(self, text: &str, limit: usize) -> (usize, usize) {
        match self {
            Self::Bytes => {
                let bytes = text.floor_char_boundary(limit);
                (bytes, bytes)
            }
            Self::Graphemes => clusters::measure(text, limit),
            _ if text.as_bytes()[..text.len().min(limit)].is_ascii() => {
                let bytes = text.len().min(limit);
                (bytes, bytes)
            }
            Self::CodePoints => measure(text, limit, code_points),
            Self::Utf16 => measure(text, limit, utf16_units),
        }
    }

    /// The bytes of the longest prefix of `text`, whole code points (or clusters), of at most `limit` units.
    pub(crate) fn prefix(self, text: &str, limit: usize) -> usize {
        // No unit is smaller than a byte.
        if limit >= text.len() { text.len() } else { self.measure(text, limit).0 }
    }

    /// How many of this unit the widest code point of `text` takes.
    pub(crate) fn widest(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.chars().map(char::len_utf8).max().unwrap_or(1),
            Self::Utf16 => text.chars().map(char::len_utf16).max().unwrap_or(1),
            Self::CodePoints | Self::Graphemes => 1,
        }
    }

    /// How many of this unit any code point can take.
    pub(crate) const fn widest_possible(self) -> usize {
        match self {
            Self::Bytes => 4,
            Self::Utf16 => 2,
            Self::CodePoints | Self::Graphemes => 1,
        }
    }
}

/// [`Unit::measure`], where each code point counts at its first byte.
fn measure(text: &str, limit: usize, count: impl Fn(&[u8]) -> usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let (mut at, mut left) = (0, limit);
    for step in [BLOCK, 1] {
        while let Some(units) = bytes.get(at..at + step).map(&count).filter(|units| *units <= left) {
            at += step;
            left -= units;
        }
    }
    (at, limit - left)
}

/// Code points that begin in `block`, which is no longer than [`BLOCK`].
fn code_points(block: &[u8]) -> usize {
    usize::from(block.iter().map(|byte| u8::from(begins_code_point(*byte))).sum::<u8>())
}

/// UTF-16 units of the code points that begin in `block`, which is no longer than [`BLOCK`].
fn utf16_units(block: &[u8]) -> usize {
    let units = |byte: &u8| u8::from(begins_code_point(*byte)) + u8::from(*byte >= 0xf0);
    usize::from(block.iter().map(units).sum::<u8>())
}

/// Continuation bytes are 0b10xxxxxx.
fn begins_code_point(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

impl core::fmt::Display for Unit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::Bytes => "bytes",
            Self::CodePoints => "codepoints",
            Self::Utf16 => "utf16",
            Self::Graphemes => "graphemes",
        })
    }
}

impl core::str::FromStr for Unit {
    type Err = ParseUnitError;

    fn from_str(name: &str) -> Result<Self, ParseUnitError> {
        match name {
            "bytes" => Ok(Self::Bytes),
            "codepoints" => Ok(Self::CodePoints),
            "utf16" => Ok(Self::Utf16),
            "graphemes" => Ok(Self::Graphemes),
            _ => Err(ParseUnitError),
        }
    }
}

/// A name that is no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseUnitError;

impl core::fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no such unit: use bytes, codepoints, utf16 or graphemes")
    }
}

impl core::error::Error for ParseUnitError {}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Unit; 4] = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes];
    const FAMILY: &str = "👨‍👩‍👧";

    #[test]
    fn each_unit_counts_its_own() {
        assert_eq!(ALL.map(|unit| unit.count(FAMILY)), [18, 5, 8, 1]);
        assert_eq!(ALL.map(|unit| unit.count("a\r\nb")), [4, 4, 4, 3]);
        assert_eq!(ALL.map(|unit| unit.count("e\u{301}")), [3, 2, 2, 1]);
        assert_eq!(ALL.map(|unit| unit.count("🇩🇪🇫🇷")), [16, 4, 8, 2]);
    }

    #[test]
    fn a_prefix_is_as_long_as_the_limit_lets_it_be() {
        assert_eq!(Unit::Bytes.prefix("aäb", 2), 1);
        assert_eq!(Unit::CodePoints.prefix("aäb", 2), 3);
        assert_eq!(Unit::Utf16.prefix("a😀b", 2), 1);
        assert_eq!(Unit::Utf16.prefix("a😀b", 3), 5);
        assert_eq!(Unit::Graphemes.prefix("e\u{301}x", 1), 3);
        assert_eq!(Unit::Graphemes.prefix("\r\nx", 1), 2);
    }

    #[test]
    fn names_go_there_and_back() {
        for unit in ALL {
            assert_eq!(std::string::ToString::to_string(&unit).parse(), Ok(unit));
        }
        assert_eq!("words".parse::<Unit>(), Err(ParseUnitError));
    }
}

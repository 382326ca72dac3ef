//! The characters that every board draws, each in one cell, in two sizes.
//!
//! One table answers two questions: which characters need no escape ([`super::escape`]), and what they look like. With a
//! second list, a character could be listed and yet drawn as a blank, and a blank in an address misleads. For the
//! pictures' origin and licence see `fonts/README.md`.

/// A size of the font.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// Cells of 6 × 8 pixels: 21 × 8 of them on 128 × 64.
    Small,
    /// Cells of 8 × 16 pixels: 40 × 15 of them on 320 × 240.
    Large,
}

impl Face {
    /// A cell's width in pixels.
    pub const fn width(self) -> u32 {
        match self {
            Self::Small => 6,
            Self::Large => 8,
        }
    }

    /// A cell's height in pixels.
    pub const fn height(self) -> u32 {
        match self {
            Self::Small => 8,
            Self::Large => 16,
        }
    }

    /// The picture of `c`, one byte per row, the highest bit leftmost; `None` if the font lacks it.
    pub fn picture(self, c: char) -> Option<&'static [u8]> {
        let index = index(c)?;
        match self {
            Self::Small => FONT.small.get(index).map(|rows| &rows[..]),
            Self::Large => FONT.large.get(index).map(|rows| &rows[..]),
        }
    }
}

/// Whether every board draws `c`.
pub fn has(c: char) -> bool {
    index(c).is_some()
}

fn index(c: char) -> Option<usize> {
    FONT.codes.binary_search(&u16::try_from(u32::from(c)).ok()?).ok()
}

/// Bytes of a line of the file: groups of 4, 16 and 32 digits, each with its separator.
const LINE_BYTES: usize = 4 + 1 + 16 + 1 + 32 + 1;
const SOURCE: &[u8] = include_bytes!("../../fonts/fixed.hex");
const COUNT: usize = SOURCE.len() / LINE_BYTES;

struct Font {
    /// Ascending.
    codes: [u16; COUNT],
    small: [[u8; 8]; COUNT],
    large: [[u8; 16]; COUNT],
}

static FONT: Font = parse(SOURCE);

/// Reads the font's file at compile time; a malformed file does not compile.
const fn parse(source: &[u8]) -> Font {
    assert!(source.len() == COUNT * LINE_BYTES, "every line of the font has the same length");
    let mut font = Font { codes: [0; COUNT], small: [[0; 8]; COUNT], large: [[0; 16]; COUNT] };
    let mut index = 0;
    while index < COUNT {
        let line = index * LINE_BYTES;
        font.codes[index] = (byte(source, line) as u16) << 8 | byte(source, line + 2) as u16;
        assert!(index == 0 || font.codes[index - 1] < font.codes[index], "the font's codes ascend");
        let mut row = 0;
        while row < 16 {
            if row < 8 {
                font.small[index][row] = byte(source, line + 5 + 2 * row);
            }
            font.large[index][row] = byte(source, line + 22 + 2 * row);
            row += 1;
        }
        assert!(
            source[line + 4] == b' ' && source[line + 21] == b' ' && source[line + LINE_BYTES - 1] == b'\n'
        );
        index += 1;
    }
    font
}

const fn byte(source: &[u8], at: usize) -> u8 {
    digit(source[at]) << 4 | digit(source[at + 1])
}

const fn digit(c: u8) -> u8 {
    match c {
        b'0'..=b'9' => c - b'0',
        b'A'..=b'F' => c - b'A' + 10,
        _ => panic!("the font is written in upper-case hexadecimal digits"),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, vec::Vec};

    use super::*;

    fn all() -> impl Iterator<Item = char> {
        FONT.codes.iter().map(|code| char::from_u32(u32::from(*code)).unwrap())
    }

    #[test]
    fn no_character_but_the_space_is_drawn_as_a_blank() {
        for c in all().filter(|c| *c != ' ') {
            for face in [Face::Small, Face::Large] {
                assert!(face.picture(c).unwrap().iter().any(|row| *row != 0), "{c:?} {face:?}");
            }
        }
        assert!(Face::Small.picture(' ').unwrap().iter().all(|row| *row == 0));
    }

    #[test]
    fn every_picture_keeps_to_its_cell() {
        for c in all() {
            assert!(Face::Small.picture(c).unwrap().iter().all(|row| row & 0b11 == 0), "{c:?}");
        }
    }

    /// What looks the same may mean the same: an A is an A in three alphabets. A number is read digit by digit.
    #[test]
    fn no_letter_passes_for_a_digit() {
        for face in [Face::Small, Face::Large] {
            let digits: HashMap<_, char> = ('0'..='9').map(|c| (face.picture(c).unwrap(), c)).collect();
            for c in all().filter(|c| !c.is_ascii_digit()) {
                assert_eq!(digits.get(face.picture(c).unwrap()), None, "{c:?} {face:?}");
            }
        }
    }

    #[test]
    fn printable_ascii_is_drawn_and_told_apart() {
        for face in [Face::Small, Face::Large] {
            let mut pictures: Vec<_> = (' '..='~').map(|c| face.picture(c).unwrap()).collect();
            pictures.sort_unstable();
            pictures.dedup();
            assert_eq!(pictures.len(), 95, "{face:?}");
        }
    }

    #[test]
    fn the_scripts_that_were_promised_are_drawn_whole() {
        let latin = ('\u{a1}'..='\u{17f}').filter(|c| *c != '\u{ad}');
        let greek = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρσςτυφχψωΆΈΉΊΌΎΏάέήίόύώϊϋΐΰΪΫ".chars();
        let cyrillic = ('\u{400}'..='\u{45f}').chain("Ґґ".chars());
        let signs = "‘’‚“”„–—…•‹›«»€£¥₴₹₽¢№™©®°±×÷≠≤≥≈∞√∑∂∆πµ←↑→↓↔⇒■□▪●○◆▲▼✓✗─│┌┐└┘├┤┬┴┼═║█▓▒░".chars();
        for c in latin.chain(greek).chain(cyrillic).chain(signs) {
            assert!(has(c), "{c:?}");
        }
    }

    #[test]
    fn the_font_takes_less_than_a_tenth_of_its_budget() {
        assert!(size_of::<Font>() < 30_000, "{}", size_of::<Font>());
    }
}

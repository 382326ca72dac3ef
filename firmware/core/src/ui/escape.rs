//! Replaces characters that the screen cannot show truthfully by visible escapes such as `<U+202E>`.
//!
//! On other products' approval screens a bidi mark reversed an address, and a glyph that the font lacked was silently
//! skipped. Here every character is either drawn in exactly one cell, because [`font`] has it, or escaped: controls, bidi
//! marks, zero-width and combining characters, every space except the plain one, and all scripts and pictures beyond
//! Latin, Greek, Cyrillic and the usual symbols.
//!
//! Text that literally contains `<U+202E>` looks the same. That can only make harmless text look suspicious.

use core::fmt;

use super::font;

/// Cells of the widest escape, `<U+10FFFF>`.
pub const MAX_ESCAPE_CELLS: usize = 10;

/// How one character is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyph {
    /// Drawn as itself, in one cell.
    Plain(char),
    /// Escaped, in [`Glyph::width`] cells.
    Escape(char),
}

/// Which characters may be drawn as themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// Text for people: everything [`renderable`].
    Human,
    /// ASCII only, for addresses and ids: a Cyrillic `а` there must not look like a Latin one.
    Machine,
}

impl Script {
    /// How `c` is shown.
    pub fn glyph(self, c: char) -> Glyph {
        let plain = match self {
            Self::Human => renderable(c),
            Self::Machine => matches!(c, ' '..='~'),
        };
        if plain { Glyph::Plain(c) } else { Glyph::Escape(c) }
    }
}

impl Glyph {
    /// How many cells it takes.
    pub fn width(self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Escape(c) => match c as u32 {
                0..=0xffff => 8,
                0x1_0000..=0xf_ffff => 9,
                _ => MAX_ESCAPE_CELLS,
            },
        }
    }
}

impl fmt::Display for Glyph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Plain(c) => fmt::Write::write_char(f, c),
            Self::Escape(c) => write!(f, "<U+{:04X}>", c as u32),
        }
    }
}

/// How many cells a piece of human text takes on the screen.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| Script::Human.glyph(c).width()).sum()
}

/// Whether every board draws `c` visibly in one cell, which means that the font has it.
pub fn renderable(c: char) -> bool {
    font::has(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::{format, string::String};

    use super::*;

    fn shown(text: &str) -> String {
        text.chars().map(|c| format!("{}", Script::Human.glyph(c))).collect()
    }

    #[test]
    fn what_people_write_is_drawn_as_itself() {
        for text in
            ["Grüße, señor: 3 × 4 ≤ 12 €", "Ελληνικά", "Привет, Ёлка", "├── “ok” → ✓", "Zażółć gęślą jaźń"]
        {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn what_would_lie_is_spelled_out() {
        assert_eq!(shown("a\u{202e}b"), "a<U+202E>b");
        assert_eq!(shown("pay\u{200b}pal"), "pay<U+200B>pal");
        assert_eq!(shown("\u{1b}[2J\t\r"), "<U+001B>[2J<U+0009><U+000D>");
        assert_eq!(shown("e\u{301}"), "e<U+0301>");
        assert_eq!(shown("\u{ad}\u{a0}\u{2066}\u{feff}"), "<U+00AD><U+00A0><U+2066><U+FEFF>");
        assert_eq!(shown("日😀\u{10ffff}"), "<U+65E5><U+1F600><U+10FFFF>");
    }

    /// The font's file is edited by hand: whatever gets into it, these stay out.
    #[test]
    fn nothing_that_is_unseen_or_wide_or_turns_text_around_is_drawn() {
        let hidden = ['\u{ad}', '\u{a0}', '\u{34f}', '\u{61c}', '\u{3000}', '\u{feff}', '\u{fffd}']
            .into_iter()
            .chain('\0'..='\u{1f}')
            .chain('\u{7f}'..='\u{9f}')
            .chain('\u{300}'..='\u{36f}')
            .chain('\u{590}'..='\u{8ff}')
            .chain('\u{2000}'..='\u{200f}')
            .chain('\u{2028}'..='\u{202f}')
            .chain('\u{205f}'..='\u{206f}')
            .chain('\u{1100}'..='\u{115f}')
            .chain('\u{2800}'..='\u{ffff}');
        for c in hidden {
            assert!(!renderable(c), "{c:?}");
        }
        // Terminals draw what is wide in two cells, and the pages count one.
        for c in ('\0'..='\u{ffff}').filter(|c| renderable(*c)) {
            assert_eq!(gatepost_chunk::display_width(c.encode_utf8(&mut [0; 4])), 1, "{c:?}");
        }
    }

    #[test]
    fn a_foreign_letter_in_an_address_is_spelled_out() {
        assert_eq!(format!("{}", Script::Machine.glyph('а')), "<U+0430>");
        assert_eq!(Script::Machine.glyph('a'), Glyph::Plain('a'));
    }

    proptest! {
        #[test]
        fn the_width_is_the_number_of_characters_written(c in any::<char>()) {
            let glyph = Script::Human.glyph(c);
            prop_assert_eq!(format!("{glyph}").chars().count(), glyph.width());
        }
    }
}

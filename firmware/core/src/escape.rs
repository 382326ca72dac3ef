//! Characters that the screen cannot show honestly become visible escapes such as `<U+202E>`.
//!
//! Elsewhere a bidi mark turned an address around on the approval screen, and a glyph that the font lacked was
//! skipped without a word. So every character is either drawn in exactly one cell or spelled out: controls, bidi
//! marks, everything of no width (combining marks too), every space but the plain one, and all scripts and pictures
//! beyond Latin, Greek, Cyrillic and the usual symbols.
//!
//! Text that itself spells `<U+202E>` looks the same. That can only make harmless text look suspicious.

use core::fmt;

/// The widest escape, in cells: `<U+10FFFF>`.
pub const MAX_ESCAPE: usize = 10;

/// One character as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyph {
    /// Drawn as itself, in one cell.
    Plain(char),
    /// Spelled out, in [`Glyph::width`] cells.
    Escape(char),
}

/// Which characters may be drawn as themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// What people write: [`renderable`].
    Human,
    /// ASCII only, for addresses and ids: in those a Cyrillic `а` must not pass for a Latin one.
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
    /// Cells.
    pub fn width(self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Escape(c) => match c as u32 {
                0..=0xffff => 8,
                0x1_0000..=0xf_ffff => 9,
                _ => MAX_ESCAPE,
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

/// Cells that a piece of human text takes on the screen.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| Script::Human.glyph(c).width()).sum()
}

/// Whether every font of every board draws `c` in one cell, and as something to be seen.
///
/// Assigned characters only: an unassigned code point has no glyph today and an unknown one tomorrow.
pub fn renderable(c: char) -> bool {
    matches!(c,
        ' '..='~'
        // Latin, without the no-break space and the soft hyphen.
        | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}'
        // Greek.
        | '\u{370}'..='\u{377}' | '\u{37a}'..='\u{37f}' | '\u{384}'..='\u{38a}' | '\u{38c}'
        | '\u{38e}'..='\u{3a1}' | '\u{3a3}'..='\u{3ff}'
        // Cyrillic, without its combining marks.
        | '\u{400}'..='\u{482}' | '\u{48a}'..='\u{4ff}'
        // Dashes, quotes, dots; without spaces, bidi marks and invisible operators.
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
        // Superscripts and subscripts, currencies, letter-like signs, fractions.
        | '\u{2070}' | '\u{2071}' | '\u{2074}'..='\u{208e}' | '\u{2090}'..='\u{209c}'
        | '\u{20a0}'..='\u{20c0}' | '\u{2100}'..='\u{218b}'
        // Arrows, mathematics.
        | '\u{2190}'..='\u{22ff}'
        // Box drawing, blocks, shapes; without the two squares that are drawn as pictures.
        | '\u{2500}'..='\u{25fc}' | '\u{25ff}'
        // Check mark, ballot cross.
        | '\u{2713}' | '\u{2717}')
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
        for text in ["Grüße, señor: 3 × 4 ≤ 12 €", "Ελληνικά", "Привет, Ёлка", "├── “ok” → ✓", "Tiếng Việt"]
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

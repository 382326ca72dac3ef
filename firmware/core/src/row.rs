//! Rows of text cells, each with how it is to look.
//!
//! What a row says is in its cells; the look only makes it larger, or sets it off. Whoever draws the cells alone, as a
//! terminal does, leaves nothing out.

use core::fmt::Write as _;

use heapless::String;

use crate::screen::{Geometry, MAX_COLUMNS};

/// Bytes of a full row: what is drawn as itself has at most three bytes in UTF-8.
pub const MAX_LINE: usize = MAX_COLUMNS * 3;

/// One row's text, a character a cell.
pub type Line = String<MAX_LINE>;

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// What it says.
    pub text: Line,
    /// How.
    pub look: Look,
}

/// How a row is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// Text.
    #[default]
    Plain,
    /// Text that is not to be missed.
    Note,
    /// The top row: a band from edge to edge.
    Head,
    /// The last row: what the two buttons do.
    Keys,
    /// Centred and so many times as large, over as many rows.
    Big(u8),
    /// A bar that is filled this far, in per cent. The first cells of the text, so many, are its label.
    Meter {
        /// Cells.
        label: u8,
        /// 0 to 100.
        percent: u8,
    },
}

impl Row {
    /// Plain text; what is wider than any screen is cut.
    pub fn plain(text: &str) -> Self {
        Self { text: text.chars().take(MAX_COLUMNS).collect(), look: Look::Plain }
    }

    /// Text in the middle of a row.
    pub fn centred(geometry: Geometry, text: &str) -> Self {
        let indent = geometry.columns().saturating_sub(text.chars().count()) / 2;
        let cells = core::iter::repeat_n(' ', indent).chain(text.chars());
        Self { text: cells.take(MAX_COLUMNS).collect(), look: Look::Plain }
    }

    /// Text as large as fits in the width, at most `scale` times.
    pub fn big(geometry: Geometry, text: &str, scale: u8) -> Self {
        let cells = text.chars().count().max(1);
        let fits = u8::try_from(geometry.columns() / cells).unwrap_or(u8::MAX);
        Self { look: Look::Big(scale.min(fits).max(1)), ..Self::plain(text) }
    }

    /// A bar behind a label; `percent` of more than 100 is full.
    pub fn meter(geometry: Geometry, label: &'static str, percent: u8) -> Self {
        let percent = percent.min(100);
        let cells = geometry.columns().saturating_sub(label.len() + 2);
        let full = cells * usize::from(percent) / 100;
        let mut text = Line::new();
        write!(text, "{label}[{:#<full$}{:.<rest$}]", "", "", rest = cells - full)
            .expect("one row of cells fits a line");
        let label = u8::try_from(label.len()).expect("labels are shorter than a row");
        Self { text, look: Look::Meter { label, percent } }
    }

    /// A row with `left` and `right` at its ends and a space between; `left` is cut where both do not fit.
    pub fn ends(geometry: Geometry, left: &str, right: &str, look: Look) -> Self {
        let right_cells = right.chars().count();
        let room = geometry.columns().saturating_sub(right_cells);
        let left_room = room.saturating_sub(usize::from(right_cells > 0));
        let padded = left.chars().take(left_room).chain(core::iter::repeat(' ')).take(room);
        Self { text: padded.chain(right.chars()).take(MAX_COLUMNS).collect(), look }
    }

    /// Rows of cells that it takes.
    pub fn height(&self) -> usize {
        match self.look {
            Look::Big(scale) => usize::from(scale.max(1)),
            Look::Plain | Look::Note | Look::Head | Look::Keys | Look::Meter { .. } => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_the_row_at_any_progress() {
        for percent in [0, 1, 50, 99, 100, 255] {
            assert_eq!(Row::meter(Geometry::SMALL, "hold ", percent).text.len(), 21, "{percent}");
        }
        assert_eq!(Row::meter(Geometry::SMALL, "hold ", 50).text, "hold [#######.......]");
    }

    #[test]
    fn the_ends_of_a_row_never_touch() {
        let row = |left, right| Row::ends(Geometry::SMALL, left, right, Look::Head).text;
        assert_eq!(row("12/14 request", "+8 59:59"), "12/14 reques +8 59:59");
        assert_eq!(row("gatepost", ""), "gatepost             ");
    }

    #[test]
    fn large_text_is_never_wider_than_the_screen() {
        for (text, scale) in [("14:05", 3), ("✓ approved", 2), ("decided elsewhere", 1), ("", 3)] {
            assert_eq!(Row::big(Geometry::SMALL, text, 3).look, Look::Big(scale), "{text}");
        }
    }
}

//! Rows of text cells, each with a style.
//!
//! All content of a row is in its cells; the style only enlarges or highlights it. A terminal that draws the cells alone
//! leaves nothing out.

use core::fmt::Write as _;

use heapless::String;

use super::geometry::{Geometry, MAX_COLUMNS};

/// Bytes of a full row: a character that the font has takes at most three bytes in UTF-8.
pub const MAX_LINE_BYTES: usize = MAX_COLUMNS * 3;

/// One row's text, one character per cell.
pub type Line = String<MAX_LINE_BYTES>;

/// One row of a screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// Its text.
    pub text: Line,
    /// How it is drawn.
    pub style: Style,
}

/// How a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Ordinary text.
    #[default]
    Plain,
    /// Highlighted text.
    Note,
    /// The header: a band from edge to edge.
    Head,
    /// The footer: what the two buttons do.
    Keys,
    /// Centred text, enlarged by this factor and as many rows high.
    Big(u8),
    /// A progress bar behind a label.
    Meter {
        /// How many of the text's first cells are the label.
        label: u8,
        /// How far the bar is filled, 0 to 100.
        percent: u8,
    },
}

impl Row {
    /// Plain text, cut at the width of the widest screen.
    pub fn plain(text: &str) -> Self {
        Self { text: text.chars().take(MAX_COLUMNS).collect(), style: Style::Plain }
    }

    /// Text in the middle of a row.
    pub fn centred(geometry: Geometry, text: &str) -> Self {
        let indent = geometry.columns().saturating_sub(text.chars().count()) / 2;
        let cells = core::iter::repeat_n(' ', indent).chain(text.chars());
        Self { text: cells.take(MAX_COLUMNS).collect(), style: Style::Plain }
    }

    /// Text enlarged as far as the width allows, at most by `scale`.
    pub fn big(geometry: Geometry, text: &str, scale: u8) -> Self {
        let cells = text.chars().count().max(1);
        let fits = u8::try_from(geometry.columns() / cells).unwrap_or(u8::MAX);
        Self { style: Style::Big(scale.min(fits).max(1)), ..Self::plain(text) }
    }

    /// A progress bar behind a label; a `percent` over 100 counts as 100.
    pub fn meter(geometry: Geometry, label: &'static str, percent: u8) -> Self {
        let percent = percent.min(100);
        let cells = geometry.columns().saturating_sub(label.len() + 2);
        let full = cells * usize::from(percent) / 100;
        let mut text = Line::new();
        write!(text, "{label}[{:#<full$}{:.<rest$}]", "", "", rest = cells - full)
            .expect("one row of cells fits a line");
        let label = u8::try_from(label.len()).expect("labels are shorter than a row");
        Self { text, style: Style::Meter { label, percent } }
    }

    /// A row with `left` and `right` at its ends and a space between; `left` is cut if both do not fit.
    pub fn ends(geometry: Geometry, left: &str, right: &str, style: Style) -> Self {
        let right_cells = right.chars().count();
        let room = geometry.columns().saturating_sub(right_cells);
        let left_room = room.saturating_sub(usize::from(right_cells > 0));
        let padded = left.chars().take(left_room).chain(core::iter::repeat(' ')).take(room);
        Self { text: padded.chain(right.chars()).take(MAX_COLUMNS).collect(), style }
    }

    /// How many rows of cells it takes.
    pub fn height(&self) -> usize {
        match self.style {
            Style::Big(scale) => usize::from(scale.max(1)),
            Style::Plain | Style::Note | Style::Head | Style::Keys | Style::Meter { .. } => 1,
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
        let row = |left, right| Row::ends(Geometry::SMALL, left, right, Style::Head).text;
        assert_eq!(row("12/14 request", "+8 59:59"), "12/14 reques +8 59:59");
        assert_eq!(row("gatepost", ""), "gatepost             ");
    }

    #[test]
    fn large_text_is_never_wider_than_the_screen() {
        for (text, scale) in [("14:05", 3), ("✓ approved", 2), ("decided elsewhere", 1), ("", 3)] {
            assert_eq!(Row::big(Geometry::SMALL, text, 3).style, Style::Big(scale), "{text}");
        }
    }
}

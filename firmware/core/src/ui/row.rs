//! Rows of text cells, each with a style.
//!
//! All content of a row is in its cells; the style only enlarges or highlights it. A terminal that draws the cells alone
//! leaves nothing out.

use core::fmt::Write as _;

use heapless::String;

use super::{
    geometry::{Geometry, MAX_COLUMNS},
    pictogram::Pictogram,
};

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
    /// Our own words, which may stand back.
    Quiet,
    /// A value, after a label of ours as many cells long.
    Field(u8),
    /// Highlighted text.
    Note,
    /// The header: a band from edge to edge.
    Head,
    /// The footer: what the two buttons do.
    Keys {
        /// The column where the words of Deny begin.
        right: u8,
        /// Whether a hold of Approve that begins now approves.
        approves: bool,
        /// Whether Deny denies.
        denies: bool,
    },
    /// Text enlarged by this factor and as many rows high.
    Large(u8),
    /// The same, centred.
    Centred(u8),
    /// A title: centred, in the screen's tone, enlarged by this factor and as many rows high.
    Big(u8, Option<Pictogram>),
    /// One of the facts that matter first, large, after a pictogram. Its label is drawn only where there are cells alone.
    Fact {
        /// How many of the text's first cells are the label.
        label: u8,
        /// How large it is.
        size: Size,
        /// Without one it is the fact that the screen is about, in its tone.
        pictogram: Option<Pictogram>,
    },
    /// A progress bar behind a label.
    Meter {
        /// How many of the text's first cells are the label.
        label: u8,
        /// How far the bar is filled, 0 to 100.
        percent: u8,
        /// How many rows it is high.
        rows: u8,
    },
}

/// How large a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Three rows high, enlarged three times.
    Three,
    /// Two rows high, enlarged twice.
    Two,
    /// Two rows high, in the large font: for what does not fit a small screen otherwise.
    TwoNarrow,
}

impl Size {
    /// The sizes that a screen has room for, the largest first.
    pub fn all(geometry: Geometry) -> &'static [Self] {
        match (geometry.is_text(), geometry.is_large()) {
            (true, _) => &[],
            (false, true) => &[Self::Three, Self::Two],
            (false, false) => &[Self::Two, Self::TwoNarrow],
        }
    }

    /// How many rows of cells it takes.
    pub fn rows(self) -> usize {
        match self {
            Self::Three => 3,
            Self::Two | Self::TwoNarrow => 2,
        }
    }

    /// How many characters fit beside a pictogram, or without one.
    pub fn columns(self, geometry: Geometry, pictogram: bool) -> usize {
        let beside = if pictogram { self.pictogram_cells(geometry) } else { 0 };
        let cells = geometry.columns().saturating_sub(beside);
        match self {
            Self::Three => cells / 3,
            Self::Two => cells / 2,
            // The large font's cells are a third wider than the small one's.
            Self::TwoNarrow => cells * 3 / 4,
        }
    }

    /// How many columns of cells a pictogram takes, with the space after it.
    pub(super) fn pictogram_cells(self, geometry: Geometry) -> usize {
        // A cell of the large font is half as wide as high, and one of the small font three quarters.
        if geometry.is_large() { 2 * self.rows() + 1 } else { 3 }
    }
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

    /// A title, enlarged as far as the width allows, at most by `scale`. Its pictogram is left out before its text is made smaller.
    pub fn big(geometry: Geometry, text: &str, scale: u8, pictogram: Option<Pictogram>) -> Self {
        let cells = text.chars().count().max(1);
        let fits = u8::try_from(geometry.columns() / cells).unwrap_or(u8::MAX);
        let scale = if geometry.is_text() { 1 } else { scale.min(fits).max(1) };
        let beside = |_: &Pictogram| {
            cells * usize::from(scale) + pictogram_cells(geometry, scale) <= geometry.columns()
        };
        Self { style: Style::Big(scale, pictogram.filter(beside)), ..Self::plain(text) }
    }

    /// A fact in the first of these sizes in which it fits one row; [`None`] if it fits none.
    pub fn fact(
        sizes: &[Size],
        geometry: Geometry,
        label: &str,
        value: &str,
        pictogram: Option<Pictogram>,
    ) -> Option<Self> {
        let cells = value.chars().count();
        if label.len() + cells > geometry.columns() {
            return None;
        }
        let size = *sizes.iter().find(|size| cells <= size.columns(geometry, pictogram.is_some()))?;
        let text = label.chars().chain(value.chars()).collect();
        let label = u8::try_from(label.len()).expect("labels are shorter than a row");
        Some(Self { text, style: Style::Fact { label, size, pictogram } })
    }

    /// A progress bar behind a label, as many rows high; a `percent` over 100 counts as 100.
    pub fn meter(geometry: Geometry, label: &'static str, percent: u8, rows: u8) -> Self {
        let percent = percent.min(100);
        let cells = geometry.columns().saturating_sub(label.len() + 2);
        let full = cells * usize::from(percent) / 100;
        let mut text = Line::new();
        write!(text, "{label}[{:#<full$}{:.<rest$}]", "", "", rest = cells - full)
            .expect("one row of cells fits a line");
        let label = u8::try_from(label.len()).expect("labels are shorter than a row");
        Self { text, style: Style::Meter { label, percent, rows } }
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
            Style::Big(scale, _) | Style::Centred(scale) | Style::Large(scale) => usize::from(scale.max(1)),
            Style::Fact { size, .. } => size.rows(),
            Style::Meter { rows, .. } => usize::from(rows.max(1)),
            Style::Plain
            | Style::Quiet
            | Style::Field(_)
            | Style::Note
            | Style::Head
            | Style::Keys { .. } => 1,
        }
    }
}

/// How many columns of cells a title's pictogram takes, with the space after it.
pub(super) fn pictogram_cells(geometry: Geometry, scale: u8) -> usize {
    if geometry.is_large() { 2 * usize::from(scale) + 1 } else { 3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_the_row_at_any_progress() {
        for percent in [0, 1, 50, 99, 100, 255] {
            assert_eq!(Row::meter(Geometry::SMALL, "hold ", percent, 1).text.len(), 21, "{percent}");
        }
        assert_eq!(Row::meter(Geometry::SMALL, "hold ", 50, 1).text, "hold [#######.......]");
    }

    #[test]
    fn the_ends_of_a_row_never_touch() {
        let row = |left, right| Row::ends(Geometry::SMALL, left, right, Style::Head).text;
        assert_eq!(row("12/14 request", "+8 59:59"), "12/14 reques +8 59:59");
        assert_eq!(row("gatepost", ""), "gatepost             ");
    }

    #[test]
    fn large_text_is_never_wider_than_the_screen() {
        for (text, scale) in [("14:05", 3), ("approved", 2), ("decided elsewhere", 1), ("", 3)] {
            let style = Row::big(Geometry::SMALL, text, 3, None).style;
            assert_eq!(style, Style::Big(scale, None), "{text}");
        }
        let mark = Some(Pictogram::YES);
        let style = |text| Row::big(Geometry::SMALL, text, 2, mark).style;
        assert_eq!(style("cancelled"), Style::Big(2, mark));
        assert_eq!(style("not paired"), Style::Big(2, None), "no room beside it");
    }

    #[test]
    fn a_fact_is_as_large_as_it_fits_and_never_cut() {
        let size = |geometry, value: &str, pictogram| match Row::fact(
            Size::all(geometry),
            geometry,
            "to: ",
            value,
            pictogram,
        ) {
            Some(Row { style: Style::Fact { size, .. }, text }) => {
                assert!(text.ends_with(value));
                Some(size)
            }
            other => {
                assert_eq!(other, None);
                None
            }
        };
        let mark = Some(Pictogram::AGENT);
        for (cells, small, large) in [
            (9, Some(Size::Two), Some(Size::Three)),
            (10, Some(Size::TwoNarrow), Some(Size::Three)),
            (13, Some(Size::TwoNarrow), Some(Size::Two)),
            (14, None, Some(Size::Two)),
            (16, None, Some(Size::Two)),
            (17, None, None),
        ] {
            let value = "x".repeat(cells);
            assert_eq!(size(Geometry::SMALL, &value, mark), small, "{cells}");
            assert_eq!(size(Geometry::LARGE, &value, mark), large, "{cells}");
        }
        assert_eq!(size(Geometry::SMALL, "ten letter", None), Some(Size::Two), "there is no pictogram");
        let long = "x".repeat(12);
        let sizes = Size::all(Geometry::SMALL);
        assert_eq!(Row::fact(sizes, Geometry::SMALL, "ten cells ", &long, mark), None, "not in cells alone");
    }
}

//! What to draw, said twice: as structure, for those who act on it, and as rows of text cells, for those who draw.
//!
//! A screen is complete: whoever draws [`Screen::rows`] draws everything there is, each character in one cell.

use core::fmt::Write as _;

use gatepost_link::{
    RequestId,
    decision::Verdict,
    frame::{Refusal, Withdrawal},
};
use heapless::{String, Vec};

/// The most columns of any board.
pub const MAX_COLUMNS: usize = 40;
/// The most rows of any board.
pub const MAX_ROWS: usize = 15;
/// Bytes of a full row: what is drawn as itself has at most three bytes in UTF-8.
pub const MAX_LINE: usize = MAX_COLUMNS * 3;

/// One row of text cells.
pub type Line = String<MAX_LINE>;

/// A screen's size in text cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    columns: u8,
    rows: u8,
}

impl Geometry {
    /// 128 × 64 pixels.
    pub const SMALL: Self = Self { columns: 21, rows: 8 };
    /// 320 × 240 pixels.
    pub const LARGE: Self = Self { columns: 40, rows: 15 };

    /// `columns` from 20 to [`MAX_COLUMNS`], `rows` from 5 to [`MAX_ROWS`]; the nearest of these is taken.
    pub fn new(columns: u8, rows: u8) -> Self {
        Self { columns: columns.clamp(20, MAX_COLUMNS as u8), rows: rows.clamp(5, MAX_ROWS as u8) }
    }

    /// Columns.
    pub fn columns(self) -> usize {
        usize::from(self.columns)
    }

    /// Rows.
    pub fn rows(self) -> usize {
        usize::from(self.rows)
    }

    /// Rows between header and footer.
    pub fn body_rows(self) -> usize {
        self.rows() - 2
    }
}

/// What the screen is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// There is no link.
    Offline,
    /// The link is up; the hub has not answered yet.
    Connecting,
    /// Nothing waits.
    Idle,
    /// A card's document is on its way.
    Fetching {
        /// The request that it belongs to.
        request: RequestId,
    },
    /// A card is open.
    Card(CardView),
    /// A decision is on its way to the hub.
    Sending {
        /// The request decided on.
        request: RequestId,
        /// What was decided.
        verdict: Verdict,
    },
    /// The hub has taken the decision.
    Done {
        /// The request decided on.
        request: RequestId,
        /// What was decided.
        verdict: Verdict,
    },
    /// A card closed without a decision that counts.
    Closed {
        /// Its request.
        request: RequestId,
        /// Why.
        why: Ended,
    },
}

/// An open card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardView {
    /// The request to decide on.
    pub request: RequestId,
    /// The page on the screen, from 1.
    pub page: u16,
    /// How many there are.
    pub pages: u16,
    /// Whether a hold that begins now approves.
    pub armed: bool,
    /// Whether a short press of Deny that begins now denies, but for the moment of grace after the card opened.
    pub deniable: bool,
    /// Whether files that the device cannot show forbid to approve.
    pub unseen_files: bool,
    /// Whether the counter could not be stored, so that nothing can be decided here.
    pub fault: bool,
}

/// Why a card closed without a decision that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The hub said so, or, for [`Withdrawal::Expired`], the time shown ran out.
    Withdrawn(Withdrawal),
    /// The decision left, the link broke, and the hub neither confirmed it nor asked again.
    NotConfirmed,
    /// The link broke, and afterwards the hub did not ask again.
    NoLongerOffered,
    /// The document cannot be shown.
    NotShown(Refusal),
}

/// Everything to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// The size that it was laid out for.
    pub geometry: Geometry,
    /// What it is about.
    pub view: View,
    /// The first row.
    pub header: Line,
    /// The rows below; at most [`Geometry::body_rows`].
    pub lines: Vec<Line, MAX_ROWS>,
    /// The last row: what the buttons do, Approve on the left, Deny on the right.
    pub footer: Line,
    /// How far a hold that will approve has come, 0 to 100. Drawn in place of the footer.
    pub hold: Option<u8>,
}

impl Screen {
    /// An empty screen.
    pub fn new(geometry: Geometry, view: View) -> Self {
        Self { geometry, view, header: Line::new(), lines: Vec::new(), footer: Line::new(), hold: None }
    }

    /// All rows, exactly as many as the screen has: header, body, and footer or progress bar.
    pub fn rows(&self) -> Vec<Line, MAX_ROWS> {
        let mut rows = Vec::new();
        let last = self.hold.map_or_else(|| self.footer.clone(), |percent| bar(self.geometry, percent));
        let blank = core::iter::repeat(Line::new());
        let body = self.lines.iter().cloned().chain(blank).take(self.geometry.body_rows());
        for row in core::iter::once(self.header.clone()).chain(body).chain([last]) {
            rows.push(row).expect("a geometry has at most MAX_ROWS rows");
        }
        rows
    }

    /// Sets the header; `left` is cut where both do not fit.
    pub fn set_header(&mut self, left: &str, right: &str) {
        self.header = ends(self.geometry, left, right);
    }

    /// Sets the footer: what Approve does on the left, what Deny does on the right.
    pub fn set_footer(&mut self, approve: &str, deny: &str) {
        self.footer = ends(self.geometry, approve, deny);
    }
}

/// A row with `left` and `right` at its ends; `left` is cut where both do not fit.
fn ends(geometry: Geometry, left: &str, right: &str) -> Line {
    let room = geometry.columns().saturating_sub(right.chars().count());
    let mut line = Line::new();
    for c in left.chars().chain(core::iter::repeat(' ')).take(room).chain(right.chars()) {
        line.push(c).expect("one row of cells fits a line");
    }
    line
}

/// The progress of a hold.
fn bar(geometry: Geometry, percent: u8) -> Line {
    const LABEL: &str = "hold ";
    let cells = geometry.columns() - LABEL.len() - 2;
    let full = cells * usize::from(percent.min(100)) / 100;
    let mut line = Line::new();
    write!(line, "{LABEL}[{:#<full$}{:.<rest$}]", "", "", rest = cells - full)
        .expect("one row of cells fits a line");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_the_row_at_any_progress() {
        for percent in [0, 1, 50, 99, 100] {
            assert_eq!(bar(Geometry::SMALL, percent).len(), 21, "{percent}");
        }
        assert_eq!(bar(Geometry::SMALL, 50), "hold [#######.......]");
    }

    #[test]
    fn a_geometry_keeps_room_for_the_widest_escape_and_a_body() {
        let tiny = Geometry::new(0, 0);
        assert!(tiny.columns() > crate::escape::MAX_ESCAPE);
        assert_eq!(tiny.body_rows(), 3);
        let huge = Geometry::new(255, 255);
        assert_eq!((huge.columns(), huge.rows()), (MAX_COLUMNS, MAX_ROWS));
    }

    #[test]
    fn a_screen_has_as_many_rows_as_its_geometry() {
        for geometry in [Geometry::SMALL, Geometry::LARGE] {
            assert_eq!(Screen::new(geometry, View::Idle).rows().len(), geometry.rows());
        }
    }
}

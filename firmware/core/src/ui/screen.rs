//! What to draw, in two forms: as structure ([`View`]) for code that acts on it, and as rows of text cells for code that
//! draws it.
//!
//! A screen is complete: drawing [`Screen::rows`], one character per cell, draws everything. Pixels are made from these
//! cells and from nothing else, so what the pages count is what a person sees.

use heapless::Vec;

use super::{
    geometry::{Geometry, MAX_ROWS},
    row::{Line, Row, Style},
    view::View,
};

/// Everything to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// The size for which it was laid out.
    pub geometry: Geometry,
    /// What it is about, as structure.
    pub view: View,
    /// The top row.
    pub header: Row,
    /// The rows below the header, together at most [`Geometry::body_rows`] high.
    pub body: Vec<Row, MAX_ROWS>,
    /// The bottom row: what the buttons do, Approve on the left, Deny on the right.
    pub footer: Row,
    /// Progress of a hold that will approve, or mute, 0 to 100. It is drawn in place of the footer.
    pub hold: Option<u8>,
}

impl Screen {
    /// An empty screen.
    pub fn new(geometry: Geometry, view: View) -> Self {
        let row = |style| Row { style, ..Row::default() };
        let (header, footer) = (row(Style::Head), row(Style::Quiet));
        Self { geometry, view, header, body: Vec::new(), footer, hold: None }
    }

    /// All rows, together exactly as high as the screen: header, body, and footer or progress bar. The bar takes the body's last
    /// row too if that is free.
    pub fn rows(&self) -> Vec<Row, MAX_ROWS> {
        let mut rows = Vec::new();
        let mut rows_left = self.geometry.body_rows();
        let mut add = |row| rows.push(row).expect("a geometry has at most MAX_ROWS rows");
        add(self.header.clone());
        for row in &self.body {
            let Some(rest) = rows_left.checked_sub(row.height()) else { break };
            rows_left = rest;
            add(row.clone());
        }
        let bar_rows = 1 + u8::from(self.hold.is_some() && rows_left > 0);
        rows_left -= usize::from(bar_rows) - 1;
        (0..rows_left).for_each(|_| add(Row::default()));
        // Behind a denial it is Deny that is held.
        let label = if matches!(self.view, View::Done { .. }) { "mute " } else { "hold " };
        let bar = |percent| Row::meter(self.geometry, label, percent, bar_rows);
        add(self.hold.map_or_else(|| self.footer.clone(), bar));
        rows
    }

    /// The same as text alone: exactly one line per row of the screen. Lines of enlarged text are not torn apart: what they leave
    /// free is below the last of them.
    pub fn cells(&self) -> Vec<Line, MAX_ROWS> {
        let mut lines: Vec<Line, MAX_ROWS> = Vec::new();
        let mut add = |line| lines.push(line).expect("a geometry has at most MAX_ROWS rows");
        let mut free_below = 0;
        for row in self.rows() {
            let is_text = matches!(row.style, Style::Large(_) | Style::Centred(_));
            if !is_text {
                (0..core::mem::take(&mut free_below)).for_each(|_| add(Line::new()));
            }
            add(match row.style {
                Style::Big(..) | Style::Centred(_) => Row::centred(self.geometry, &row.text).text,
                _ => row.text.clone(),
            });
            free_below += row.height() - 1;
        }
        (0..free_below).for_each(|_| add(Line::new()));
        lines
    }

    /// Sets the header; `left` is cut if both do not fit.
    pub fn set_header(&mut self, left: &str, right: &str) {
        self.header = Row::ends(self.geometry, left, right, Style::Head);
    }

    /// Sets the footer: what Approve does on the left, what Deny does on the right.
    pub fn set_footer(&mut self, approve: &str, deny: &str) {
        self.set_deciding_footer(approve, false, deny, false);
    }

    /// The same where a button decides: Approve by a hold that begins now, Deny by a short press.
    pub fn set_deciding_footer(&mut self, approve: &str, approves: bool, deny: &str, denies: bool) {
        let right = self.geometry.columns().saturating_sub(deny.chars().count());
        let right = u8::try_from(right).expect("a geometry has at most MAX_COLUMNS");
        self.footer = Row::ends(self.geometry, approve, deny, Style::Keys { right, approves, denies });
    }

    /// Adds one of our own rows to the body. The row is left out if a very low screen has no room for it; fields of a
    /// document are never added this way.
    pub fn push(&mut self, row: Row) {
        let used: usize = self.body.iter().map(Row::height).sum();
        if used + row.height() <= self.geometry.body_rows() {
            self.body.push(row).expect("a body has at most MAX_ROWS rows");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometry_keeps_room_for_the_widest_escape_and_a_body() {
        let tiny = Geometry::new(0, 0);
        assert!(tiny.columns() > crate::ui::escape::MAX_ESCAPE_CELLS);
        assert_eq!(tiny.body_rows(), 3);
        let huge = Geometry::new(255, 255);
        assert_eq!((huge.columns(), huge.rows()), (crate::ui::geometry::MAX_COLUMNS, MAX_ROWS));
    }

    #[test]
    fn a_screen_has_as_many_rows_as_its_geometry() {
        for geometry in [Geometry::SMALL, Geometry::LARGE] {
            let mut screen = Screen::new(geometry, View::Idle);
            assert_eq!((screen.rows().len(), screen.cells().len()), (geometry.rows(), geometry.rows()));
            for _ in 0..geometry.rows() {
                screen.push(Row::big(geometry, "14:05", 2, None));
            }
            assert_eq!(screen.rows().iter().map(Row::height).sum::<usize>(), geometry.rows());
            assert_eq!(screen.cells().len(), geometry.rows());
        }
    }

    #[test]
    fn lines_of_enlarged_text_stay_together() {
        let mut screen = Screen::new(Geometry::LARGE, View::Idle);
        for text in ["one", "two"] {
            screen.push(Row { style: Style::Large(2), ..Row::plain(text) });
        }
        screen.push(Row::plain("three"));
        let cells = screen.cells();
        assert_eq!(
            cells[1..6].iter().map(Line::as_str).collect::<std::vec::Vec<_>>(),
            ["one", "two", "", "", "three"]
        );
        assert_eq!(cells.len(), Geometry::LARGE.rows());
    }

    #[test]
    fn the_bar_of_a_hold_is_twice_as_high_where_there_is_room() {
        let mut screen = Screen::new(Geometry::SMALL, View::Idle);
        screen.hold = Some(50);
        assert_eq!(screen.rows().last().unwrap().height(), 2);
        (0..Geometry::SMALL.body_rows()).for_each(|_| screen.push(Row::plain("full")));
        assert_eq!(screen.rows().last().unwrap().height(), 1);
        assert_eq!(screen.rows().iter().map(Row::height).sum::<usize>(), Geometry::SMALL.rows());
    }
}

//! A label, a field, a large fact or a line of text as rows of the current page; what is full goes on on the next.

use core::fmt::{self, Write as _};

use super::Layout;
use crate::ui::{
    escape::Script,
    pictogram::Pictogram,
    row::{Line, Row, Size, Style},
};

/// Behind which characters an address is broken, first behind these and then behind those.
const BREAKS: [&[char]; 2] = [&[' ', ':', '@', '/'], &['.', '-', '_']];

impl Layout {
    /// A row with our own words.
    pub(super) fn label(&mut self, words: fmt::Arguments<'_>) {
        self.own(words, Style::Quiet);
    }

    /// A highlighted row with our own words.
    pub(super) fn note(&mut self, words: fmt::Arguments<'_>) {
        self.own(words, Style::Note);
    }

    pub(super) fn own(&mut self, words: fmt::Arguments<'_>, style: Style) {
        let mut line = Line::new();
        line.write_fmt(words).expect("labels are short");
        self.flow(("", " "), &line, Script::Machine, self.geometry.columns(), style);
    }

    /// A field of the document, after its label.
    pub(super) fn field(&mut self, label: &str, value: &str, script: Script) {
        let cells = u8::try_from(label.len()).expect("labels are short");
        self.flow((label, " "), value, script, self.geometry.columns(), Style::Field(cells));
    }

    /// A field that matters first: as large as it fits a row, on a large screen two; otherwise as any other.
    pub(super) fn fact(
        &mut self,
        sizes: &[Size],
        label: &str,
        value: &str,
        script: Script,
        pictogram: Option<Pictogram>,
    ) {
        // What is blank is nothing without its label.
        if value.trim().is_empty() {
            return self.field(label, value, script);
        }
        let half = Size::Two.columns(self.geometry, pictogram.is_some());
        let (mut line, mut used) = (Line::new(), 0);
        // Where the first of two rows can end, in bytes and cells: the last is where it is full.
        let mut ends = [None; BREAKS.len() + 1];
        for c in value.chars() {
            let glyph = script.glyph(c);
            used += glyph.width();
            if used > 2 * half || write!(line, "{glyph}").is_err() {
                return self.field(label, value, script);
            }
            if used <= half {
                let at = BREAKS.iter().position(|breaks| breaks.contains(&c)).unwrap_or(BREAKS.len());
                (ends[at], ends[BREAKS.len()]) = (Some((line.len(), used)), Some((line.len(), used)));
            }
        }
        if let Some(row) = Row::fact(sizes, self.geometry, label, &line, pictogram) {
            return self.row(row);
        }
        let end = ends.into_iter().flatten().find(|(_, cells)| used - cells <= half);
        let rows = end.filter(|_| self.geometry.is_large()).and_then(|(end, _)| {
            let (first, second) = line.split_at(end);
            // What continues a field never begins a row.
            let row = |label, text| Row::fact(&[Size::Two], self.geometry, label, text, pictogram);
            row(label, first).zip(row(" ", second))
        });
        match rows {
            Some((first, second)) => {
                self.row(first);
                self.row(second);
            }
            None => self.field(label, value, script),
        }
    }

    /// Writes a label and `text`, glyph by glyph, in rows of so many cells; each further row begins with the indent.
    pub(super) fn flow(
        &mut self,
        (label, indent): (&str, &str),
        text: &str,
        script: Script,
        columns: usize,
        mut style: Style,
    ) {
        let mut line = Line::new();
        line.push_str(label).expect("labels are short");
        let mut used = label.len();
        for glyph in text.chars().map(|c| script.glyph(c)) {
            if used + glyph.width() > columns {
                self.row(Row { text: core::mem::take(&mut line), style });
                if let Style::Field(_) = style {
                    style = Style::Plain;
                }
                line.push_str(indent).expect("an indent is short");
                used = indent.len();
            }
            used += glyph.width();
            write!(line, "{glyph}").expect("cells within the columns fit a line");
        }
        self.row(Row { text: line, style });
    }

    /// Begins a new page unless this one has room for so many rows.
    pub(super) fn keep_together(&mut self, rows: usize) {
        if self.used + rows > self.geometry.body_rows() {
            self.page(self.title);
        }
    }

    fn row(&mut self, row: Row) {
        self.keep_together(row.height());
        self.used += row.height();
        if self.sheet.count == self.wanted {
            self.sheet.rows.push(row).expect("a page has at most MAX_ROWS rows");
        }
    }

    pub(super) fn page(&mut self, title: &'static str) {
        self.title = title;
        self.sheet.count = self.sheet.count.saturating_add(1);
        self.used = 0;
        if self.sheet.count == self.wanted {
            self.sheet.title = title;
        }
        if let Some(marker) = self.marker.clone() {
            self.row(Row { text: marker, style: Style::Quiet });
        }
    }
}

//! Tables, and what becomes of them where there are none.
//!
//! A row is never cut while it fits in a part, and the header goes with every part that has rows.

use std::borrow::Cow;
use std::ops::Range;

use gatepost_chunk::display_width;

use super::link::Links;
use super::look::Look;
use super::text::{Text, Texts};

/// The widest column that cells are padded to; a longer cell pushes its row to the right, not all the others.
const WIDEST_PADDED: usize = 40;

/// Where a table is among the texts of a document: cells one behind the other, row by row, the header first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    /// The first cell of the header.
    pub(super) first: usize,
    pub(super) columns: usize,
    pub(super) rows: Range<usize>,
}

/// A table, or some of its rows.
#[derive(Debug, Clone)]
pub(super) struct Table<'a> {
    texts: &'a Texts,
    grid: Grid,
}

impl<'a> Table<'a> {
    pub(super) fn new(texts: &'a Texts, grid: &Grid) -> Self {
        Self { texts, grid: grid.clone() }
    }

    /// The same table with some of its rows.
    pub(super) fn with_rows(&self, rows: Range<usize>) -> Self {
        let first = self.grid.rows.start;
        let rows = first + rows.start..first + rows.end;
        Self { texts: self.texts, grid: Grid { rows, ..self.grid } }
    }

    pub(super) fn rows(&self) -> usize {
        self.grid.rows.len()
    }

    /// The texts of the header.
    fn header(&self) -> Range<usize> {
        self.grid.first..self.grid.first + self.grid.columns
    }

    /// The texts of all rows.
    fn body(&self) -> Range<usize> {
        let Grid { first, columns, rows } = &self.grid;
        first + columns * (1 + rows.start)..first + columns * (1 + rows.end)
    }

    /// The cells of a row, or of the header.
    pub(super) fn cells(&self, row: Option<usize>) -> impl Iterator<Item = Text<'a>> + use<'a> {
        let first = row.map_or(self.grid.first, |row| self.body().start + row * self.grid.columns);
        let texts = self.texts;
        (first..first + self.grid.columns).map(|cell| texts.get(cell))
    }

    /// The cells of the header and of all rows.
    fn all_cells(&self) -> impl Iterator<Item = Text<'a>> {
        self.header().chain(self.body()).map(|cell| self.texts.get(cell))
    }

    pub(super) fn is_blank(&self) -> bool {
        self.all_cells().all(Text::is_blank)
    }

    pub(super) fn has_links(&self) -> bool {
        self.texts.have_links(self.header()) || self.texts.have_links(self.body())
    }

    /// The header and all rows, each as one line: their cells aligned by display columns with a rule below the header,
    /// or only separated by bars.
    pub(super) fn lines(&self, are_aligned: bool, links: Links) -> Lines {
        let cells = self.written_cells(links);
        let columns = self.grid.columns;
        let widths = if are_aligned { widths(&cells, columns) } else { Vec::new() };
        let bytes = cells.iter().map(|(cell, _)| cell.len() + " | ".len()).sum::<usize>();
        let aligned = widths.iter().map(|width| width + " | ".len()).sum::<usize>() * (self.rows() + 2);
        let mut lines = Lines {
            text: String::with_capacity(bytes.max(aligned)),
            ends: Vec::with_capacity(self.rows() + 2),
            head: if are_aligned { 2 } else { 1 },
        };
        for row in cells.chunks(columns.max(1)) {
            let mut padding = 0;
            for (column, (cell, width)) in row.iter().enumerate() {
                fill(&mut lines.text, "                ", padding);
                if column > 0 {
                    lines.text.push_str(" | ");
                }
                lines.text.push_str(cell);
                padding = widths.get(column).map_or(0, |wide| wide.saturating_sub(*width));
            }
            lines.end();
            if are_aligned && lines.ends.len() == 1 {
                for (column, width) in widths.iter().enumerate() {
                    lines.text.push_str(if column > 0 { "-|-" } else { "" });
                    fill(&mut lines.text, "----------------", (*width).max(1));
                }
                lines.end();
            }
        }
        lines
    }

    /// Every cell as it is written, and its display columns.
    fn written_cells(&self, links: Links) -> Vec<(Cow<'a, str>, usize)> {
        let mut cells = Vec::with_capacity(self.grid.columns * (self.rows() + 1));
        cells.extend(self.all_cells().map(|cell| {
            let written = cell.written(links);
            let width = display_width(&written);
            (written, width)
        }));
        cells
    }

    /// The header as one line, its cells separated by bars.
    pub(super) fn header_line(&self, links: Links) -> String {
        let cells: Vec<_> = self.cells(None).map(|cell| cell.written(links)).collect();
        cells.join(" | ").trim_end().to_owned()
    }

    /// A row as a line of styled text, for where it has to be cut.
    pub(super) fn text_line(&self, row: Option<usize>) -> Texts {
        let mut line = Texts::default();
        for (column, cell) in self.cells(row).enumerate() {
            if column > 0 {
                line.push(" | ", Look::PLAIN);
            }
            line.append(cell);
        }
        line
    }

    /// A row as lines of styled text, each cell behind its header.
    pub(super) fn bullet(&self, row: usize) -> Texts {
        let mut text = Texts::default();
        for (header, cell) in self.cells(None).zip(self.cells(Some(row))).filter(|(_, cell)| !cell.is_blank())
        {
            if !text.open().as_str().is_empty() {
                text.push("\n", Look::PLAIN);
            }
            if !header.is_blank() {
                text.append(header);
                text.push(": ", Look::PLAIN);
            }
            text.append(cell);
        }
        text
    }
}

/// Adds `count` bytes of `some`, which is one sign of ASCII over and over.
pub(super) fn fill(out: &mut String, some: &str, count: usize) {
    for _ in 0..count / some.len() {
        out.push_str(some);
    }
    out.push_str(&some[..count % some.len()]);
}

/// The lines of a table, written out.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    text: String,
    /// Where each line ends.
    ends: Vec<usize>,
    /// How many of them are its head.
    head: usize,
}

impl Lines {
    /// Ends a line, without white space there.
    fn end(&mut self) {
        let start = self.ends.last().map_or(0, |end| end + 1);
        let end = start + self.text[start..].trim_end().len();
        self.text.truncate(end);
        self.text.push('\n');
        self.ends.push(end);
    }

    fn line(&self, at: usize) -> &str {
        self.stretch(at..at + 1)
    }

    /// The lines that go before the rows of every part.
    pub(super) fn head(&self) -> impl Iterator<Item = &str> {
        (0..self.head).map(|at| self.line(at))
    }

    pub(super) fn row(&self, row: usize) -> &str {
        self.line(self.head + row)
    }

    /// The head and then `rows`, each as one stretch of lines; nothing where there are no rows.
    pub(super) fn stretches(&self, rows: &Range<usize>) -> [&str; 2] {
        [self.stretch(0..self.head), self.stretch(self.head + rows.start..self.head + rows.end)]
    }

    fn stretch(&self, lines: Range<usize>) -> &str {
        let Some(last) = lines.end.checked_sub(1).filter(|last| lines.start <= *last) else { return "" };
        let start = lines.start.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        &self.text[start..self.ends[last]]
    }

    /// All of them, each with its end.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The display columns of each column: Markdown gives every row as many cells as the header.
fn widths(cells: &[(Cow<'_, str>, usize)], columns: usize) -> Vec<usize> {
    let mut widths = vec![0; columns];
    for row in cells.chunks(columns.max(1)) {
        for (width, (_, columns)) in widths.iter_mut().zip(row) {
            *width = (*width).max((*columns).min(WIDEST_PADDED));
        }
    }
    widths
}

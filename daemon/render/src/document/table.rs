//! Tables: their cells, and their rows as lines for platforms that have no tables.
//!
//! A row is never cut if it fits in a part, and the header is repeated in every part that has rows.

use std::borrow::Cow;
use std::ops::Range;

use gatepost_chunk::display_width;

use super::link::UrlForm;
use super::style::TextStyle;
use super::text::Text;
use super::texts::Texts;

/// The widest column to pad cells to, in display columns. A longer cell shifts its own row to the right instead of
/// widening all others.
const MAX_PADDED_WIDTH: usize = 40;

const COLUMN_SEPARATOR: &str = " | ";

/// Where the cells of a table are among the texts of a document: row by row, the header first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The text of the header's first cell.
    pub(crate) first: usize,
    pub(crate) columns: usize,
    pub(crate) rows: Range<usize>,
}

/// A table, or some of its rows.
#[derive(Debug, Clone)]
pub(crate) struct Table<'a> {
    texts: &'a Texts,
    grid: Grid,
}

impl<'a> Table<'a> {
    pub(crate) fn new(texts: &'a Texts, grid: &Grid) -> Self {
        Self { texts, grid: grid.clone() }
    }

    /// The same table with some of its rows.
    pub(crate) fn with_rows(&self, rows: Range<usize>) -> Self {
        let first = self.grid.rows.start;
        let rows = first + rows.start..first + rows.end;
        Self { texts: self.texts, grid: Grid { rows, ..self.grid } }
    }

    /// The number of rows without the header.
    pub(crate) fn rows(&self) -> usize {
        self.grid.rows.len()
    }

    fn header_texts(&self) -> Range<usize> {
        self.grid.first..self.grid.first + self.grid.columns
    }

    fn body_texts(&self) -> Range<usize> {
        let Grid { first, columns, rows } = &self.grid;
        first + columns * (1 + rows.start)..first + columns * (1 + rows.end)
    }

    /// The cells of a row; those of the header for `None`.
    pub(crate) fn cells(&self, row: Option<usize>) -> impl Iterator<Item = Text<'a>> + use<'a> {
        let first = row.map_or(self.grid.first, |row| self.body_texts().start + row * self.grid.columns);
        let texts = self.texts;
        (first..first + self.grid.columns).map(|cell| texts.get(cell))
    }

    fn all_cells(&self) -> impl Iterator<Item = Text<'a>> {
        self.header_texts().chain(self.body_texts()).map(|cell| self.texts.get(cell))
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.all_cells().all(Text::is_blank)
    }

    pub(crate) fn has_links(&self) -> bool {
        self.texts.have_links(self.header_texts()) || self.texts.have_links(self.body_texts())
    }

    /// The header and all rows as one line each: the cells aligned by display columns with a rule below the header, or
    /// only separated by bars.
    pub(crate) fn lines(&self, are_aligned: bool, urls: UrlForm) -> TableLines {
        let cells = self.measured_cells(urls);
        let columns = self.grid.columns;
        let widths = if are_aligned { column_widths(&cells, columns) } else { Vec::new() };
        let bytes = cells.iter().map(|(cell, _)| cell.len() + COLUMN_SEPARATOR.len()).sum::<usize>();
        let aligned_line = widths.iter().map(|width| width + COLUMN_SEPARATOR.len()).sum::<usize>();
        let aligned_bytes = aligned_line * (self.rows() + 2);
        let mut lines = TableLines {
            text: String::with_capacity(bytes.max(aligned_bytes)),
            ends: Vec::with_capacity(self.rows() + 2),
            head_lines: if are_aligned { 2 } else { 1 },
        };
        for row in cells.chunks(columns.max(1)) {
            lines.push_row(row, &widths);
            if are_aligned && lines.ends.len() == 1 {
                lines.push_rule(&widths);
            }
        }
        lines
    }

    /// The text of every cell with its width in display columns.
    fn measured_cells(&self, urls: UrlForm) -> Vec<(Cow<'a, str>, usize)> {
        let mut cells = Vec::with_capacity(self.grid.columns * (self.rows() + 1));
        cells.extend(self.all_cells().map(|cell| {
            let text = cell.with_urls(urls);
            let width = display_width(&text);
            (text, width)
        }));
        cells
    }

    /// The header as one line, with bars between its cells.
    pub(crate) fn header_line(&self, urls: UrlForm) -> String {
        let cells: Vec<_> = self.cells(None).map(|cell| cell.with_urls(urls)).collect();
        cells.join(COLUMN_SEPARATOR).trim_end().to_owned()
    }

    /// A row as one line of styled text, which can be cut like any other text.
    pub(crate) fn row_text(&self, row: Option<usize>) -> Texts {
        let mut line = Texts::default();
        for (column, cell) in self.cells(row).enumerate() {
            if column > 0 {
                line.push(COLUMN_SEPARATOR, TextStyle::PLAIN);
            }
            line.append(cell);
        }
        line
    }

    /// A row as lines of styled text, with each cell after its header.
    pub(crate) fn bullet_text(&self, row: usize) -> Texts {
        let mut text = Texts::default();
        for (header, cell) in self.cells(None).zip(self.cells(Some(row))).filter(|(_, cell)| !cell.is_blank())
        {
            if !text.open().as_str().is_empty() {
                text.push("\n", TextStyle::PLAIN);
            }
            if !header.is_blank() {
                text.append(header);
                text.push(": ", TextStyle::PLAIN);
            }
            text.append(cell);
        }
        text
    }
}

/// Appends `count` bytes to `out`, copied from `repeated`, which repeats one ASCII character.
#[inline]
pub(crate) fn push_repeated(out: &mut String, repeated: &str, count: usize) {
    for _ in 0..count / repeated.len() {
        out.push_str(repeated);
    }
    out.push_str(&repeated[..count % repeated.len()]);
}

/// The written lines of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableLines {
    text: String,
    /// Where each line ends.
    ends: Vec<usize>,
    /// How many lines the header takes, with its rule.
    head_lines: usize,
}

impl TableLines {
    fn push_row(&mut self, row: &[(Cow<'_, str>, usize)], widths: &[usize]) {
        let mut padding = 0;
        for (column, (cell, width)) in row.iter().enumerate() {
            push_repeated(&mut self.text, "                ", padding);
            if column > 0 {
                self.text.push_str(COLUMN_SEPARATOR);
            }
            self.text.push_str(cell);
            padding = widths.get(column).map_or(0, |wide| wide.saturating_sub(*width));
        }
        self.end_line();
    }

    /// The line of hyphens below the header.
    fn push_rule(&mut self, widths: &[usize]) {
        for (column, width) in widths.iter().enumerate() {
            self.text.push_str(if column > 0 { "-|-" } else { "" });
            push_repeated(&mut self.text, "----------------", (*width).max(1));
        }
        self.end_line();
    }

    /// Ends a line, and removes white space from its end.
    fn end_line(&mut self) {
        let start = self.ends.last().map_or(0, |end| end + 1);
        let end = start + self.text[start..].trim_end().len();
        self.text.truncate(end);
        self.text.push('\n');
        self.ends.push(end);
    }

    fn line(&self, at: usize) -> &str {
        self.joined(at..at + 1)
    }

    /// The lines that precede the rows in every part.
    pub(crate) fn head(&self) -> impl Iterator<Item = &str> {
        (0..self.head_lines).map(|at| self.line(at))
    }

    pub(crate) fn row(&self, row: usize) -> &str {
        self.line(self.head_lines + row)
    }

    /// The lines of the head, and those of `rows`, which are empty if there are no rows.
    pub(crate) fn head_and_rows(&self, rows: &Range<usize>) -> [&str; 2] {
        let first = self.head_lines;
        [self.joined(0..first), self.joined(first + rows.start..first + rows.end)]
    }

    fn joined(&self, lines: Range<usize>) -> &str {
        let Some(last) = lines.end.checked_sub(1).filter(|last| lines.start <= *last) else { return "" };
        let start = lines.start.checked_sub(1).map_or(0, |previous| self.ends[previous] + 1);
        &self.text[start..self.ends[last]]
    }

    /// All lines, each with its line end.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The width of each column in display columns. Markdown gives every row as many cells as the header.
fn column_widths(cells: &[(Cow<'_, str>, usize)], columns: usize) -> Vec<usize> {
    let mut widths = vec![0; columns];
    for row in cells.chunks(columns.max(1)) {
        for (widest, (_, width)) in widths.iter_mut().zip(row) {
            *widest = (*widest).max((*width).min(MAX_PADDED_WIDTH));
        }
    }
    widths
}

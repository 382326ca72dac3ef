//! Tables, and what becomes of them where there are none.
//!
//! A row is never cut while it fits in a part, and the header goes with every part that has rows.

use gatepost_chunk::display_width;

use super::link::Links;
use super::look::Look;
use super::text::Text;

/// The widest column that cells are padded to; a longer cell pushes its row to the right, not all the others.
const WIDEST_PADDED: usize = 40;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) header: Vec<Text>,
    pub(super) rows: Vec<Vec<Text>>,
}

impl Table {
    pub(super) fn is_blank(&self) -> bool {
        self.header.iter().chain(self.rows.iter().flatten()).all(Text::is_blank)
    }

    /// The cells of a row, or of the header.
    pub(super) fn cells(&self, row: Option<usize>) -> &[Text] {
        row.map_or(&self.header, |row| &self.rows[row])
    }

    pub(super) fn has_links(&self) -> bool {
        self.header.iter().chain(self.rows.iter().flatten()).any(|cell| !cell.links().is_empty())
    }

    /// The header and all rows, each as one line: their cells aligned by display columns with a rule below the header,
    /// or only separated by bars.
    pub(super) fn lines(&self, are_aligned: bool, links: Links) -> Lines {
        let cells = Cells::new(self, links);
        let widths = if are_aligned { cells.widths(self.header.len()) } else { Vec::new() };
        let mut lines =
            Lines { text: String::new(), ends: Vec::new(), head: if are_aligned { 2 } else { 1 } };
        let mut cells = cells.iter();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let mut padding = 0;
            for column in 0..row.len() {
                let Some((cell, width)) = cells.next() else { break };
                lines.text.extend(std::iter::repeat_n(' ', padding));
                if column > 0 {
                    lines.text.push_str(" | ");
                }
                lines.text.push_str(cell);
                padding = widths.get(column).map_or(0, |wide| wide.saturating_sub(width));
            }
            lines.end();
            if are_aligned && lines.ends.len() == 1 {
                for (column, width) in widths.iter().enumerate() {
                    lines.text.push_str(if column > 0 { "-|-" } else { "" });
                    lines.text.extend(std::iter::repeat_n('-', (*width).max(1)));
                }
                lines.end();
            }
        }
        lines
    }

    /// The header or a row as one line, its cells separated by bars.
    pub(super) fn plain_line(&self, row: Option<usize>, links: Links) -> String {
        let cells: Vec<_> = self.cells(row).iter().map(|cell| cell.written(links)).collect();
        cells.join(" | ").trim_end().to_owned()
    }

    /// A row as a line of styled text, for where it has to be cut.
    pub(super) fn text_line(&self, row: Option<usize>) -> Text {
        let mut line = Text::default();
        for (column, cell) in self.cells(row).iter().enumerate() {
            if column > 0 {
                line.push(" | ", Look::default());
            }
            line.append(cell);
        }
        line
    }

    /// A row as lines of styled text, each cell behind its header.
    pub(super) fn bullet(&self, row: usize) -> Text {
        let mut text = Text::default();
        for (column, cell) in self.rows[row].iter().enumerate().filter(|(_, cell)| !cell.is_blank()) {
            if !text.as_str().is_empty() {
                text.push("\n", Look::default());
            }
            if let Some(header) = self.header.get(column).filter(|header| !header.is_blank()) {
                text.append(header);
                text.push(": ", Look::default());
            }
            text.append(cell);
        }
        text
    }
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
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        &self.text[start..self.ends[at]]
    }

    /// The lines that go before the rows of every part.
    pub(super) fn head(&self) -> impl Iterator<Item = &str> {
        (0..self.head).map(|at| self.line(at))
    }

    pub(super) fn row(&self, row: usize) -> &str {
        self.line(self.head + row)
    }

    /// All of them, each with its end.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The cells of a table, written out one behind the other, header first.
struct Cells {
    text: String,
    /// Where each ends, and its display columns.
    ends: Vec<(usize, usize)>,
}

impl Cells {
    fn new(table: &Table, links: Links) -> Self {
        let cells = || table.header.iter().chain(table.rows.iter().flatten());
        let mut text = String::with_capacity(cells().map(|cell| cell.as_str().len()).sum());
        let mut ends = Vec::with_capacity(table.header.len() * (table.rows.len() + 1));
        for cell in cells() {
            let start = text.len();
            cell.write(0..cell.as_str().len(), links, "\n", &mut text);
            ends.push((text.len(), display_width(&text[start..])));
        }
        Self { text, ends }
    }

    fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        starts.zip(&self.ends).map(|(start, (end, width))| (&self.text[start..*end], *width))
    }

    /// The display columns of each column: Markdown gives every row as many cells as the header.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let mut widths = vec![0; columns];
        for row in self.ends.chunks(columns.max(1)) {
            for (width, (_, columns)) in widths.iter_mut().zip(row) {
                *width = (*width).max((*columns).min(WIDEST_PADDED));
            }
        }
        widths
    }
}

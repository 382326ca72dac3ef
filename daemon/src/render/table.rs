//! Tables, and what becomes of them where there are none.
//!
//! A row is never cut while it fits in a part, and the header goes with every part that has rows.

use gatepost_chunk::display_width;

use super::text::{Links, Look, Text};

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

    /// The display columns of each column.
    pub(super) fn widths(&self, links: Links) -> Vec<usize> {
        let mut widths = vec![0; self.header.len()];
        for cells in std::iter::once(&self.header).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(display_width(&cell.written(links)).min(WIDEST_PADDED));
            }
        }
        widths
    }

    /// A row as one line, its cells aligned to `widths`.
    pub(super) fn aligned_line(&self, row: Option<usize>, widths: &[usize], links: Links) -> String {
        let mut line = String::new();
        for (column, cell) in self.cells(row).iter().enumerate() {
            if column > 0 {
                line.push_str(" | ");
            }
            let cell = cell.written(links);
            line.push_str(&cell);
            let width = widths.get(column).copied().unwrap_or(0);
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(display_width(&cell))));
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// The line between the header and the rows.
    pub(super) fn rule_line(widths: &[usize]) -> String {
        widths.iter().map(|width| "-".repeat((*width).max(1))).collect::<Vec<_>>().join("-|-")
    }

    /// A row as one line, its cells separated by bars.
    pub(super) fn plain_line(&self, row: Option<usize>, links: Links) -> String {
        self.cells(row)
            .iter()
            .map(|cell| cell.written(links))
            .collect::<Vec<_>>()
            .join(" | ")
            .trim_end()
            .to_owned()
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

//! A table with its lines written out.

use std::ops::Range;

use crate::document::{Table, TableLines, UrlForm};

pub(crate) struct TableLayout<'a> {
    pub(crate) table: Table<'a>,
    pub(crate) form: TableForm,
    /// The lines for readers.
    lines: TableLines,
    /// The lines for approvers, if links make them differ.
    shown_lines: Option<TableLines>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableForm {
    /// As markup; aligned in plain text.
    Native,
    /// Aligned, in a code block.
    Code,
    /// With bars between the cells.
    Plain,
}

impl<'a> TableLayout<'a> {
    pub(super) fn new(table: Table<'a>, form: TableForm) -> Self {
        let lines = |urls| table.lines(form != TableForm::Plain, urls);
        let (lines, shown_lines) = (lines(UrlForm::Round), table.has_links().then(|| lines(UrlForm::Angle)));
        Self { table, form, lines, shown_lines }
    }

    pub(super) fn lines(&self, urls: UrlForm) -> &TableLines {
        self.shown_lines.as_ref().filter(|_| urls == UrlForm::Angle).unwrap_or(&self.lines)
    }

    /// A row as one line.
    pub(crate) fn row(&self, row: usize, urls: UrlForm) -> &str {
        self.lines(urls).row(row)
    }

    /// The lines of the header, and those of `rows` if there are any.
    pub(crate) fn head_and_rows(&self, rows: &Range<usize>, urls: UrlForm) -> impl Iterator<Item = &str> {
        let [head, rows] = self.lines(urls).head_and_rows(rows);
        std::iter::once(head).chain((!rows.is_empty()).then_some(rows))
    }

    /// About how many bytes the header and `rows` take.
    pub(super) fn estimated_bytes(&self, rows: &Range<usize>) -> usize {
        self.head_and_rows(rows, UrlForm::Round).map(|lines| lines.len() + rows.len()).sum()
    }

    /// The number of rows without the header.
    pub(crate) fn rows(&self) -> usize {
        self.table.rows()
    }
}

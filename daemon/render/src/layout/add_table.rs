//! Tables, and what becomes of them if there is no room for their header or for some of their rows.

use std::ops::Range;

use crate::document::{Container, ContainerKind, Table, UrlForm};
use crate::markup::escape_table_lines;

use super::add_code::fence_longer_than_in;
use super::builder::Builder;
use super::model::{Block, Layout};
use super::table::{TableForm, TableLayout};

/// What is around the rows of a table in every part.
struct Frame {
    fence: String,
    shown_fence: String,
    units_before: usize,
    units_after: usize,
}

impl Frame {
    fn units(&self) -> usize {
        self.units_before + self.units_after
    }
}

impl<'a> Builder<'a> {
    /// Adds a table as one leaf, unless some of its rows are too long for a part: those become text.
    pub(super) fn add_table(&mut self, parent: Option<usize>, table: Table<'a>, form: TableForm) {
        let markup = self.layout.markup;
        let has_fence = || markup.has_fences(self.layout.is_in_quote(parent));
        if form == TableForm::Code && markup.has_marks() && !has_fence() {
            return self.add_table(parent, table, TableForm::Plain);
        }
        let whole = TableLayout::new(table, form);
        let frame = self.frame(parent, &whole);
        if frame.units() > self.layout.limit / 2 {
            for row in std::iter::once(None).chain((0..whole.rows()).map(Some)) {
                self.add_row_text(parent, &whole.table, row);
            }
            return;
        }
        let room = self.layout.limit - frame.units();
        let fits = |row: usize| {
            let line = whole.row(row, UrlForm::Round);
            // No unit is smaller than a byte, so a short line need not be counted.
            !markup.replaces() && line.len() <= room || self.layout.table_line_units(line, form) <= room
        };
        let too_long: Vec<usize> = (0..whole.rows()).filter(|row| !fits(*row)).collect();
        if too_long.is_empty() {
            return self.push_table(parent, whole, frame);
        }
        let table = whole.table;
        let mut next = 0;
        for row in too_long {
            if row > next || row == 0 {
                self.push_rows(parent, &table, next..row, form);
            }
            self.add_row_text(parent, &table, Some(row));
            next = row + 1;
        }
        if next < table.rows() {
            self.push_rows(parent, &table, next..table.rows(), form);
        }
    }

    /// Adds some rows as a table. Its columns are at most as wide as in the whole table, so all of the rows still fit.
    fn push_rows(&mut self, parent: Option<usize>, table: &Table<'a>, rows: Range<usize>, form: TableForm) {
        let table = TableLayout::new(table.with_rows(rows), form);
        let frame = self.frame(parent, &table);
        self.push_table(parent, table, frame);
    }

    fn frame(&self, parent: Option<usize>, table: &TableLayout<'_>) -> Frame {
        let layout = &self.layout;
        let lines = table.lines(UrlForm::Round);
        let (mut fence, mut shown_fence) = Default::default();
        if table.form == TableForm::Code {
            shown_fence = fence_longer_than_in(lines.as_str());
            if layout.markup.has_fences(layout.is_in_quote(parent)) {
                fence = self.fence_for(lines.as_str());
            }
        }
        let prefixes = layout.prefixes(parent, layout.leaves.len(), layout.markup);
        let (first, prefix) = (self.prefix_units(&prefixes), layout.unit.count(&prefixes.rest));
        let head: usize =
            lines.head().map(|line| layout.table_line_units(line, table.form) + 1 + prefix).sum();
        let units_after = if fence.is_empty() { 0 } else { fence.len() + 1 + prefix };
        // Without rows, no line follows the header.
        let last_break = if table.rows() == 0 { 1 + prefix } else { 0 };
        Frame { fence, shown_fence, units_before: first + units_after + head - last_break, units_after }
    }

    fn push_table(&mut self, parent: Option<usize>, table: TableLayout<'a>, frame: Frame) {
        let at = self.layout.leaves.len();
        self.push(parent, Block::Table(Box::new(table)));
        self.count_tag(at, "<pre></pre>".len());
        let Frame { fence, shown_fence, units_before, units_after } = frame;
        let leaf = &mut self.layout.leaves[at];
        (leaf.fence, leaf.shown_fence) = (fence, shown_fence);
        (leaf.units_before, leaf.units_after) = (units_before, units_after);
    }

    fn add_row_text(&mut self, parent: Option<usize>, table: &Table<'_>, row: Option<usize>) {
        self.add_text(parent, None, table.row_text(row).into());
    }

    /// Adds a table as a list with one item per row.
    pub(super) fn add_bullets(&mut self, parent: Option<usize>, table: &Table<'_>) {
        if table.rows() == 0 {
            return self.add_row_text(parent, table, None);
        }
        let containers = self.layout.containers.to_mut();
        let depth = parent.map_or(0, |parent| containers[parent].depth + 1);
        let list = containers.len();
        let kind = ContainerKind::List { ordered: false, tight: true };
        containers.push(Container { parent, depth, kind });
        for row in 0..table.rows() {
            let text = table.bullet_text(row);
            if text.open().is_blank() {
                continue;
            }
            let containers = self.layout.containers.to_mut();
            let item = containers.len();
            let kind = ContainerKind::Item { number: None };
            containers.push(Container { parent: Some(list), depth: depth + 1, kind });
            self.add_text(Some(item), None, text.into());
        }
    }
}

impl Layout<'_> {
    /// The units of a line of a table.
    pub(crate) fn table_line_units(&self, line: &str, form: TableForm) -> usize {
        self.unit.count(&escape_table_lines(self.markup, line, form == TableForm::Code))
    }
}

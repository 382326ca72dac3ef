//! Tables with their lines written out, and what becomes of them where their header or their rows find no room.

use std::ops::Range;

use super::super::escape;
use super::super::link::Links;
use super::super::table::Lines;
use super::super::tree::{Container, Node};
use super::code::fence_around;
use super::{Block, Indents, Layout, Pen, Table};

pub(in super::super) struct LaidTable<'a> {
    pub(in super::super) table: Table<'a>,
    pub(in super::super) form: Form,
    /// The lines for readers.
    round: Lines,
    /// The lines for approvers, where links make them differ.
    angle: Option<Lines>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Form {
    /// As markup; aligned in plain text.
    Native,
    /// Aligned, in a code block.
    Code,
    /// Bars between the cells.
    Plain,
}

impl<'a> LaidTable<'a> {
    fn new(table: Table<'a>, form: Form) -> Self {
        let lines = |links| table.lines(form != Form::Plain, links);
        let (round, angle) = (lines(Links::Round), table.has_links().then(|| lines(Links::Angle)));
        Self { table, form, round, angle }
    }

    fn lines(&self, links: Links) -> &Lines {
        self.angle.as_ref().filter(|_| links == Links::Angle).unwrap_or(&self.round)
    }

    /// A row as one line.
    pub(in super::super) fn line(&self, row: usize, links: Links) -> &str {
        self.lines(links).row(row)
    }

    /// The lines that go before the rows of every part.
    pub(in super::super) fn head(&self, links: Links) -> impl Iterator<Item = &str> {
        self.lines(links).head()
    }

    /// The head and some rows, each as one stretch of lines.
    pub(in super::super) fn stretches(
        &self,
        rows: &Range<usize>,
        links: Links,
    ) -> impl Iterator<Item = &str> {
        let [head, rows] = self.lines(links).stretches(rows);
        std::iter::once(head).chain((!rows.is_empty()).then_some(rows))
    }

    /// The bytes of the head and of some rows.
    pub(super) fn bytes(&self, rows: &Range<usize>) -> usize {
        self.stretches(rows, Links::Round).map(|lines| lines.len() + rows.len()).sum()
    }

    pub(in super::super) fn rows(&self) -> usize {
        self.table.rows()
    }
}

/// What is around the rows of a table in every part.
struct Frame {
    fence: String,
    backticks: String,
    lead: usize,
    tail: usize,
}

impl<'a> Layout<'a> {
    /// Adds a table, as one leaf unless some of its rows have to be cut.
    pub(super) fn add_table(&mut self, parent: Option<usize>, table: Table<'a>, form: Form) {
        if form == Form::Code && self.pen.has_marks() && !self.pen.fences(self.in_quote(parent)) {
            return self.add_table(parent, table, Form::Plain);
        }
        let whole = LaidTable::new(table, form);
        let frame = self.frame(parent, &whole);
        if frame.lead + frame.tail > self.limit / 2 {
            for row in std::iter::once(None).chain((0..whole.rows()).map(Some)) {
                self.add_row_text(parent, &whole.table, row);
            }
            return;
        }
        let room = self.limit - frame.lead - frame.tail;
        let fits = |row: usize| {
            let line = whole.line(row, Links::Round);
            // No unit is smaller than a byte.
            !self.pen.has_marks() && line.len() <= room || self.line_cost(line, form) <= room
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

    /// Adds some rows as a table. Columns only get narrower than in the whole table, so all of them still fit.
    fn push_rows(&mut self, parent: Option<usize>, table: &Table<'a>, rows: Range<usize>, form: Form) {
        let laid = LaidTable::new(table.with_rows(rows), form);
        let frame = self.frame(parent, &laid);
        self.push_table(parent, laid, frame);
    }

    fn frame(&self, parent: Option<usize>, table: &LaidTable<'_>) -> Frame {
        let (mut fence, mut backticks) = Default::default();
        if table.form == Form::Code {
            let whole = table.lines(Links::Round).as_str();
            backticks = fence_around(whole);
            if self.pen.fences(self.in_quote(parent)) {
                fence = self.fence_for(whole);
            }
        }
        let Indents { indent, marked } = self.indents(parent, self.leaves.len(), self.pen);
        let first = self.unit.count(&indent).max(self.unit.count(&marked));
        let indent = self.unit.count(&indent);
        let head: usize =
            table.head(Links::Round).map(|line| self.line_cost(line, table.form) + 1 + indent).sum();
        let tail = if fence.is_empty() { 0 } else { fence.len() + 1 + indent };
        // Without rows, the header is the last line itself.
        let last = if table.rows() == 0 { 1 + indent } else { 0 };
        Frame { fence, backticks, lead: first + tail + head - last, tail }
    }

    fn push_table(&mut self, parent: Option<usize>, table: LaidTable<'a>, frame: Frame) {
        let at = self.leaves.len();
        self.push(parent, Block::Table(Box::new(table)));
        self.wrap(at, "<pre></pre>".len());
        let Frame { fence, backticks, lead, tail } = frame;
        let laid = &mut self.leaves[at];
        (laid.fence, laid.backticks, laid.lead, laid.tail) = (fence, backticks, lead, tail);
    }

    /// What a line of a table costs.
    pub(in super::super) fn line_cost(&self, line: &str, form: Form) -> usize {
        match self.pen {
            Pen::Marks(_) => self.unit.count(&escape::lines(self.pen, line, form == Form::Code)),
            _ => self.unit.count(line),
        }
    }

    fn add_row_text(&mut self, parent: Option<usize>, table: &Table<'_>, row: Option<usize>) {
        self.add_text(parent, None, table.text_line(row).into());
    }

    pub(super) fn add_bullets(&mut self, parent: Option<usize>, table: &Table<'_>) {
        if table.rows() == 0 {
            return self.add_row_text(parent, table, None);
        }
        let depth = parent.map_or(0, |parent| self.nodes[parent].depth + 1);
        let list = self.nodes.len();
        let kind = Container::List { ordered: false, tight: true };
        self.nodes.to_mut().push(Node { parent, depth, kind });
        for row in 0..table.rows() {
            let text = table.bullet(row);
            if text.open().is_blank() {
                continue;
            }
            let item = self.nodes.len();
            let kind = Container::Item { number: None };
            self.nodes.to_mut().push(Node { parent: Some(list), depth: depth + 1, kind });
            self.add_text(Some(item), None, text.into());
        }
    }
}

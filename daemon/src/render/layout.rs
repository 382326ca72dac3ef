//! A document as one flavour needs it, and what each line of it costs.
//!
//! Whatever could not fit in a part as it is gives way here, before any cut is chosen: a quote too deep for the limit
//! loses its marks, a code block its fence, a table its columns, a link too long to stay whole becomes its label and its
//! bare address. So every leaf leaves at least a quarter of each part to its own text.
//!
//! Longer than most modules: whatever gives way, text, code or table, shares one account of what is around a leaf.

use gatepost_chunk::Unit;

use super::escape::{self, Swap};
use super::measure::{Cost, Measure};
use super::pen::Pen;
use super::settle::{embolden, settle, without_styles};
use super::table::Table;
use super::text::{Links, Text};
use super::tree::{Container, Content, Document, Leaf, Node};
use super::{Flavour, Tables};

/// The most that the marks around any text cost: bold, italic, struck through and code, on both sides, and an escape
/// where a part begins.
const MARKS: usize = 2 * (2 + 1 + 2 + 1) + 3;

/// Below this a leaf has no styles where they cost anything.
const ROOM_FOR_STYLES: usize = 24;

pub(super) struct Layout {
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<Laid>,
    pub(super) pen: Pen,
    pub(super) unit: Unit,
    pub(super) limit: usize,
    /// The first leaf in each container.
    first: Vec<usize>,
}

/// A leaf and what is written around it in plain text.
pub(super) struct Laid {
    pub(super) parent: Option<usize>,
    pub(super) block: Block,
    /// Quote marks and indentation before each of its lines.
    pub(super) indent: String,
    /// The same with the marks of the items that it begins.
    pub(super) marked: String,
    /// The backticks around it; none where empty.
    pub(super) fence: String,
    /// Backticks for approvers, whatever the platform has.
    pub(super) backticks: String,
    /// What it costs to begin a part with this leaf, and to end one with it, besides its text.
    pub(super) lead: usize,
    pub(super) tail: usize,
    /// Tags around it, counted in each part that it is in.
    pub(super) wrap: Cost,
}

pub(super) enum Block {
    Text { heading: Option<u8>, text: Text, swaps: Vec<Swap> },
    Code { language: String, text: String, swaps: Vec<Swap> },
    Table(LaidTable),
    Rule,
}

pub(super) struct LaidTable {
    pub(super) table: Table,
    pub(super) form: Form,
    /// Columns as written for readers, and as shown to approvers.
    widths: [Vec<usize>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As markup; aligned in plain text.
    Native,
    /// Aligned, in a code block.
    Code,
    /// Bars between the cells.
    Plain,
}

impl LaidTable {
    fn new(table: Table, form: Form) -> Self {
        let widths = [Links::Round, Links::Angle].map(|links| table.widths(links));
        Self { table, form, widths }
    }

    fn widths(&self, links: Links) -> &[usize] {
        &self.widths[usize::from(links == Links::Angle)]
    }

    /// A row, or the header, as one line.
    pub(super) fn line(&self, row: Option<usize>, links: Links) -> String {
        match self.form {
            Form::Plain => self.table.plain_line(row, links),
            Form::Native | Form::Code => self.table.aligned_line(row, self.widths(links), links),
        }
    }

    /// The lines that go before the rows of every part.
    pub(super) fn head(&self, links: Links) -> Vec<String> {
        let mut lines = vec![self.line(None, links)];
        if self.form != Form::Plain {
            lines.push(Table::rule_line(self.widths(links)));
        }
        lines
    }
}

impl Layout {
    pub(super) fn new(document: &Document, flavour: &Flavour, limit: Option<usize>) -> Self {
        let limit = limit.unwrap_or(usize::MAX / 4);
        let nodes = document.nodes.clone();
        let (pen, unit) = (Pen::from(flavour.markup), flavour.unit);
        let mut layout = Self { nodes, leaves: Vec::new(), pen, unit, limit, first: Vec::new() };
        for leaf in &document.leaves {
            layout.add(leaf, flavour.tables);
        }
        layout
    }

    fn add(&mut self, leaf: &Leaf, tables: Tables) {
        let parent = leaf.parent;
        match &leaf.content {
            Content::Paragraph(text) => self.add_text(parent, None, text),
            Content::Heading(level, text) => self.add_text(parent, Some(*level), text),
            Content::Code { language, text } => self.add_code(parent, language, text),
            Content::Rule => self.push(parent, Block::Rule),
            Content::Table(table) => match tables {
                Tables::Native => self.add_table(parent, table, Form::Native),
                Tables::Code => self.add_table(parent, table, Form::Code),
                Tables::Plain => self.add_table(parent, table, Form::Plain),
                Tables::Bullets => self.add_bullets(parent, table),
            },
        }
    }

    fn add_text(&mut self, parent: Option<usize>, heading: Option<u8>, text: &Text) {
        let at = self.leaves.len();
        let (pen, unit) = (self.pen, self.unit);
        self.push(parent, Block::Rule);
        let mut text = text.clone();
        match heading.map(|level| pen.heading(level)) {
            Some(Some(mark)) => {
                let laid = &mut self.leaves[at];
                laid.indent.push_str(mark);
                laid.marked.push_str(mark);
                laid.lead += mark.len();
            }
            Some(None) => text = embolden(&text),
            None => {}
        }
        let room = self.room(at);
        if pen.has_marks() && room < ROOM_FOR_STYLES {
            text = without_styles(&text);
        }
        text = settle(pen, &text);
        let swaps = escape::swaps(pen, &text, room);
        let measure = Measure { pen, unit, newline: 0 };
        let cost = |range: &std::ops::Range<usize>| {
            measure.opening(&text, &swaps, range.start)
                + measure.inside(&text, &swaps, range.clone())
                + measure.closing(&text, range.end)
        };
        let most = self.most();
        let text = text.without_links(|link| !cost(&link.range).fits(Cost { units: room, ..most }));
        let swaps = escape::swaps(pen, &text, room);
        self.leaves[at].block = Block::Text { heading, text, swaps };
    }

    /// The most that the text of a leaf may cost in one part, with room for the marks around it.
    pub(super) fn room(&self, at: usize) -> usize {
        let marks = if self.pen.has_marks() { MARKS } else { 0 };
        self.limit - self.leaves[at].lead - self.leaves[at].tail - marks
    }

    /// The most that a part may have.
    pub(super) fn most(&self) -> Cost {
        let (tags, markup) = self.pen.second_limits();
        Cost { units: self.limit, tags, markup }
    }

    fn add_code(&mut self, parent: Option<usize>, language: &str, text: &str) {
        let in_quote = self.path(parent).iter().any(|node| self.nodes[*node].kind == Container::Quote);
        if self.pen.has_marks() && !self.pen.fences(in_quote) {
            return self.add_text(parent, None, &Text::plain(text));
        }
        let at = self.leaves.len();
        let swaps = escape::code_swaps(self.pen, text);
        self.push(parent, Block::Rule);
        let mut language = language.to_owned();
        if self.pen.has_marks() && !super::html::is_language(&language) {
            language.clear();
        }
        self.leaves[at].backticks = fence_around(text);
        if self.pen.fences(in_quote) {
            self.leaves[at].fence = self.fence_for(text);
            let first_line = if self.pen.names_language() { language.clone() } else { String::new() };
            if !self.fence(at, &first_line) {
                language.clear();
                if !self.fence(at, "") {
                    self.leaves[at].fence.clear();
                    self.leaves[at].backticks.clear();
                }
            }
        }
        if self.pen.has_marks() && self.leaves[at].fence.is_empty() {
            self.leaves.pop();
            return self.add_text(parent, None, &Text::plain(text));
        }
        self.wrap(at, 40 + language.len());
        self.leaves[at].block = Block::Code { language, text: text.to_owned(), swaps };
    }

    /// Counts a tag around a leaf, and that of the quote it is in.
    fn wrap(&mut self, at: usize, markup: usize) {
        if self.pen == Pen::Telegram {
            self.leaves[at].wrap += Cost { units: 0, tags: 1, markup };
        }
    }

    fn fence_for(&self, text: &str) -> String {
        if self.pen.fences_grow() { fence_around(text) } else { "```".to_owned() }
    }

    /// Adds up what the fence of a leaf costs; whether half a part is left.
    fn fence(&mut self, at: usize, first_line: &str) -> bool {
        let unit = self.unit;
        let laid = &mut self.leaves[at];
        let (indent, fence) = (unit.count(&laid.indent), laid.fence.len());
        let (lead, tail) = (indent + fence + unit.count(first_line) + 1 + indent, 1 + indent + fence);
        let fits = lead + tail <= self.limit / 2;
        if fits {
            (laid.lead, laid.tail) = (lead, tail);
        }
        fits
    }

    /// Adds a table, as one leaf unless some of its rows have to be cut.
    fn add_table(&mut self, parent: Option<usize>, table: &Table, form: Form) {
        let mut group = Table { header: table.header.clone(), rows: Vec::new() };
        let whole = LaidTable::new(table.clone(), form);
        let in_quote = self.path(parent).iter().any(|node| self.nodes[*node].kind == Container::Quote);
        if form == Form::Code && self.pen.has_marks() && !self.pen.fences(in_quote) {
            return self.add_table(parent, table, Form::Plain);
        }
        let indent = self.unit.count(&self.indents(parent, 0, self.pen).0);
        let mut head: usize = whole
            .head(Links::Round)
            .iter()
            .map(|line| self.line_cost(line, form) + 1 + indent)
            .sum::<usize>()
            + indent;
        let mut tail = 0;
        if form == Form::Code && self.pen.fences(in_quote) {
            let lines: Vec<_> =
                (0..table.rows.len()).map(|row| whole.line(Some(row), Links::Round)).collect();
            let fence =
                self.fence_for(&(whole.head(Links::Round).join("\n") + "\n" + &lines.join("\n"))).len();
            head += fence + 1 + indent;
            tail = fence + 1 + indent;
        }
        if head + tail > self.limit / 2 {
            for row in std::iter::once(None).chain((0..table.rows.len()).map(Some)) {
                self.add_row_text(parent, table, row);
            }
            return;
        }
        for (row, cells) in table.rows.iter().enumerate() {
            if self.line_cost(&whole.line(Some(row), Links::Round), form) <= self.limit - head - tail {
                group.rows.push(cells.clone());
                continue;
            }
            if !group.rows.is_empty() || row == 0 {
                self.push_table(parent, &mut group, form);
            }
            self.add_row_text(parent, table, Some(row));
        }
        if !group.rows.is_empty() || table.rows.is_empty() {
            self.push_table(parent, &mut group, form);
        }
    }

    /// Adds the rows gathered so far. Columns only get narrower than in the whole table, so all of them still fit.
    fn push_table(&mut self, parent: Option<usize>, group: &mut Table, form: Form) {
        let header = group.header.clone();
        let table = std::mem::replace(group, Table { header, rows: Vec::new() });
        let rows = table.rows.len();
        let laid = LaidTable::new(table, form);
        let lines = laid.head(Links::Round);
        let at = self.leaves.len();
        let body: Vec<_> = (0..rows).map(|row| laid.line(Some(row), Links::Round)).collect();
        let in_quote = self.path(parent).iter().any(|node| self.nodes[*node].kind == Container::Quote);
        let whole = lines.join("\n") + "\n" + &body.join("\n");
        let (mut fence, mut backticks) = Default::default();
        if form == Form::Code {
            backticks = fence_around(&whole);
            if self.pen.fences(in_quote) {
                fence = self.fence_for(&whole);
            }
        }
        let head = lines.iter().map(|line| self.line_cost(line, form)).sum::<usize>();
        self.push(parent, Block::Table(laid));
        self.wrap(at, 11);
        let unit = self.unit;
        let leaf = &mut self.leaves[at];
        let indent = unit.count(&leaf.indent);
        let fenced = if fence.is_empty() { 0 } else { fence.len() + 1 + indent };
        let head = head + lines.len() * (1 + indent);
        // Without rows, the header is the last line itself.
        leaf.lead = indent + fenced + head - if rows == 0 { 1 + indent } else { 0 };
        leaf.tail = fenced;
        leaf.fence = fence;
        leaf.backticks = backticks;
    }

    /// What a line of a table costs.
    pub(super) fn line_cost(&self, line: &str, form: Form) -> usize {
        match self.pen {
            Pen::Marks(_) => self.unit.count(&escape::line(self.pen, line, form == Form::Code)),
            _ => self.unit.count(line),
        }
    }

    fn add_row_text(&mut self, parent: Option<usize>, table: &Table, row: Option<usize>) {
        let text = table.text_line(row);
        if !text.is_blank() {
            self.add_text(parent, None, &text);
        }
    }

    fn add_bullets(&mut self, parent: Option<usize>, table: &Table) {
        if table.rows.is_empty() {
            return self.add_row_text(parent, table, None);
        }
        let depth = parent.map_or(0, |parent| self.nodes[parent].depth + 1);
        let list = self.nodes.len();
        self.nodes.push(Node { parent, depth, kind: Container::List { ordered: false, tight: true } });
        for row in 0..table.rows.len() {
            let text = table.bullet(row);
            if text.is_blank() {
                continue;
            }
            let item = self.nodes.len();
            self.nodes.push(Node {
                parent: Some(list),
                depth: depth + 1,
                kind: Container::Item { number: None },
            });
            self.add_text(Some(item), None, &text);
        }
    }

    fn push(&mut self, parent: Option<usize>, block: Block) {
        let at = self.leaves.len();
        self.first.resize(self.nodes.len(), usize::MAX);
        for node in self.path(parent) {
            self.first[node] = self.first[node].min(at);
        }
        let (indent, marked) = self.indents(parent, at, self.pen);
        let lead = self.unit.count(&indent).max(self.unit.count(&marked));
        let (fence, backticks) = Default::default();
        let in_quote = self.pen.quotes_by_tag() && self.quote_around(parent).is_some();
        let quote = Cost { units: 0, tags: 1, markup: "<blockquote></blockquote>".len() };
        let wrap = if in_quote { quote } else { Cost::default() };
        self.leaves.push(Laid { parent, block, indent, marked, fence, backticks, lead, tail: 0, wrap });
    }

    /// The outermost quote around a leaf, where it is a tag.
    pub(super) fn outer_quote(&self, leaf: usize) -> Option<usize> {
        self.quote_around(self.leaves[leaf].parent).filter(|_| self.pen.quotes_by_tag())
    }

    fn quote_around(&self, parent: Option<usize>) -> Option<usize> {
        self.path(parent).into_iter().find(|node| self.nodes[*node].kind == Container::Quote)
    }

    /// The containers around a leaf, from the outermost.
    pub(super) fn path(&self, parent: Option<usize>) -> Vec<usize> {
        let mut path: Vec<_> = std::iter::successors(parent, |node| self.nodes[*node].parent).collect();
        path.reverse();
        path
    }

    /// The first leaf in a container.
    pub(super) fn first_leaf(&self, node: usize) -> usize {
        self.first[node]
    }

    /// What is written before the lines of leaf `at`, and before its first; as deep as a quarter of a part allows.
    pub(super) fn indents(&self, parent: Option<usize>, at: usize, pen: Pen) -> (String, String) {
        let (mut indent, mut marked) = (String::new(), String::new());
        let mut tag = pen.quotes_by_tag();
        for node in self.path(parent) {
            let (mark, blank) = match self.nodes[node].kind {
                Container::Quote if std::mem::take(&mut tag) => continue,
                Container::Quote => ("> ".to_owned(), "> ".to_owned()),
                Container::List { .. } => continue,
                Container::Item { number } => {
                    let mark = number.map_or_else(|| pen.bullet().to_owned(), |number| format!("{number}. "));
                    let blank = " ".repeat(mark.chars().count());
                    (if self.first.get(node) == Some(&at) { mark } else { blank.clone() }, blank)
                }
            };
            if indent.len() + blank.len() > self.limit / 4 {
                break;
            }
            indent.push_str(&blank);
            marked.push_str(&mark);
        }
        (indent, marked)
    }

    /// What is written between two leaves that follow each other, before the second one's indentation.
    pub(super) fn separator(&self, before: usize, after: usize) -> String {
        self.separator_by(before, after, self.pen)
    }

    /// The same as another pen writes it.
    pub(super) fn separator_by(&self, before: usize, after: usize, pen: Pen) -> String {
        let Some(common) = self.common(before, after) else { return "\n\n".to_owned() };
        let tight = |node: usize| matches!(self.nodes[node].kind, Container::List { tight: true, .. });
        if tight(common) || self.nodes[common].parent.is_some_and(tight) {
            return "\n".to_owned();
        }
        let (indent, _) = self.indents(Some(common), usize::MAX, pen);
        format!("\n{}\n", indent.trim_end())
    }

    /// The innermost container that two leaves share.
    pub(super) fn common(&self, before: usize, after: usize) -> Option<usize> {
        let (a, b) = (self.path(self.leaves[before].parent), self.path(self.leaves[after].parent));
        a.iter().zip(&b).take_while(|(a, b)| a == b).last().map(|(node, _)| *node)
    }
}

/// Backticks, more than the text itself has in a row.
fn fence_around(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

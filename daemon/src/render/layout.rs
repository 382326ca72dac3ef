//! A document as one flavour needs it, and what each line of it costs.
//!
//! Whatever could not fit in a part as it is gives way here, before any cut is chosen: a quote too deep for the limit
//! loses its marks, a code block its fence, a table its columns, a link too long to stay whole becomes its label and its
//! bare address. So every leaf leaves at least a quarter of each part to its own text.

use gatepost_chunk::Unit;

use super::table::Table;
use super::text::{Links, Text};
use super::tree::{Container, Content, Document, Leaf, Node};
use super::{Flavour, Tables};

pub(super) struct Layout {
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<Laid>,
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
    /// What it costs to begin a part with this leaf, and to end one with it, besides its text.
    pub(super) lead: usize,
    pub(super) tail: usize,
}

pub(super) enum Block {
    Text { heading: Option<u8>, text: Text },
    Code { language: String, text: String },
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
        let mut layout = Self { nodes, leaves: Vec::new(), unit: flavour.unit, limit, first: Vec::new() };
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
        self.push(parent, Block::Text { heading, text: Text::default() });
        let room = self.limit - self.leaves[at].lead;
        let unit = self.unit;
        let cost = |label: &str, url: &str| {
            unit.count(label) + Links::Round.address(label, url).map_or(0, |address| unit.count(&address))
        };
        let shortened = text.without_links(|link| cost(&text.as_str()[link.range.clone()], &link.url) > room);
        self.leaves[at].block = Block::Text { heading, text: shortened };
    }

    fn add_code(&mut self, parent: Option<usize>, language: &str, text: &str) {
        let at = self.leaves.len();
        self.push(parent, Block::Rule);
        self.leaves[at].fence = fence_around(text);
        let mut language = language;
        if !self.fence(at, language) {
            language = "";
            if !self.fence(at, language) {
                self.leaves[at].fence.clear();
            }
        }
        self.leaves[at].block = Block::Code { language: language.to_owned(), text: text.to_owned() };
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
        let indent = self.unit.count(&self.indents(parent, 0).0);
        let mut head: usize =
            whole.head(Links::Round).iter().map(|line| self.unit.count(line) + 1 + indent).sum::<usize>()
                + indent;
        let mut tail = 0;
        if form == Form::Code {
            let lines: Vec<_> =
                (0..table.rows.len()).map(|row| whole.line(Some(row), Links::Round)).collect();
            let fence = fence_around(&(whole.head(Links::Round).join("\n") + "\n" + &lines.join("\n"))).len();
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
            if self.unit.count(&whole.line(Some(row), Links::Round)) <= self.limit - head - tail {
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
        let fence = if form == Form::Code {
            fence_around(&(lines.join("\n") + "\n" + &body.join("\n")))
        } else {
            String::new()
        };
        self.push(parent, Block::Table(laid));
        let unit = self.unit;
        let leaf = &mut self.leaves[at];
        let indent = unit.count(&leaf.indent);
        let fenced = if fence.is_empty() { 0 } else { fence.len() + 1 + indent };
        let head = lines.iter().map(|line| unit.count(line) + 1 + indent).sum::<usize>();
        // Without rows, the header is the last line itself.
        leaf.lead = indent + fenced + head - if rows == 0 { 1 + indent } else { 0 };
        leaf.tail = fenced;
        leaf.fence = fence;
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
        let (indent, marked) = self.indents(parent, at);
        let lead = self.unit.count(&indent);
        self.leaves.push(Laid { parent, block, indent, marked, fence: String::new(), lead, tail: 0 });
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
    fn indents(&self, parent: Option<usize>, at: usize) -> (String, String) {
        let (mut indent, mut marked) = (String::new(), String::new());
        for node in self.path(parent) {
            let (mark, blank) = match self.nodes[node].kind {
                Container::Quote => ("> ".to_owned(), "> ".to_owned()),
                Container::List { .. } => continue,
                Container::Item { number } => {
                    let mark = number.map_or_else(|| "- ".to_owned(), |number| format!("{number}. "));
                    let blank = " ".repeat(mark.len());
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
        let Some(common) = self.common(before, after) else { return "\n\n".to_owned() };
        let tight = |node: usize| matches!(self.nodes[node].kind, Container::List { tight: true, .. });
        if tight(common) || self.nodes[common].parent.is_some_and(tight) {
            return "\n".to_owned();
        }
        let (indent, _) = self.indents(Some(common), usize::MAX);
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

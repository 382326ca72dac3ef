//! A document as one flavour needs it, and what is written around each of its leaves.
//!
//! Whatever could not fit in a part as it is gives way here, before any cut is chosen: a quote too deep for the limit
//! loses its marks, a code block its fence ([`code`]), a table its columns ([`table`]), a link too long to stay whole
//! becomes its label and its bare address. So every leaf leaves at least a quarter of each part to its own text.
//!
//! What can stay as it is is borrowed from the document: most of a message is never copied before it is written.

mod around;
mod code;
mod table;

use std::borrow::Cow;
use std::ops::Range;

use gatepost_chunk::Unit;

use super::escape::{self, Swap};
use super::link::Link;
use super::measure::{Cost, Measure};
use super::pen::Pen;
use super::settle::{embolden, settle, without_styles};
use super::split::Piece;
use super::table::Table;
use super::text::Held;
use super::tree::{Content, Document, Leaf, Node};
use super::{Flavour, Tables};

pub(super) use around::Indents;
pub(super) use table::{Form, LaidTable};

/// The most that the marks around any text cost: bold, italic, struck through and code, on both sides, and an escape
/// where a part begins.
const MARKS: usize = 2 * (2 + 1 + 2 + 1) + 3;

/// Below this a leaf has no styles where they cost anything.
const ROOM_FOR_STYLES: usize = 24;

pub(super) struct Layout<'a> {
    pub(super) nodes: Cow<'a, [Node]>,
    pub(super) leaves: Vec<Laid<'a>>,
    pub(super) pen: Pen,
    pub(super) unit: Unit,
    pub(super) limit: usize,
    /// The first leaf in each container.
    first: Vec<usize>,
    /// What is written before the lines of all leaves, one behind the other: thousands of items have a few bytes each.
    margins: String,
    /// The last leaf's of them, as they are put together.
    margin: Indents,
}

/// A leaf and what is written around it in plain text.
pub(super) struct Laid<'a> {
    pub(super) parent: Option<usize>,
    /// The innermost container that it shares with the leaf before it.
    pub(super) common: Option<usize>,
    pub(super) block: Block<'a>,
    /// Where among the margins its [`Layout::indent_of`] and its [`Layout::marked_of`] are.
    indent: Range<usize>,
    marked: Range<usize>,
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

pub(super) enum Block<'a> {
    Text { heading: Option<u8>, text: Held<'a>, swaps: Vec<Swap> },
    Code { language: &'a str, text: &'a str, swaps: Vec<Swap> },
    Table(Box<LaidTable<'a>>),
    Rule,
}

impl<'a> Layout<'a> {
    pub(super) fn new(document: &'a Document, flavour: &Flavour, limit: Option<usize>) -> Self {
        let limit = limit.unwrap_or(usize::MAX / 4);
        let nodes = Cow::Borrowed(document.nodes.as_slice());
        let (pen, unit) = (Pen::from(flavour.markup), flavour.unit);
        let leaves = Vec::with_capacity(document.leaves.len());
        let (first, margins, margin) = Default::default();
        let mut layout = Self { nodes, leaves, pen, unit, limit, first, margins, margin };
        for leaf in &document.leaves {
            layout.add(document, leaf, flavour.tables);
        }
        layout
    }

    fn add(&mut self, document: &'a Document, leaf: &'a Leaf, tables: Tables) {
        let parent = leaf.parent;
        let lent = |text: usize| Held::Lent(document.text(text));
        match &leaf.content {
            Content::Paragraph(text) => self.add_text(parent, None, lent(*text)),
            Content::Heading(level, text) => self.add_text(parent, Some(*level), lent(*text)),
            Content::Code { language, text } => {
                self.add_code(parent, language, document.text(*text).as_str())
            }
            Content::Rule => self.push(parent, Block::Rule),
            Content::Table(grid) => {
                let table = Table::new(&document.texts, grid);
                match tables {
                    Tables::Native => self.add_table(parent, table, Form::Native),
                    Tables::Code => self.add_table(parent, table, Form::Code),
                    Tables::Plain => self.add_table(parent, table, Form::Plain),
                    Tables::Bullets => self.add_bullets(parent, &table),
                }
            }
        }
    }

    fn add_text(&mut self, parent: Option<usize>, heading: Option<u8>, text: Held<'a>) {
        if text.text().is_blank() {
            return;
        }
        let at = self.leaves.len();
        let (pen, unit) = (self.pen, self.unit);
        self.push(parent, Block::Rule);
        let mut text = text;
        match heading.map(|level| pen.heading(level)) {
            Some(Some(mark)) => {
                self.margin.indent.push_str(mark);
                self.margin.marked.push_str(mark);
                let (indent, marked) = self.keep_margin();
                let laid = &mut self.leaves[at];
                (laid.indent, laid.marked) = (indent, marked);
                laid.lead += mark.len();
            }
            Some(None) => text = embolden(text.text()).into(),
            None => {}
        }
        let room = self.room(at);
        if pen.has_marks() && room < ROOM_FOR_STYLES {
            text = without_styles(text.text()).into();
        }
        let held = settle(pen, text);
        let text = held.text();
        let mut swaps = escape::swaps(pen, text, room);
        let measure = Measure::new(pen, unit, 0);
        let most = Cost { units: room, ..self.most() };
        let is_too_long = |link: &Link| {
            let range = &link.range;
            // No sign of either costs more than eight times its bytes, or has more than four styles.
            let is_short = 8 * (range.len() + link.url.len()) + MARKS < room.min(most.markup);
            if is_short && 4 * range.len() < most.tags {
                return false;
            }
            let cost = measure.opening(text, &swaps, range.start)
                + measure.inside(text, &swaps, range.clone())
                + measure.closing(text, range.end);
            !cost.fits(most)
        };
        let text = if text.links().iter().any(is_too_long) {
            let held = settle(pen, text.without_links(is_too_long).into());
            swaps = escape::swaps(pen, held.text(), room);
            held
        } else {
            held
        };
        self.leaves[at].block = Block::Text { heading, text, swaps };
    }

    fn push(&mut self, parent: Option<usize>, block: Block<'a>) {
        let at = self.leaves.len();
        self.first.resize(self.nodes.len(), usize::MAX);
        let mut node = parent;
        // Leaves come in order: where one was first, it was around.
        while let Some(inner) = node.filter(|inner| self.first[*inner] == usize::MAX) {
            self.first[inner] = at;
            node = self.nodes[inner].parent;
        }
        let mut margin = std::mem::take(&mut self.margin);
        self.indent(&mut margin, parent, at, self.pen);
        self.margin = margin;
        let (indent, marked) = self.keep_margin();
        let lead = match parent {
            Some(_) => self.unit.count(&self.margin.indent).max(self.unit.count(&self.margin.marked)),
            None => 0,
        };
        let in_quote = self.pen.quotes_by_tag() && self.in_quote(parent);
        let quote = Cost { units: 0, tags: 1, markup: "<blockquote></blockquote>".len() };
        let wrap = if in_quote { quote } else { Cost::default() };
        let common = self.leaves.last().and_then(|before| self.common(before.parent, parent));
        let (fence, backticks, tail) = Default::default();
        self.leaves.push(Laid { parent, common, block, indent, marked, fence, backticks, lead, tail, wrap });
    }

    /// Puts the margin of the last leaf to the others. Where its two halves are there.
    fn keep_margin(&mut self) -> (Range<usize>, Range<usize>) {
        let start = self.margins.len();
        self.margins.push_str(&self.margin.indent);
        let middle = self.margins.len();
        self.margins.push_str(&self.margin.marked);
        (start..middle, middle..self.margins.len())
    }

    /// Quote marks and indentation before each line of a leaf.
    pub(super) fn indent_of(&self, laid: &Laid<'_>) -> &str {
        &self.margins[laid.indent.clone()]
    }

    /// The same with the marks of the items that the leaf begins.
    pub(super) fn marked_of(&self, laid: &Laid<'_>) -> &str {
        &self.margins[laid.marked.clone()]
    }

    /// Counts a tag around a leaf, besides that of the quote it is in.
    fn wrap(&mut self, at: usize, markup: usize) {
        if self.pen == Pen::Telegram {
            self.leaves[at].wrap += Cost { units: 0, tags: 1, markup };
        }
    }

    /// The most that what is not cut in a leaf may cost, with room for the marks around it. Words and links leave a
    /// tenth, so that no part is nearly empty for the next one's sake.
    pub(super) fn room(&self, at: usize) -> usize {
        let room = self.limit - self.leaves[at].lead - self.leaves[at].tail;
        match self.leaves[at].block {
            Block::Code { .. } | Block::Table(_) => room,
            _ if self.pen.has_marks() => room - self.tiny() - MARKS,
            _ => room - self.tiny(),
        }
    }

    /// Less than this is nearly empty: a tenth of a part.
    pub(super) fn tiny(&self) -> usize {
        self.limit.div_ceil(10)
    }

    /// About how many bytes `pieces` are once written.
    pub(super) fn bytes(&self, pieces: &[Piece]) -> usize {
        let bytes = pieces.iter().map(|piece| match &self.leaves[piece.leaf].block {
            Block::Text { .. } | Block::Code { .. } => piece.range.len(),
            Block::Table(table) => table.bytes(&piece.range),
            Block::Rule => 3,
        });
        bytes.map(|bytes| bytes + bytes / 32 + 16).sum()
    }

    /// The most that a part may have.
    pub(super) fn most(&self) -> Cost {
        let (tags, markup) = self.pen.second_limits();
        Cost { units: self.limit, tags, markup }
    }
}

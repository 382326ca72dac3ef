//! The laid-out document, and how much of a part each leaf may take.

use std::borrow::Cow;
use std::ops::Range;

use gatepost_chunk::Unit;

use crate::cost::Cost;
use crate::document::{Container, TextCow};
use crate::markup::{BodyMarkup, Replacement};

use super::piece::Piece;
use super::table::TableLayout;

/// The maximum units of marks around any text: bold, italic, struck through and code on both sides, and an escape at the
/// beginning of a part.
pub(super) const MAX_MARKS_UNITS: usize = 2 * (2 + 1 + 2 + 1) + 3;

pub(crate) struct Layout<'a> {
    pub(crate) containers: Cow<'a, [Container]>,
    pub(crate) leaves: Vec<LeafLayout<'a>>,
    pub(crate) markup: BodyMarkup,
    pub(crate) unit: Unit,
    /// The maximum units of a part.
    pub(crate) limit: usize,
    /// The first leaf in each container.
    pub(super) first_leaf: Vec<usize>,
    /// The line prefixes of all leaves in one string: thousands of items have a few bytes each.
    pub(super) prefixes: String,
}

/// A leaf and what is written around it.
pub(crate) struct LeafLayout<'a> {
    pub(crate) parent: Option<usize>,
    /// The innermost container around both it and the leaf before it.
    pub(crate) shared_container: Option<usize>,
    pub(crate) block: Block<'a>,
    /// Where the prefixes of its first line and of all other lines are in [`Layout::prefixes`].
    pub(super) first_prefix: Range<usize>,
    pub(super) prefix: Range<usize>,
    /// The fence around it; empty if it has none.
    pub(crate) fence: String,
    /// The fence for approvers, which does not depend on the platform.
    pub(crate) shown_fence: String,
    /// The units to begin a part with this leaf, and to end one with it, in addition to its text.
    pub(crate) units_before: usize,
    pub(crate) units_after: usize,
    /// The cost of the tags around it, in each part that has some of it.
    pub(crate) tags: Cost,
}

pub(crate) enum Block<'a> {
    Text { heading: Option<u8>, text: TextCow<'a>, replacements: Vec<Replacement> },
    Code { language: &'a str, text: &'a str, replacements: Vec<Replacement> },
    Table(Box<TableLayout<'a>>),
    Rule,
}

impl Layout<'_> {
    /// The prefix of each line of a leaf but the first: quote marks and indentation.
    pub(crate) fn prefix_of(&self, leaf: &LeafLayout<'_>) -> &str {
        &self.prefixes[leaf.prefix.clone()]
    }

    /// The prefix of the first line of a leaf, with the marks of the items that begin there.
    pub(crate) fn first_prefix_of(&self, leaf: &LeafLayout<'_>) -> &str {
        &self.prefixes[leaf.first_prefix.clone()]
    }

    /// The first leaf in a container.
    pub(crate) fn first_leaf_in(&self, container: usize) -> usize {
        self.first_leaf[container]
    }

    /// The maximum units of what is never cut in a leaf, so that the marks around it fit too. Words and links leave a tenth
    /// free, so that no part is nearly empty because of the next one's first word.
    pub(crate) fn max_uncut_units(&self, leaf: usize) -> usize {
        let leaf = &self.leaves[leaf];
        let room = self.limit - leaf.units_before - leaf.units_after;
        match leaf.block {
            Block::Code { .. } | Block::Table(_) => room,
            _ if self.markup.has_marks() => room - self.nearly_empty_units() - MAX_MARKS_UNITS,
            _ => room - self.nearly_empty_units(),
        }
    }

    /// A part with fewer units is nearly empty.
    pub(crate) fn nearly_empty_units(&self) -> usize {
        self.limit.div_ceil(10)
    }

    /// Everything that limits a part.
    pub(crate) fn part_limits(&self) -> Cost {
        let (entities, markup_bytes) = self.markup.max_entities_and_markup_bytes();
        Cost { units: self.limit, entities, markup_bytes }
    }

    /// About how many bytes `pieces` have once they are written.
    pub(crate) fn estimated_bytes(&self, pieces: &[Piece]) -> usize {
        let bytes = pieces.iter().map(|piece| match &self.leaves[piece.leaf].block {
            Block::Text { .. } | Block::Code { .. } => piece.range.len(),
            Block::Table(table) => table.estimated_bytes(&piece.range),
            Block::Rule => 3,
        });
        bytes.map(|bytes| bytes + bytes / 32 + 16).sum()
    }
}

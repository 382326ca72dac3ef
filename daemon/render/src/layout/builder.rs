//! Makes a layout of a document, leaf by leaf.

use std::borrow::Cow;
use std::ops::Range;

use crate::cost::Cost;
use crate::document::{Document, Leaf, LeafKind, Table, TextCow};
use crate::flavour::{Flavour, Tables};
use crate::markup::BodyMarkup;

use super::model::{Block, Layout, LeafLayout};
use super::prefix::LinePrefixes;
use super::table::TableForm;

/// Stands for "no limit", and is small enough that sums of several cannot overflow.
const UNLIMITED_UNITS: usize = usize::MAX / 4;

/// The layout of `document` in parts of at most `limit` units.
pub(crate) fn lay_out<'a>(document: &'a Document, flavour: &Flavour, limit: Option<usize>) -> Layout<'a> {
    let layout = Layout {
        containers: Cow::Borrowed(document.containers.as_slice()),
        leaves: Vec::with_capacity(document.leaves.len()),
        markup: BodyMarkup::from(flavour.markup),
        unit: flavour.unit,
        limit: limit.unwrap_or(UNLIMITED_UNITS),
        first_leaf: Vec::new(),
        prefixes: String::new(),
    };
    let mut builder = Builder { layout, prefixes: LinePrefixes::default() };
    for leaf in &document.leaves {
        builder.add(document, leaf, flavour.tables);
    }
    builder.layout
}

pub(super) struct Builder<'a> {
    pub(super) layout: Layout<'a>,
    /// The prefixes of the last leaf, in buffers that are used again for the next.
    pub(super) prefixes: LinePrefixes,
}

impl<'a> Builder<'a> {
    fn add(&mut self, document: &'a Document, leaf: &'a Leaf, tables: Tables) {
        let parent = leaf.parent;
        let text = |text: usize| TextCow::Borrowed(document.text(text));
        match &leaf.kind {
            LeafKind::Paragraph(at) => self.add_text(parent, None, text(*at)),
            LeafKind::Heading(level, at) => self.add_text(parent, Some(*level), text(*at)),
            LeafKind::Code { language, text } => {
                self.add_code(parent, language, document.text(*text).as_str())
            }
            LeafKind::Rule => self.push(parent, Block::Rule),
            LeafKind::Table(grid) => {
                let table = Table::new(&document.texts, grid);
                match tables {
                    Tables::Native => self.add_table(parent, table, TableForm::Native),
                    Tables::Code => self.add_table(parent, table, TableForm::Code),
                    Tables::Plain => self.add_table(parent, table, TableForm::Plain),
                    Tables::Bullets => self.add_bullets(parent, &table),
                }
            }
        }
    }

    /// Adds a leaf with its prefixes; fences and tags are added by the caller.
    pub(super) fn push(&mut self, parent: Option<usize>, block: Block<'a>) {
        let layout = &mut self.layout;
        let at = layout.leaves.len();
        layout.first_leaf.resize(layout.containers.len(), usize::MAX);
        let mut ancestor = parent;
        // Leaves come in reading order: if a container has a first leaf, so have all around it.
        while let Some(container) = ancestor.filter(|container| layout.first_leaf[*container] == usize::MAX) {
            layout.first_leaf[container] = at;
            ancestor = layout.containers[container].parent;
        }
        layout.write_prefixes(&mut self.prefixes, parent, at, layout.markup);
        let (prefix, first_prefix) = self.store_prefixes();
        let units_before = match parent {
            Some(_) => self.prefix_units(&self.prefixes),
            None => 0,
        };
        let layout = &mut self.layout;
        let in_quote_tag = layout.markup.quotes_with_tag() && layout.is_in_quote(parent);
        let quote = Cost { units: 0, entities: 1, markup_bytes: "<blockquote></blockquote>".len() };
        let tags = if in_quote_tag { quote } else { Cost::default() };
        let previous = layout.leaves.last();
        let shared_container = previous.and_then(|leaf| layout.innermost_shared(leaf.parent, parent));
        let (fence, shown_fence, units_after) = Default::default();
        layout.leaves.push(LeafLayout {
            parent,
            shared_container,
            block,
            first_prefix,
            prefix,
            fence,
            shown_fence,
            units_before,
            units_after,
            tags,
        });
    }

    /// The units of the longer prefix: a part may begin with either.
    pub(super) fn prefix_units(&self, prefixes: &LinePrefixes) -> usize {
        let unit = self.layout.unit;
        unit.count(&prefixes.rest).max(unit.count(&prefixes.first))
    }

    /// Appends the prefixes of the last leaf to those of all leaves. Returns where the common one and the first line's are.
    pub(super) fn store_prefixes(&mut self) -> (Range<usize>, Range<usize>) {
        let all = &mut self.layout.prefixes;
        let start = all.len();
        all.push_str(&self.prefixes.rest);
        let middle = all.len();
        all.push_str(&self.prefixes.first);
        (start..middle, middle..all.len())
    }

    /// Counts a tag around a leaf, in addition to that of the quote around it.
    pub(super) fn count_tag(&mut self, leaf: usize, markup_bytes: usize) {
        if self.layout.markup == BodyMarkup::Telegram {
            self.layout.leaves[leaf].tags += Cost { units: 0, entities: 1, markup_bytes };
        }
    }
}

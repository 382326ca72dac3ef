//! The atoms of a leaf and what they cost.
//!
//! An atom is never cut: a word, a link with its whole label and URL, a line of code, a row of a table. What is too long
//! for any part is broken into short fragments of grapheme clusters. Costs are never too low, so a sequence of atoms that
//! adds up to the limit is within it once written.
//!
//! Only the leaves in which a part ends are divided into atoms; [`extent_of`] tells what a whole leaf costs.

use std::ops::Range;

use gatepost_chunk::Unit;

use crate::cost::Cost;
use crate::document::UrlForm;
use crate::layout::{Block, Layout, TableForm, TableLayout};
use crate::measure::Measure;

use super::atom::{Atom, Atoms};
use super::segmenter::Segmenter;
use super::words::{CutQuality, extent};

/// All atoms of a leaf as one.
#[derive(Debug, Clone, Default)]
pub(super) struct LeafExtent {
    pub(super) range: Range<usize>,
    pub(super) cost: Cost,
}

/// What a whole leaf costs. Reads each of its bytes once.
pub(super) fn extent_of(layout: &Layout<'_>, leaf: usize) -> LeafExtent {
    let measure = measure_for(layout, leaf);
    let (range, cost) = match &layout.leaves[leaf].block {
        // A grapheme cluster may extend over the edge of a word: only the sum of all atoms is never too low.
        Block::Text { .. } | Block::Code { .. } if layout.unit == Unit::Graphemes => {
            let atoms = atoms_of(layout, leaf);
            let (Some(first), Some(last)) = (atoms.get(0), atoms.last()) else {
                return LeafExtent::default();
            };
            (first.range().start..last.range().end, last.cost_through())
        }
        Block::Text { text, replacements, .. } => {
            let text = text.text();
            let range = extent(text);
            (range.clone(), measure.inside(text, replacements, range))
        }
        Block::Code { text, replacements, .. } => {
            let mut range = code_extent(text);
            let line_end = text[range.clone()].find('\n').map_or(range.end, |end| range.start + end);
            // If the first line has to be cut, its indentation may be dropped.
            let first_line = measure.characters(text, replacements, range.start..line_end);
            if !first_line.fits(atom_limit(layout, leaf)) {
                let first_atom = atoms_of(layout, leaf).get(0);
                range.start = first_atom.map_or(range.start, |first| first.range().start);
            }
            (range.clone(), measure.characters(text, replacements, range))
        }
        Block::Table(table) => (0..table.rows(), table_cost(layout, &measure, table)),
        Block::Rule => (0..0, Cost::units(layout.markup.thematic_break().len())),
    };
    LeafExtent { range, cost }
}

/// The cost of all rows of a table.
fn table_cost(layout: &Layout<'_>, measure: &Measure, table: &TableLayout<'_>) -> Cost {
    let rows = table.rows();
    // No character of a row depends on the rows around it, but a grapheme cluster may extend over their edge.
    let is_replaced = layout.markup.has_marks() || layout.markup.replaces() && table.form != TableForm::Code;
    let is_sum_of_rows = is_replaced || layout.unit == Unit::Graphemes;
    match table.head_and_rows(&(0..rows), UrlForm::Round).nth(1) {
        Some(lines) if !is_sum_of_rows => measure.characters(lines, &[], 0..lines.len()),
        _ => {
            let costs = (0..rows).map(|row| row_cost(layout, measure, table, row));
            costs.sum::<Cost>() + Cost::units((1 + measure.newline) * rows.saturating_sub(1))
        }
    }
}

/// The atoms of a leaf. A leaf that is never cut has one.
pub(crate) fn atoms_of(layout: &Layout<'_>, leaf: usize) -> Atoms {
    let (limit, measure) = (atom_limit(layout, leaf), measure_for(layout, leaf));
    match &layout.leaves[leaf].block {
        Block::Text { text, replacements, .. } => {
            let text = text.text();
            Segmenter::for_text(measure, limit, text, replacements).text(text)
        }
        Block::Code { text, replacements, .. } => {
            Segmenter::for_code(measure, limit, text, replacements).code()
        }
        Block::Table(table) if table.rows() > 0 => {
            let line_break = Cost::units(1 + measure.newline);
            let mut atoms = Atoms::with_capacity(false, table.rows());
            for row in 0..table.rows() {
                let before = atoms.last().map_or(Cost::default(), |last| last.cost_through() + line_break);
                let through = before + row_cost(layout, &measure, table, row);
                atoms.push(Atom::new(row..row + 1, before, through, CutQuality::Line));
            }
            atoms
        }
        Block::Table(_) | Block::Rule => {
            let LeafExtent { range, cost } = extent_of(layout, leaf);
            let mut atoms = Atoms::with_capacity(false, 1);
            atoms.push(Atom::new(range, Cost::default(), cost, CutQuality::Line));
            atoms
        }
    }
}

/// The cost of beginning a part at `place` in a leaf.
pub(super) fn opening_cost(layout: &Layout<'_>, leaf: usize, place: usize) -> Cost {
    match &layout.leaves[leaf].block {
        Block::Text { text, replacements, .. } => {
            measure_for_edges(layout).opening(text.text(), replacements, place)
        }
        _ => Cost::default(),
    }
}

/// The cost of ending a part at `place` in a leaf.
pub(super) fn closing_cost(layout: &Layout<'_>, leaf: usize, place: usize) -> Cost {
    match &layout.leaves[leaf].block {
        Block::Text { text, .. } => measure_for_edges(layout).closing(text.text(), place),
        _ => Cost::default(),
    }
}

/// For the marks where a part begins or ends, none of which has a line break.
fn measure_for_edges(layout: &Layout<'_>) -> Measure {
    Measure::new(layout.markup, layout.unit, 0)
}

fn measure_for(layout: &Layout<'_>, leaf: usize) -> Measure {
    let leaf = &layout.leaves[leaf];
    let prefix = layout.unit.count(layout.prefix_of(leaf));
    let newline = match &leaf.block {
        Block::Text { .. } => prefix + layout.markup.line_end().len() - 1,
        _ => prefix,
    };
    Measure::new(layout.markup, layout.unit, newline)
}

/// The maximum cost of an atom of a leaf.
fn atom_limit(layout: &Layout<'_>, leaf: usize) -> Cost {
    Cost { units: layout.max_uncut_units(leaf), ..layout.part_limits() - layout.leaves[leaf].tags }
}

fn row_cost(layout: &Layout<'_>, measure: &Measure, table: &TableLayout<'_>, row: usize) -> Cost {
    let line = table.row(row, UrlForm::Round);
    let units = layout.table_line_units(line, table.form);
    Cost { units, entities: 0, markup_bytes: measure.reference_bytes(line) }
}

/// Code from the first line that is not empty to the end of the last.
fn code_extent(code: &str) -> Range<usize> {
    let blank = code.len() - code.trim_start().len();
    let start = code[..blank].rfind('\n').map_or(0, |at| at + 1);
    let end = code.trim_end().len();
    start..code[end..].find('\n').map_or(code.len(), |at| end + at)
}

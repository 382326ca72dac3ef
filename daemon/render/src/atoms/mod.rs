//! The smallest pieces that a leaf is cut into, and what each costs.
//!
//! An atom is never cut: a word, a link with all its label and address, a line of code, a row of a table. What is too
//! long for any part is broken up here, into short runs of grapheme clusters. The costs are never too low, so a run of
//! atoms that adds up to the limit is within it once written.
//!
//! Only the leaves that a part ends in are looked at so closely; [`span`] tells what a whole one costs.

mod atom;
mod leaf;

use std::ops::Range;

use gatepost_chunk::Unit;

use super::layout::{Block, LaidTable, Layout};
use super::link::Links;
use super::measure::{Cost, Measure};
use super::words::{Grade, extent};
use leaf::Leaf;

pub(super) use atom::{Atom, Atoms};

/// All atoms of a leaf as one.
#[derive(Debug, Clone, Default)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) cost: Cost,
}

/// What a whole leaf costs, for one look at each of its bytes.
pub(super) fn span(layout: &Layout<'_>, at: usize) -> Span {
    let measure = measure(layout, at);
    let (range, cost) = match &layout.leaves[at].block {
        // A cluster may reach over the edge of a word: only the sum of all is safe.
        Block::Text { .. } | Block::Code { .. } if layout.unit == Unit::Graphemes => {
            let atoms = atoms(layout, at);
            let (Some(first), Some(last)) = (atoms.get(0), atoms.last()) else { return Span::default() };
            (first.range().start..last.range().end, last.to())
        }
        Block::Text { text, swaps, .. } => {
            let text = text.text();
            let range = extent(text);
            (range.clone(), measure.inside(text, swaps, range))
        }
        Block::Code { text, swaps, .. } => {
            let mut range = code_extent(text);
            let first = text[range.clone()].find('\n').map_or(range.end, |end| range.start + end);
            // A line that is cut may be without its indentation.
            if !measure.slice(text, swaps, range.start..first).fits(most(layout, at)) {
                range.start = atoms(layout, at).get(0).map_or(range.start, |first| first.range().start);
            }
            (range.clone(), measure.slice(text, swaps, range))
        }
        Block::Table(table) => {
            let rows = table.rows();
            let joins = rows.saturating_sub(1);
            // No sign of a row is written otherwise for the rows around it, but a cluster may reach over their edge.
            let is_one = !layout.pen.has_marks() && layout.unit != Unit::Graphemes;
            let cost = match table.stretches(&(0..rows), Links::Round).nth(1) {
                Some(lines) if is_one => measure.slice(lines, &[], 0..lines.len()),
                _ => {
                    let rows = (0..rows).map(|row| row_cost(layout, &measure, table, row));
                    rows.sum::<Cost>() + Cost::units((1 + measure.newline) * joins)
                }
            };
            (0..rows, cost)
        }
        Block::Rule => (0..0, Cost::units(layout.pen.rule().len())),
    };
    Span { range, cost }
}

/// The atoms of a leaf; one that is never cut has a single one.
pub(super) fn atoms(layout: &Layout<'_>, at: usize) -> Atoms {
    let laid = &layout.leaves[at];
    let (most, measure) = (most(layout, at), measure(layout, at));
    match &laid.block {
        Block::Text { text, swaps, .. } => {
            let text = text.text();
            Leaf::new(measure, most, (text.as_str(), Some(text)), swaps).text(text)
        }
        Block::Code { text, swaps, .. } => Leaf::new(measure, most, (text, None), swaps).code(),
        Block::Table(table) if table.rows() > 0 => {
            let join = Cost::units(1 + measure.newline);
            let mut atoms = Atoms::new(false, table.rows());
            for row in 0..table.rows() {
                let from = atoms.last().map_or(Cost::default(), |last| last.to() + join);
                let to = from + row_cost(layout, &measure, table, row);
                atoms.push(Atom::new(row..row + 1, from, to, Grade::Line));
            }
            atoms
        }
        Block::Table(_) | Block::Rule => {
            let Span { range, cost } = span(layout, at);
            let mut atoms = Atoms::new(false, 1);
            atoms.push(Atom::new(range, Cost::default(), cost, Grade::Line));
            atoms
        }
    }
}

/// What it costs that a part begins at `place` in a leaf.
pub(super) fn opening(layout: &Layout<'_>, at: usize, place: usize) -> Cost {
    match &layout.leaves[at].block {
        Block::Text { text, swaps, .. } => edges(layout).opening(text.text(), swaps, place),
        _ => Cost::default(),
    }
}

/// What it costs that a part ends at `place` in a leaf.
pub(super) fn closing(layout: &Layout<'_>, at: usize, place: usize) -> Cost {
    match &layout.leaves[at].block {
        Block::Text { text, .. } => edges(layout).closing(text.text(), place),
        _ => Cost::default(),
    }
}

/// What prices the marks where a part begins or ends, none of which is a line break.
fn edges(layout: &Layout<'_>) -> Measure {
    Measure::new(layout.pen, layout.unit, 0)
}

/// The most that an atom of a leaf may cost.
fn most(layout: &Layout<'_>, at: usize) -> Cost {
    Cost { units: layout.room(at), ..layout.most() - layout.leaves[at].wrap }
}

fn measure(layout: &Layout<'_>, at: usize) -> Measure {
    let laid = &layout.leaves[at];
    let indent = layout.unit.count(layout.indent_of(laid));
    let newline = match &laid.block {
        Block::Text { .. } => indent + layout.pen.line_end().len() - 1,
        _ => indent,
    };
    Measure::new(layout.pen, layout.unit, newline)
}

fn row_cost(layout: &Layout<'_>, measure: &Measure, table: &LaidTable<'_>, row: usize) -> Cost {
    let line = table.line(row, Links::Round);
    Cost { units: layout.line_cost(line, table.form), tags: 0, markup: measure.references(line) }
}

/// Code from the first line that is not empty to the last.
fn code_extent(code: &str) -> Range<usize> {
    let blank = code.len() - code.trim_start().len();
    let start = code[..blank].rfind('\n').map_or(0, |at| at + 1);
    let behind = code.trim_end().len();
    start..code[behind..].find('\n').map_or(code.len(), |at| behind + at)
}

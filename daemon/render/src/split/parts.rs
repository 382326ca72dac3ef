//! What any part of the document would cost, in constant time plus a look at the leaves at its ends; and how long a part
//! can be.

use std::rc::Rc;

use crate::cost::Cost;
use crate::layout::{Block, Layout, Piece};

use super::atom::{Atom, Atoms};
use super::leaf::{LeafExtent, atoms_of, closing_cost, extent_of, opening_cost};
use super::words::CutQuality;

/// A place between two parts: before an atom. The end of a leaf is the beginning of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct CutPoint {
    pub(super) leaf: usize,
    pub(super) atom: usize,
}

impl CutPoint {
    pub(super) fn before_leaf(leaf: usize) -> Self {
        Self { leaf, atom: 0 }
    }
}

/// The beginning of a part.
pub(super) struct PartStart {
    pub(super) cut: CutPoint,
    /// Where that is in the text of its leaf, or in its rows.
    at: usize,
    /// What its leaf costs up to there.
    cost_before: Cost,
    /// What beginning a part there costs.
    opening: Cost,
}

/// The end of a part.
pub(super) struct PartEnd {
    /// The last leaf of the part, and where the part ends in it.
    leaf: usize,
    at: usize,
    /// What that leaf costs up to there.
    cost_through: Cost,
    /// What ending a part there costs.
    closing: Cost,
}

/// What a leaf costs if a part has all of it.
struct LeafSummary {
    extent: LeafExtent,
    /// The cost of beginning a part with it, and of ending one with it.
    opening: Cost,
    closing: Cost,
    /// The cost of joining it to the leaf before.
    joining: Cost,
    /// The cost of all leaves up to its end, joined.
    total: Cost,
    /// How good a cut before it is.
    quality: CutQuality,
}

/// The costs of all leaves, from which that of any part follows.
pub(super) struct PartCosts<'a> {
    pub(super) layout: &'a Layout<'a>,
    leaves: Vec<LeafSummary>,
    /// The atoms of each leaf that was divided.
    atoms: Vec<Option<Rc<Atoms>>>,
}

impl<'a> PartCosts<'a> {
    pub(super) fn new(layout: &'a Layout<'a>) -> Self {
        let mut leaves: Vec<LeafSummary> = Vec::with_capacity(layout.leaves.len());
        for at in 0..layout.leaves.len() {
            leaves.push(summarize(layout, at, leaves.last()));
        }
        let atoms = vec![None; leaves.len()];
        Self { layout, leaves, atoms }
    }

    pub(super) fn end_of_document(&self) -> CutPoint {
        CutPoint::before_leaf(self.leaves.len())
    }

    /// How good a cut before a leaf is.
    pub(super) fn quality_before(&self, leaf: usize) -> CutQuality {
        self.leaves[leaf].quality
    }

    pub(super) fn atoms(&mut self, leaf: usize) -> Rc<Atoms> {
        Rc::clone(self.atoms[leaf].get_or_insert_with(|| Rc::new(atoms_of(self.layout, leaf))))
    }

    pub(super) fn atom(&mut self, cut: CutPoint) -> Atom {
        let atom = self.atoms(cut.leaf).get(cut.atom);
        atom.expect("a cut inside a leaf is before an atom of it")
    }

    /// A part that begins with a whole leaf.
    fn start_with(&self, leaf: usize) -> PartStart {
        let (laid_out, summary) = (&self.layout.leaves[leaf], &self.leaves[leaf]);
        let opening = Cost::units(laid_out.units_before) + laid_out.tags + summary.opening;
        let at = summary.extent.range.start;
        PartStart { cut: CutPoint::before_leaf(leaf), at, cost_before: Cost::default(), opening }
    }

    pub(super) fn start(&mut self, cut: CutPoint) -> PartStart {
        if cut.atom == 0 {
            return self.start_with(cut.leaf);
        }
        let leaf = &self.layout.leaves[cut.leaf];
        let around = Cost::units(leaf.units_before) + leaf.tags;
        let atom = self.atom(cut);
        let at = atom.range().start;
        let opening = around + opening_cost(self.layout, cut.leaf, at);
        PartStart { cut, at, cost_before: atom.cost_before(), opening }
    }

    /// A part that ends with a whole leaf.
    fn end_with(&self, leaf: usize) -> PartEnd {
        let LeafSummary { extent, closing, .. } = &self.leaves[leaf];
        let closing = Cost::units(self.layout.leaves[leaf].units_after) + *closing;
        PartEnd { leaf, at: extent.range.end, cost_through: extent.cost, closing }
    }

    pub(super) fn end(&mut self, cut: CutPoint) -> PartEnd {
        let Some(last) = cut.atom.checked_sub(1) else { return self.end_with(cut.leaf - 1) };
        let atom = self.atom(CutPoint { atom: last, ..cut });
        let around = Cost::units(self.layout.leaves[cut.leaf].units_after);
        let at = atom.range().end;
        let closing = around + closing_cost(self.layout, cut.leaf, at);
        PartEnd { leaf: cut.leaf, at, cost_through: atom.cost_through(), closing }
    }

    /// The cost of the part from `start` to `end`, which must not be empty.
    pub(super) fn cost(&self, start: &PartStart, end: &PartEnd) -> Cost {
        let (first, last) = (start.cut.leaf, end.leaf);
        let text = match first == last {
            true => end.cost_through - start.cost_before,
            false => {
                let (head, tail) = (&self.leaves[first], &self.leaves[last]);
                (head.extent.cost - start.cost_before)
                    + (self.leaves[last - 1].total - head.total)
                    + tail.joining
                    + end.cost_through
            }
        };
        start.opening + text + end.closing
    }

    /// The cost of everything from `start` to the end of the document.
    pub(super) fn cost_of_rest(&self, start: &PartStart) -> Cost {
        self.cost(start, &self.end_with(self.leaves.len() - 1))
    }

    fn fits(&self, start: &PartStart, end: &PartEnd) -> bool {
        self.cost(start, end).fits(self.layout.part_limits())
    }

    /// The first leaf that the longest part from `start` does not have all of; the number of leaves if there is none.
    pub(super) fn first_leaf_not_fitting(&self, start: &PartStart) -> usize {
        let mut rest = start.cut.leaf..self.leaves.len();
        rest.find(|leaf| !self.fits(start, &self.end_with(*leaf))).unwrap_or(self.leaves.len())
    }

    /// The end of the longest part from `start` that does not have all of `leaf`. It has at least one atom, even if that does
    /// not fit.
    pub(super) fn longest_end(&mut self, start: &PartStart, leaf: usize) -> CutPoint {
        let atoms = self.atoms(leaf).len();
        let at_least = if leaf == start.cut.leaf { start.cut.atom + 1 } else { 0 };
        // A leaf may be much longer than a part, so the search begins near the start, with steps that double.
        let (mut fits, mut beyond, mut step) = (at_least, atoms, 1);
        while fits + 1 < beyond {
            let middle = if beyond == atoms { (fits + step).min(atoms - 1) } else { fits.midpoint(beyond) };
            let end = self.end(CutPoint { leaf, atom: middle });
            match self.fits(start, &end) {
                true => fits = middle,
                false => beyond = middle,
            }
            step *= 2;
        }
        if fits >= atoms { CutPoint::before_leaf(leaf + 1) } else { CutPoint { leaf, atom: fits } }
    }

    /// The beginning of the longest part that ends at `cut`.
    pub(super) fn longest_start(&mut self, cut: CutPoint) -> CutPoint {
        let end = self.end(cut);
        let mut leaf = end.leaf + 1;
        while leaf > 0 && self.fits(&self.start_with(leaf - 1), &end) {
            leaf -= 1;
        }
        let Some(leaf) = leaf.checked_sub(1) else { return CutPoint::default() };
        // The last atom is in the part even if it does not fit.
        let atoms = if leaf == cut.leaf { cut.atom } else { self.atoms(leaf).len() };
        let (mut beyond, mut fits, mut step) = (0, if leaf == end.leaf { atoms - 1 } else { atoms }, 1);
        while beyond + 1 < fits {
            let middle = if beyond == 0 { fits.saturating_sub(step).max(1) } else { beyond.midpoint(fits) };
            let start = self.start(CutPoint { leaf, atom: middle });
            match self.fits(&start, &end) {
                true => fits = middle,
                false => beyond = middle,
            }
            step *= 2;
        }
        let is_next_leaf = leaf != end.leaf && fits == atoms;
        if is_next_leaf { CutPoint::before_leaf(leaf + 1) } else { CutPoint { leaf, atom: fits } }
    }

    /// The pieces of the part from `start` to `end`.
    pub(super) fn pieces(&self, start: &PartStart, end: &PartEnd) -> Vec<Piece> {
        let first = start.cut.leaf;
        (first..=end.leaf)
            .map(|leaf| {
                let whole = &self.leaves[leaf].extent.range;
                let from = if leaf == first { start.at } else { whole.start };
                let to = if leaf == end.leaf { end.at } else { whole.end };
                Piece { leaf, range: from..to, is_start: leaf > first || start.cut.atom == 0 }
            })
            .collect()
    }
}

fn summarize(layout: &Layout<'_>, at: usize, previous: Option<&LeafSummary>) -> LeafSummary {
    let leaf = &layout.leaves[at];
    let extent = extent_of(layout, at);
    let opening = opening_cost(layout, at, extent.range.start);
    let closing = closing_cost(layout, at, extent.range.end);
    let (mut joining, mut total, mut quality) = (Cost::default(), Cost::default(), CutQuality::Block);
    if let Some(previous) = previous {
        let leaf_before = &layout.leaves[at - 1];
        let separator = layout.unit.count(&layout.separator(at));
        let gap = Cost::units(leaf_before.units_after + separator + leaf.units_before);
        joining = previous.closing + gap + leaf.tags + opening;
        total = previous.total;
        quality = match (&leaf_before.block, leaf.shared_container) {
            (Block::Text { heading: Some(_), .. }, _) => CutQuality::Heading,
            (_, Some(_)) => CutQuality::Item,
            (_, None) => CutQuality::Block,
        };
    }
    total += joining + extent.cost;
    LeafSummary { extent, opening, closing, joining, total, quality }
}

//! Choosing where to cut: the fewest parts first, then the best places.
//!
//! How many parts the rest of a document needs is known for every atom before the first cut is chosen, so a cut is moved
//! forward to a better place only where that costs no part more. Nothing is rendered to find out; the whole takes time
//! linear in the document.

use std::ops::Range;

use super::atoms::{Atom, atoms};
use super::layout::Layout;
use super::measure::Cost;

/// A stretch of one leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) leaf: usize,
    /// Bytes of the leaf's text, or rows of its table.
    pub(super) range: Range<usize>,
    /// Whether the leaf begins here and not in an earlier part.
    pub(super) begins: bool,
}

/// The parts of the document, each as the pieces that it is made of.
pub(super) fn split(layout: &Layout) -> Vec<Vec<Piece>> {
    let atoms = atoms(layout);
    let cuts = Costs::new(layout, &atoms).cuts();
    cuts.into_iter().map(|part| pieces(&atoms, part)).collect()
}

fn pieces(atoms: &[Atom], part: Range<usize>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for at in part {
        let Atom { leaf, range, .. } = &atoms[at];
        match pieces.last_mut() {
            Some(last) if last.leaf == *leaf => last.range.end = range.end,
            _ => {
                let begins = at == 0 || atoms[at - 1].leaf != *leaf;
                pieces.push(Piece { leaf: *leaf, range: range.clone(), begins });
            }
        }
    }
    pieces
}

/// What any run of atoms costs, in constant time.
struct Costs<'a> {
    layout: &'a Layout,
    atoms: &'a [Atom],
    /// What all atoms up to each cost, joined.
    sums: Vec<Cost>,
    /// For each atom, how many parts it and all behind it need.
    needs: Vec<usize>,
    /// For each atom, the end of the longest part that begins with it.
    reach: Vec<usize>,
}

impl<'a> Costs<'a> {
    fn new(layout: &'a Layout, atoms: &'a [Atom]) -> Self {
        let sums = atoms
            .iter()
            .scan(Cost::default(), |sum, atom| {
                *sum += atom.join + atom.cost;
                Some(*sum)
            })
            .collect();
        let mut costs = Self { layout, atoms, sums, needs: vec![0; atoms.len() + 1], reach: Vec::new() };
        // A part that begins later never ends earlier, so one pass finds the ends of all.
        // Only a mark that a part needs where it begins can make one longer, by a little.
        let mut end = 0;
        let most = layout.most();
        for start in 0..atoms.len() {
            end = end.max(start + 1);
            while end > start + 1 && !costs.cost(start..end).fits(most) {
                end -= 1;
            }
            while end < atoms.len() && costs.cost(start..end + 1).fits(most) {
                end += 1;
            }
            costs.reach.push(end);
        }
        for start in (0..atoms.len()).rev() {
            costs.needs[start] = 1 + costs.needs[costs.reach[start]];
        }
        costs
    }

    /// What a part made of `part`, which is not empty, costs.
    fn cost(&self, part: Range<usize>) -> Cost {
        let (first, last) = (part.start, part.end - 1);
        let (begin, end) = (&self.atoms[first], &self.atoms[last]);
        let leaves = &self.layout.leaves;
        Cost::units(leaves[begin.leaf].lead + leaves[end.leaf].tail)
            + leaves[begin.leaf].wrap
            + begin.open
            + begin.cost
            + (self.sums[last] - self.sums[first])
            + end.close
    }

    fn units(&self, part: Range<usize>) -> usize {
        self.cost(part).units
    }

    fn cuts(&self) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < self.atoms.len() {
            let end = self.cut(start);
            parts.push(start..end);
            start = end;
        }
        parts
    }

    /// Where to end the part that begins at `start`.
    fn cut(&self, start: usize) -> usize {
        let (all, reach) = (self.atoms.len(), self.reach[start]);
        if reach == all {
            return all;
        }
        let tiny = self.layout.limit / 10;
        (start + 1..=reach)
            .rev()
            .take_while(|end| self.needs[*end] + 1 == self.needs[start] && self.units(start..*end) >= tiny)
            .max_by_key(|end| {
                let leaves_enough = self.needs[*end] > 1 || self.units(*end..all) >= tiny;
                (self.atoms[*end].grade, leaves_enough, *end)
            })
            .unwrap_or(reach)
    }
}

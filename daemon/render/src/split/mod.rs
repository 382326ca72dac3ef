//! Chooses where to cut: the fewest parts first, then the best places.
//!
//! Going backwards from the end of the document, with each part as long as possible, gives the fewest parts that the rest
//! needs from any place on. So a cut is moved to a better place only if that adds no part. Nothing is rendered
//! to find out, and only the leaves in which a part may end are divided into words, so the time is linear in the length of
//! the document.
//!
//! Each module uses only those above it:
//!
//! | module | holds |
//! |---|---|
//! | `words` | the words of a text, and how good a cut between two of them is |
//! | `atom` | ranges that are never cut, with what they cost |
//! | `segmenter` | divides text and code into atoms |
//! | `leaf` | the cost of a leaf and of its atoms |
//! | `parts` | the cost of any part, and how long a part can be |

mod atom;
mod leaf;
mod parts;
mod segmenter;
mod words;

use crate::layout::{Layout, Piece};

use parts::{CutPoint, PartCosts, PartStart};
use words::CutQuality;

#[cfg(test)]
pub(crate) use leaf::atoms_of;

/// The parts of the document, each as the pieces that it consists of.
pub(crate) fn split(layout: &Layout<'_>) -> Vec<Vec<Piece>> {
    let mut costs = PartCosts::new(layout);
    let mut earliest_cuts = earliest_cuts(&mut costs);
    let mut parts = Vec::with_capacity(earliest_cuts.len());
    let mut cut = CutPoint::default();
    while cut < costs.end_of_document() {
        let start = costs.start(cut);
        while earliest_cuts.last().is_some_and(|earliest| *earliest <= cut) {
            earliest_cuts.pop();
        }
        let earliest = earliest_cuts.pop();
        let is_next_to_last = earliest_cuts.len() < 2;
        cut = next_cut(&mut costs, &start, earliest, is_next_to_last);
        let end = costs.end(cut);
        parts.push(costs.pieces(&start, &end));
    }
    parts
}

/// The earliest places for cuts that keep the number of parts at its minimum, last cut first: from the place at index `n` on,
/// the rest needs `n` parts, and from any earlier place at least one more.
fn earliest_cuts(costs: &mut PartCosts<'_>) -> Vec<CutPoint> {
    let mut cuts = vec![costs.end_of_document()];
    while let Some(cut) = cuts.last().copied().filter(|cut| *cut > CutPoint::default()) {
        cuts.push(costs.longest_start(cut));
    }
    cuts.pop();
    cuts
}

/// The best end for the part from `start`, not before `earliest`. If the part `is_next_to_last`, one more follows.
fn next_cut(
    costs: &mut PartCosts<'_>,
    start: &PartStart,
    earliest: Option<CutPoint>,
    is_next_to_last: bool,
) -> CutPoint {
    let leaf = costs.first_leaf_not_fitting(start);
    let end_of_document = costs.end_of_document();
    if leaf == end_of_document.leaf {
        return end_of_document;
    }
    let mut best = BestCut { start, is_next_to_last, found: None };
    if let Some(earliest) = earliest {
        let leaves = (start.cut.leaf + 1..=leaf).rev();
        for leaf in leaves.take_while(|leaf| CutPoint::before_leaf(*leaf) >= earliest) {
            best.consider(costs, costs.quality_before(leaf), CutPoint::before_leaf(leaf));
        }
    }
    // No cut inside a leaf is as good as one between leaves, unless that is after a heading.
    if let Some((quality, _, cut)) = best.found
        && quality >= CutQuality::Item
    {
        return cut;
    }
    let latest = costs.longest_end(start, leaf);
    if latest == end_of_document {
        return latest;
    }
    // An escape at the beginning of a part may have caused one part more than expected. Then each part is as long as it can be.
    let earliest = earliest.unwrap_or(latest).min(latest);
    for leaf in (earliest.leaf..=latest.leaf).rev() {
        let atoms = costs.atoms(leaf).len();
        let first = if leaf == earliest.leaf { earliest.atom } else { 0 };
        let last = if leaf == latest.leaf { latest.atom } else { atoms - 1 };
        for atom in (first.max(1)..=last).rev() {
            let cut = CutPoint { leaf, atom };
            let quality = costs.atom(cut).quality;
            best.consider(costs, quality, cut);
        }
    }
    best.found.map_or(latest, |(.., cut)| cut)
}

/// The best place found so far to end a part. Later places are considered first.
struct BestCut<'a> {
    start: &'a PartStart,
    is_next_to_last: bool,
    /// Its quality, whether the rest is long enough for a part of its own, and the place.
    found: Option<(CutQuality, bool, CutPoint)>,
}

impl BestCut<'_> {
    fn consider(&mut self, costs: &mut PartCosts<'_>, quality: CutQuality, cut: CutPoint) {
        if self.found.is_some_and(|(best, is_rest_enough, _)| (best, is_rest_enough) >= (quality, true)) {
            return;
        }
        let nearly_empty = costs.layout.nearly_empty_units();
        let end = costs.end(cut);
        if costs.cost(self.start, &end).units < nearly_empty {
            return;
        }
        let is_rest_enough = !self.is_next_to_last || {
            let rest = costs.start(cut);
            costs.cost_of_rest(&rest).units >= nearly_empty
        };
        if self.found.is_none_or(|(best, was_enough, _)| (quality, is_rest_enough) > (best, was_enough)) {
            self.found = Some((quality, is_rest_enough, cut));
        }
    }
}

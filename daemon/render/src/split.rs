//! Choosing where to cut: the fewest parts first, then the best places.
//!
//! From the end of the document back, each part as long as it can be, tells how many parts the rest needs at least from
//! any place on. So a cut is moved forward to a better place only where that costs no part more. Nothing is rendered to
//! find out, and only the leaves that a part may end in are looked at word by word; the whole takes time linear in the
//! document.

use std::ops::Range;
use std::rc::Rc;

use super::atoms::{Atom, Atoms, Span, atoms, closing, opening, span};
use super::layout::{Block, Layout};
use super::measure::Cost;
use super::words::Grade;

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
pub(super) fn split(layout: &Layout<'_>) -> Vec<Vec<Piece>> {
    Parts::new(layout).cut()
}

/// Where a part may begin: before an atom. The end of a leaf is the beginning of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Place {
    leaf: usize,
    atom: usize,
}

impl Place {
    fn leaf(leaf: usize) -> Self {
        Self { leaf, atom: 0 }
    }
}

/// A place to begin a part.
struct Begin {
    place: Place,
    /// Where that is in the text of its leaf, or in its rows.
    start: usize,
    /// What its leaf costs up to there.
    before: Cost,
    /// What it costs to begin a part there.
    around: Cost,
}

/// A place to end a part.
struct End {
    /// The last leaf of the part, and where that ends.
    leaf: usize,
    stop: usize,
    /// What that leaf costs up to there.
    upto: Cost,
    /// What it costs to end a part there.
    around: Cost,
}

/// A leaf as a part of the whole document.
struct Whole {
    span: Span,
    /// What it costs that a part begins or ends with all of it.
    open: Cost,
    close: Cost,
    /// What joining it to the leaf before costs.
    join: Cost,
    /// What all leaves up to its end cost, joined.
    sum: Cost,
    /// How good the place before it is.
    grade: Grade,
}

/// What any part costs, in constant time but for a look at the leaves at its ends.
struct Parts<'a> {
    layout: &'a Layout<'a>,
    leaves: Vec<Whole>,
    /// The atoms of each leaf that was looked at so closely.
    atoms: Vec<Option<Rc<Atoms>>>,
}

impl<'a> Parts<'a> {
    fn new(layout: &'a Layout<'a>) -> Self {
        let mut leaves: Vec<Whole> = Vec::with_capacity(layout.leaves.len());
        for (at, laid) in layout.leaves.iter().enumerate() {
            let span = span(layout, at);
            let open = opening(layout, at, span.range.start);
            let close = closing(layout, at, span.range.end);
            let (mut join, mut sum, mut grade) = (Cost::default(), Cost::default(), Grade::Block);
            if let Some(before) = leaves.last() {
                let laid_before = &layout.leaves[at - 1];
                let separator = layout.unit.count(&layout.separator(at));
                let gap = Cost::units(laid_before.tail + separator + laid.lead);
                join = before.close + gap + laid.wrap + open;
                sum = before.sum;
                grade = match (&laid_before.block, laid.common) {
                    (Block::Text { heading: Some(_), .. }, _) => Grade::Heading,
                    (_, Some(_)) => Grade::Item,
                    (_, None) => Grade::Block,
                };
            }
            sum += join + span.cost;
            leaves.push(Whole { span, open, close, join, sum, grade });
        }
        let atoms = vec![None; leaves.len()];
        Self { layout, leaves, atoms }
    }

    /// Behind everything.
    fn last(&self) -> Place {
        Place::leaf(self.leaves.len())
    }

    fn atoms(&mut self, leaf: usize) -> Rc<Atoms> {
        Rc::clone(self.atoms[leaf].get_or_insert_with(|| Rc::new(atoms(self.layout, leaf))))
    }

    fn atom(&mut self, place: Place) -> Atom {
        let atom = self.atoms(place.leaf).get(place.atom);
        atom.expect("a place in a leaf is before an atom of it")
    }

    fn begin_of(&self, leaf: usize) -> Begin {
        let (laid, whole) = (&self.layout.leaves[leaf], &self.leaves[leaf]);
        let around = Cost::units(laid.lead) + laid.wrap + whole.open;
        Begin { place: Place::leaf(leaf), start: whole.span.range.start, before: Cost::default(), around }
    }

    fn begin(&mut self, place: Place) -> Begin {
        if place.atom == 0 {
            return self.begin_of(place.leaf);
        }
        let laid = &self.layout.leaves[place.leaf];
        let around = Cost::units(laid.lead) + laid.wrap;
        let atom = self.atom(place);
        let open = opening(self.layout, place.leaf, atom.range().start);
        Begin { place, start: atom.range().start, before: atom.from(), around: around + open }
    }

    fn end(&mut self, place: Place) -> End {
        let Some(last) = place.atom.checked_sub(1) else { return self.end_of(place.leaf - 1) };
        let atom = self.atom(Place { atom: last, ..place });
        let around = Cost::units(self.layout.leaves[place.leaf].tail);
        let close = closing(self.layout, place.leaf, atom.range().end);
        End { leaf: place.leaf, stop: atom.range().end, upto: atom.to(), around: around + close }
    }

    fn end_of(&self, leaf: usize) -> End {
        let Whole { span, close, .. } = &self.leaves[leaf];
        let around = Cost::units(self.layout.leaves[leaf].tail) + *close;
        End { leaf, stop: span.range.end, upto: span.cost, around }
    }

    /// What the part from `begin` to `end`, which is not empty, costs.
    fn cost(&self, begin: &Begin, end: &End) -> Cost {
        let (first, last) = (begin.place.leaf, end.leaf);
        let text = match first == last {
            true => end.upto - begin.before,
            false => {
                let (head, tail) = (&self.leaves[first], &self.leaves[last]);
                (head.span.cost - begin.before)
                    + (self.leaves[last - 1].sum - head.sum)
                    + tail.join
                    + end.upto
            }
        };
        begin.around + text + end.around
    }

    fn fits(&self, begin: &Begin, end: &End) -> bool {
        self.cost(begin, end).fits(self.layout.most())
    }

    /// The first leaf that is not all in the longest part that begins at `begin`.
    fn reach_leaf(&self, begin: &Begin) -> usize {
        let rest = begin.place.leaf..self.leaves.len();
        rest.into_iter().find(|leaf| !self.fits(begin, &self.end_of(*leaf))).unwrap_or(self.leaves.len())
    }

    /// The end of the longest part that begins at `begin` and has not all of `leaf`; of one atom if not even that fits.
    fn reach(&mut self, begin: &Begin, leaf: usize) -> Place {
        let atoms = self.atoms(leaf).len();
        let least = if leaf == begin.place.leaf { begin.place.atom + 1 } else { 0 };
        // A leaf may be much longer than a part: its end is looked for near the beginning, ever further on.
        let (mut fits, mut beyond, mut step) = (least, atoms, 1);
        while fits + 1 < beyond {
            let middle = if beyond == atoms { (fits + step).min(atoms - 1) } else { fits.midpoint(beyond) };
            let end = self.end(Place { leaf, atom: middle });
            match self.fits(begin, &end) {
                true => fits = middle,
                false => beyond = middle,
            }
            step *= 2;
        }
        if fits >= atoms { Place::leaf(leaf + 1) } else { Place { leaf, atom: fits } }
    }

    /// The beginning of the longest part that ends at `place`.
    fn reach_back(&mut self, place: Place) -> Place {
        let end = self.end(place);
        let mut leaf = end.leaf + 1;
        while leaf > 0 && self.fits(&self.begin_of(leaf - 1), &end) {
            leaf -= 1;
        }
        let Some(leaf) = leaf.checked_sub(1) else { return Place::default() };
        // The last atom of the part is in it whether it fits or not.
        let atoms = if leaf == place.leaf { place.atom } else { self.atoms(leaf).len() };
        let (mut beyond, mut fits, mut step) = (0, if leaf == end.leaf { atoms - 1 } else { atoms }, 1);
        while beyond + 1 < fits {
            let middle = if beyond == 0 { fits.saturating_sub(step).max(1) } else { beyond.midpoint(fits) };
            let begin = self.begin(Place { leaf, atom: middle });
            match self.fits(&begin, &end) {
                true => fits = middle,
                false => beyond = middle,
            }
            step *= 2;
        }
        if leaf != end.leaf && fits == atoms { Place::leaf(leaf + 1) } else { Place { leaf, atom: fits } }
    }

    fn cut(mut self) -> Vec<Vec<Piece>> {
        // From each of these on the rest needs one part less than from the one before.
        let mut floors = vec![self.last()];
        while let Some(floor) = floors.last().copied().filter(|floor| *floor > Place::default()) {
            floors.push(self.reach_back(floor));
        }
        floors.pop();
        let mut parts = Vec::with_capacity(floors.len());
        let mut place = Place::default();
        while place < self.last() {
            let begin = self.begin(place);
            while floors.last().is_some_and(|floor| *floor <= place) {
                floors.pop();
            }
            let floor = floors.pop();
            place = self.next(&begin, floor, floors.len() < 2);
            let end = self.end(place);
            parts.push(self.pieces(&begin, &end));
        }
        parts
    }

    /// The best place to end the part that begins at `begin`: not before `floor`, lest there be a part more; behind it
    /// one more part follows if `is_last`.
    fn next(&mut self, begin: &Begin, floor: Option<Place>, is_last: bool) -> Place {
        let leaf = self.reach_leaf(begin);
        if leaf == self.leaves.len() {
            return self.last();
        }
        let mut best = Best { begin, is_last, found: None };
        let between = |floor: Place| {
            (begin.place.leaf + 1..=leaf).rev().take_while(move |leaf| Place::leaf(*leaf) >= floor)
        };
        for leaf in floor.into_iter().flat_map(between) {
            best.weigh(self, self.leaves[leaf].grade, Place::leaf(leaf));
        }
        // No place inside a leaf is as good as one between two, unless that is behind a heading.
        if let Some((grade, _, place)) = best.found
            && grade >= Grade::Item
        {
            return place;
        }
        let reach = self.reach(begin, leaf);
        if reach == self.last() {
            return reach;
        }
        // A mark that a part needs where it begins may have made one part more: then the longest are the answer.
        let floor = floor.unwrap_or(reach).min(reach);
        let leaves = floor.leaf..=reach.leaf;
        for leaf in leaves.rev() {
            let atoms = self.atoms(leaf).len();
            let first = if leaf == floor.leaf { floor.atom } else { 0 };
            let last = if leaf == reach.leaf { reach.atom } else { atoms - 1 };
            for atom in (first.max(1)..=last).rev() {
                let place = Place { leaf, atom };
                let grade = self.atom(place).grade;
                best.weigh(self, grade, place);
            }
        }
        best.found.map_or(reach, |(.., place)| place)
    }

    fn pieces(&self, begin: &Begin, end: &End) -> Vec<Piece> {
        (begin.place.leaf..=end.leaf)
            .map(|leaf| {
                let whole = &self.leaves[leaf].span.range;
                let from = if leaf == begin.place.leaf { begin.start } else { whole.start };
                let to = if leaf == end.leaf { end.stop } else { whole.end };
                Piece { leaf, range: from..to, begins: leaf > begin.place.leaf || begin.place.atom == 0 }
            })
            .collect()
    }
}

/// The best place found so far to end a part; later ones are weighed first.
struct Best<'a> {
    begin: &'a Begin,
    is_last: bool,
    /// Its grade, whether what is behind it is long enough for a part of its own, and the place.
    found: Option<(Grade, bool, Place)>,
}

impl Best<'_> {
    fn weigh(&mut self, parts: &mut Parts<'_>, grade: Grade, place: Place) {
        if self.found.is_some_and(|(best, is_enough, _)| (best, is_enough) >= (grade, true)) {
            return;
        }
        let tiny = parts.layout.tiny();
        let end = parts.end(place);
        if parts.cost(self.begin, &end).units < tiny {
            return;
        }
        let is_enough = !self.is_last || {
            let rest = parts.begin(place);
            parts.cost(&rest, &parts.end_of(parts.leaves.len() - 1)).units >= tiny
        };
        if self.found.is_none_or(|(best, was_enough, _)| (grade, is_enough) > (best, was_enough)) {
            self.found = Some((grade, is_enough, place));
        }
    }
}

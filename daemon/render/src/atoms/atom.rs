//! Atoms, kept small: a text of a megabyte without a blank line has two hundred thousand of them. Where every byte costs
//! one unit and nothing else, as in most prose, what they cost follows from where they are and is not kept at all.

use std::ops::Range;

use super::super::measure::Cost;
use super::super::words::Grade;

/// A piece of a leaf that is never cut.
#[derive(Debug, Clone)]
pub(in super::super) struct Atom {
    start: u32,
    end: u32,
    from: Packed,
    to: Packed,
    /// How good the place before it is.
    pub(in super::super) grade: Grade,
}

/// A cost in half the room.
#[derive(Debug, Clone, Copy)]
struct Packed([u32; 3]);

impl Atom {
    /// `range`: bytes of the leaf's text, or rows of its table. `from` and `to`: what the leaf costs from its first atom
    /// to the beginning of this one, and to its end; without the marks that a part opens and closes around it.
    pub(super) fn new(range: Range<usize>, from: Cost, to: Cost, grade: Grade) -> Self {
        Self { start: small(range.start), end: small(range.end), from: from.into(), to: to.into(), grade }
    }

    /// The next one behind this one, where every byte of it and of the gap between costs one unit and nothing else.
    #[inline]
    pub(super) fn next(&self, range: Range<usize>, grade: Grade) -> Self {
        let (start, end) = (small(range.start), small(range.end));
        let [units, tags, markup] = self.to.0;
        let at = |place: u32| Packed([units.saturating_add(place - self.end), tags, markup]);
        Self { start, end, from: at(start), to: at(end), grade }
    }

    #[inline]
    pub(in super::super) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    #[inline]
    pub(in super::super) fn from(&self) -> Cost {
        self.from.into()
    }

    #[inline]
    pub(in super::super) fn to(&self) -> Cost {
        self.to.into()
    }
}

/// The atoms of a leaf, in order.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Atoms {
    places: Vec<(u32, u32, Grade)>,
    /// What each costs up to its beginning and to its end, unless that is as many units as there are bytes.
    costs: Vec<[Packed; 2]>,
    is_even: bool,
}

impl Atoms {
    /// None, with room for some; whether every byte of the leaf costs one unit and nothing else.
    pub(super) fn new(is_even: bool, some: usize) -> Self {
        let costs = Vec::with_capacity(if is_even { 0 } else { some });
        Self { places: Vec::with_capacity(some), costs, is_even }
    }

    /// Adds one behind those that are there.
    pub(super) fn push(&mut self, atom: Atom) {
        self.places.push((atom.start, atom.end, atom.grade));
        if !self.is_even {
            self.costs.push([atom.from, atom.to]);
        }
    }

    pub(in super::super) fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(in super::super) fn get(&self, at: usize) -> Option<Atom> {
        let (start, end, grade) = *self.places.get(at)?;
        let [from, to] = match self.is_even {
            true => {
                let (first, ..) = self.places[0];
                [start, end].map(|place| Packed([place - first, 0, 0]))
            }
            false => self.costs[at],
        };
        Some(Atom { start, end, from, to, grade })
    }

    pub(super) fn last(&self) -> Option<Atom> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Says how good the place before atom `at` is, if there is one.
    pub(super) fn regrade(&mut self, at: usize, grade: Grade) {
        if let Some((_, _, before)) = self.places.get_mut(at) {
            *before = grade;
        }
    }
}

impl From<Cost> for Packed {
    #[inline]
    fn from(cost: Cost) -> Self {
        Self([cost.units, cost.tags, cost.markup].map(small))
    }
}

impl From<Packed> for Cost {
    #[inline]
    fn from(Packed([units, tags, markup]): Packed) -> Self {
        Self { units: units as usize, tags: tags as usize, markup: markup as usize }
    }
}

/// No leaf has four gigabytes.
#[inline]
fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

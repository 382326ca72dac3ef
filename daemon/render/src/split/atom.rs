//! Atoms, kept small: a text of a megabyte without a blank line has two hundred thousand of them. If every byte costs one
//! unit and nothing else, as in most prose, their costs follow from their positions and are not stored at all.

use std::ops::Range;

use crate::cost::Cost;

use super::words::CutQuality;

/// A range of a leaf that is never cut.
#[derive(Debug, Clone)]
pub(crate) struct Atom {
    start: u32,
    end: u32,
    before: PackedCost,
    through: PackedCost,
    /// How good a cut before it is.
    pub(super) quality: CutQuality,
}

/// A cost in half the memory.
#[derive(Debug, Clone, Copy)]
struct PackedCost([u32; 3]);

impl Atom {
    /// `range` is in bytes of the leaf's text, or in rows of its table. `before` and `through` are the cost of the leaf from
    /// its first atom up to the beginning and the end of this one, without the marks that a part opens and closes.
    pub(super) fn new(range: Range<usize>, before: Cost, through: Cost, quality: CutQuality) -> Self {
        let (before, through) = (before.into(), through.into());
        Self { start: packed(range.start), end: packed(range.end), before, through, quality }
    }

    /// The atom after this one, if every byte of it and of the gap between costs one unit and nothing else.
    #[inline]
    pub(super) fn next(&self, range: Range<usize>, quality: CutQuality) -> Self {
        let (start, end) = (packed(range.start), packed(range.end));
        let [units, entities, markup_bytes] = self.through.0;
        let cost_at = |at: u32| PackedCost([units.saturating_add(at - self.end), entities, markup_bytes]);
        Self { start, end, before: cost_at(start), through: cost_at(end), quality }
    }

    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// What the leaf costs up to its beginning.
    #[inline]
    pub(super) fn cost_before(&self) -> Cost {
        self.before.into()
    }

    /// What the leaf costs up to its end.
    #[inline]
    pub(super) fn cost_through(&self) -> Cost {
        self.through.into()
    }
}

/// The atoms of a leaf, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Atoms {
    places: Vec<(u32, u32, CutQuality)>,
    /// The cost before and through each atom; empty if the leaf costs one unit per byte.
    costs: Vec<[PackedCost; 2]>,
    is_one_unit_per_byte: bool,
}

impl Atoms {
    /// No atoms yet. `is_one_unit_per_byte`: every byte of the leaf costs one unit and nothing else.
    pub(super) fn with_capacity(is_one_unit_per_byte: bool, atoms: usize) -> Self {
        let costs = Vec::with_capacity(if is_one_unit_per_byte { 0 } else { atoms });
        Self { places: Vec::with_capacity(atoms), costs, is_one_unit_per_byte }
    }

    /// Appends an atom.
    pub(super) fn push(&mut self, atom: Atom) {
        self.places.push((atom.start, atom.end, atom.quality));
        if !self.is_one_unit_per_byte {
            self.costs.push([atom.before, atom.through]);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<Atom> {
        let (start, end, quality) = *self.places.get(at)?;
        let [before, through] = match self.is_one_unit_per_byte {
            true => {
                let (first, ..) = self.places[0];
                [start, end].map(|place| PackedCost([place - first, 0, 0]))
            }
            false => self.costs[at],
        };
        Some(Atom { start, end, before, through, quality })
    }

    pub(super) fn last(&self) -> Option<Atom> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Changes the quality of a cut before atom `at`, if there is one.
    pub(super) fn set_quality(&mut self, at: usize, quality: CutQuality) {
        if let Some((_, _, old)) = self.places.get_mut(at) {
            *old = quality;
        }
    }
}

impl From<Cost> for PackedCost {
    #[inline]
    fn from(cost: Cost) -> Self {
        Self([cost.units, cost.entities, cost.markup_bytes].map(packed))
    }
}

impl From<PackedCost> for Cost {
    #[inline]
    fn from(PackedCost([units, entities, markup_bytes]): PackedCost) -> Self {
        Self { units: units as usize, entities: entities as usize, markup_bytes: markup_bytes as usize }
    }
}

/// No leaf has four gigabytes.
#[inline]
fn packed(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

//! What a platform counts of a part.

use std::ops::{Add, AddAssign, Sub};

/// An amount of everything that a platform limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    /// Text, in the unit of the part's limit.
    pub(crate) units: usize,
    /// Entities that begin.
    pub(crate) entities: usize,
    /// Tags and character references.
    pub(crate) markup_bytes: usize,
}

impl Cost {
    #[inline]
    pub(crate) const fn units(units: usize) -> Self {
        Self { units, entities: 0, markup_bytes: 0 }
    }

    #[inline]
    pub(crate) fn fits(self, limit: Self) -> bool {
        self.units <= limit.units
            && self.entities <= limit.entities
            && self.markup_bytes <= limit.markup_bytes
    }
}

impl Add for Cost {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self {
            units: self.units + other.units,
            entities: self.entities + other.entities,
            markup_bytes: self.markup_bytes + other.markup_bytes,
        }
    }
}

impl AddAssign for Cost {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Cost {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self {
            units: self.units - other.units,
            entities: self.entities - other.entities,
            markup_bytes: self.markup_bytes - other.markup_bytes,
        }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

//! What a part consists of.

use std::ops::Range;

/// A range of one leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) leaf: usize,
    /// Bytes of the leaf's text, or rows of its table.
    pub(crate) range: Range<usize>,
    /// Whether the leaf begins here and not in an earlier part.
    pub(crate) is_start: bool,
}

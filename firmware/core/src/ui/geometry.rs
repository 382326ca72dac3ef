//! A screen's size in text cells.

/// Columns of the widest board.
pub const MAX_COLUMNS: usize = 40;
/// Rows of the highest board.
pub const MAX_ROWS: usize = 15;

/// A screen's size in text cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    columns: u8,
    rows: u8,
}

impl Geometry {
    /// 128 × 64 pixels.
    pub const SMALL: Self = Self { columns: 21, rows: 8 };
    /// 320 × 240 pixels.
    pub const LARGE: Self = Self { columns: 40, rows: 15 };

    /// Clamps `columns` to 20..=[`MAX_COLUMNS`] and `rows` to 5..=[`MAX_ROWS`].
    pub fn new(columns: u8, rows: u8) -> Self {
        Self { columns: columns.clamp(20, MAX_COLUMNS as u8), rows: rows.clamp(5, MAX_ROWS as u8) }
    }

    /// Cells in a row.
    pub fn columns(self) -> usize {
        usize::from(self.columns)
    }

    /// All rows, header and footer included.
    pub fn rows(self) -> usize {
        usize::from(self.rows)
    }

    /// Rows between the header and the footer.
    pub fn body_rows(self) -> usize {
        self.rows() - 2
    }
}

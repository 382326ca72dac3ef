//! A screen's size in text cells.

/// Columns of the widest board.
pub const MAX_COLUMNS: usize = 40;
/// Rows of the highest board.
pub const MAX_ROWS: usize = 15;
/// From so many rows and columns on, text is enlarged three times.
const LARGE_ROWS: u8 = 12;
const LARGE_COLUMNS: u8 = 30;

/// A screen's size in text cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    columns: u8,
    rows: u8,
}

impl Geometry {
    /// 128 × 64 pixels.
    pub const SMALL: Self = Self { columns: 21, rows: 8 };
    /// 320 × 240 pixels, with a margin: text at the very edge of a panel is hard to read.
    pub const LARGE: Self = Self { columns: 38, rows: 15 };

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

    /// Whether there is room for what can be read across a room.
    pub fn is_large(self) -> bool {
        self.rows >= LARGE_ROWS && self.columns >= LARGE_COLUMNS
    }

    /// Rows between the header and the footer.
    pub fn body_rows(self) -> usize {
        self.rows() - 2
    }
}

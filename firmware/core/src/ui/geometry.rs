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
    /// Whether nothing can be enlarged: a terminal.
    is_text: bool,
}

impl Geometry {
    /// 128 × 64 pixels.
    pub const SMALL: Self = Self { columns: 21, rows: 8, is_text: false };
    /// 320 × 240 pixels, with a margin: text at the very edge of a panel is hard to read.
    pub const LARGE: Self = Self { columns: 38, rows: 15, is_text: false };
    /// The largest terminal.
    pub const TEXT: Self = Self::text(MAX_COLUMNS as u8, MAX_ROWS as u8);

    /// A display's. Clamps `columns` to 20..=[`MAX_COLUMNS`] and `rows` to 5..=[`MAX_ROWS`].
    pub const fn new(columns: u8, rows: u8) -> Self {
        Self { is_text: false, ..Self::text(columns, rows) }
    }

    /// A terminal's, which draws cells of one size. Clamps as [`Geometry::new`] does.
    pub const fn text(columns: u8, rows: u8) -> Self {
        const fn clamped(cells: u8, least: u8, most: u8) -> u8 {
            if cells < least {
                least
            } else if cells > most {
                most
            } else {
                cells
            }
        }
        Self {
            columns: clamped(columns, 20, MAX_COLUMNS as u8),
            rows: clamped(rows, 5, MAX_ROWS as u8),
            is_text: true,
        }
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
        !self.is_text && self.rows >= LARGE_ROWS && self.columns >= LARGE_COLUMNS
    }

    /// Whether nothing can be enlarged.
    pub fn is_text(self) -> bool {
        self.is_text
    }

    /// Rows between the header and the footer.
    pub fn body_rows(self) -> usize {
        self.rows() - 2
    }
}

//! One row as pixels.

use embedded_graphics_core::geometry::Size;
use heapless::Vec;

use super::{palette::Ink, place::Place};
use crate::ui::{
    geometry::MAX_COLUMNS,
    row::{Row, Style},
};

/// One part in this many of a cell's height stays free above and below a bar.
const BAR_MARGIN: u32 = 8;
/// Drawn for a character that the font lacks. No text of a document needs it: pages contain only what the font has.
const UNKNOWN: char = '?';

/// A row with the picture of each of its cells.
pub(super) struct Band {
    place: Place,
    style: Style,
    cells: Vec<Cell, MAX_COLUMNS>,
}

struct Cell {
    picture: &'static [u8],
    /// Whether it has a background of its own: a key's word, a note.
    field: bool,
}

impl Band {
    pub(super) fn new(place: Place, row: &Row) -> Self {
        let mut cells = Vec::new();
        let mut last = ' ';
        let mut rest = row.text.chars().take(place.geometry.columns()).peekable();
        let trimmed = row.text.trim_end().chars().count();
        while let Some(c) = rest.next() {
            let field = match row.style {
                Style::Keys => c != ' ' || (last != ' ' && rest.peek().is_some_and(|next| *next != ' ')),
                Style::Note => cells.len() < trimmed,
                _ => false,
            };
            last = c;
            let picture = place.face.picture(c).or(place.face.picture(UNKNOWN)).unwrap_or_default();
            if cells.push(Cell { picture, field }).is_err() {
                break; // never happens: a geometry has at most MAX_COLUMNS
            }
        }
        Self { place, style: row.style, cells }
    }

    /// The pixels of a band of this size, row by row from the upper left.
    pub(super) fn pixels(self, size: Size) -> impl Iterator<Item = Ink> {
        let across = (0..size.height).flat_map(move |y| (0..size.width).map(move |x| (x, y)));
        across.map(move |(x, y)| self.pixel(x, y))
    }

    fn pixel(&self, x: u32, y: u32) -> Ink {
        let left = self.place.left();
        match self.style {
            Style::Plain => self.text(x, y, Ink::Text, Ink::Ground),
            Style::Head => self.text(x, y, Ink::Inverse, Ink::Tone),
            Style::Note => self.text(x, y, Ink::Inverse, Ink::Tone),
            Style::Keys => self.text(x, y, Ink::Inverse, Ink::Key),
            Style::Big(scale) => self.large(x, y, u32::from(scale.max(1))),
            Style::Meter { label, percent } => {
                let from = left + u32::from(label) * self.place.face.width();
                if x < from {
                    self.text(x, y, Ink::Text, Ink::Ground)
                } else {
                    let to = left + self.place.cells().width;
                    self.bar(x, y, from, to, u32::from(percent))
                }
            }
        }
    }

    /// A pixel of text in cells. The margins belong to the first and the last cell.
    fn text(&self, x: u32, y: u32, ink: Ink, field: Ink) -> Ink {
        let width = self.place.face.width();
        let inside = x.checked_sub(self.place.left());
        let column = inside.map_or(0, |x| x / width).min(self.place.geometry.columns() as u32 - 1);
        let cell = self.cells.get(column as usize);
        let dot = inside.is_some_and(|inside| {
            let x = inside.wrapping_sub(column * width);
            x < width && cell.is_some_and(|cell| has_dot(cell.picture, x, y))
        });
        let on_field = matches!(self.style, Style::Head) || cell.is_some_and(|cell| cell.field);
        match (dot, on_field) {
            (true, _) => ink,
            (false, true) => field,
            (false, false) => Ink::Ground,
        }
    }

    /// A pixel of enlarged text in the middle of the band.
    fn large(&self, x: u32, y: u32, scale: u32) -> Ink {
        let width = self.place.face.width() * scale;
        let start = self.place.area.size.width.saturating_sub(self.cells.len() as u32 * width) / 2;
        let Some(x) = x.checked_sub(start) else { return Ink::Ground };
        let dot = self
            .cells
            .get((x / width) as usize)
            .is_some_and(|cell| has_dot(cell.picture, x % width / scale, y / scale));
        if dot { Ink::Tone } else { Ink::Ground }
    }

    /// A pixel of a bar with a frame, between `from` and `to`.
    fn bar(&self, x: u32, y: u32, from: u32, to: u32, percent: u32) -> Ink {
        let height = self.place.face.height();
        let margin = height / BAR_MARGIN;
        let (top, bottom) = (margin, height - margin);
        if x >= to || y < top || y >= bottom {
            return Ink::Ground;
        }
        let frame = x == from || x + 1 == to || y == top || y + 1 == bottom;
        // One pixel stays free between the frame and the filling.
        let begin = from + 2;
        let end = to.saturating_sub(2).max(begin);
        let filled = begin + (end - begin) * percent / 100;
        let inside = (begin..end).contains(&x) && y >= top + 2 && y + 2 < bottom;
        if frame {
            Ink::Text
        } else if inside && x < filled {
            Ink::Tone
        } else {
            Ink::Ground
        }
    }
}

/// Whether a picture has a dot there.
fn has_dot(picture: &[u8], x: u32, y: u32) -> bool {
    picture.get(y as usize).is_some_and(|row| x < 8 && row & (0x80 >> x) != 0)
}

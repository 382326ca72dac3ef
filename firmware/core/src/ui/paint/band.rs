//! One row as pixels.

use embedded_graphics_core::geometry::Size as Pixels;
use heapless::Vec;

use super::{enlarge::Picture, palette::Ink, place::Place};
use crate::ui::{
    font::Face,
    geometry::MAX_COLUMNS,
    pictogram::{Pictogram, SIDE},
    row::{Row, Size, Style, pictogram_cells},
};

/// One part in this many of a cell's height stays free above and below a bar.
const BAR_MARGIN: u32 = 8;
/// One part in this many of a cell's width lies around a key's words.
const KEY_MARGIN: u32 = 3;
/// One part in this many of an enlarged dot is added to its right: thin lines vanish at a distance.
const BOLDER: u32 = 3;
/// Drawn for a character that the font lacks. No text of a document needs it: pages contain only what the font has.
const UNKNOWN: char = '?';

/// A row with the picture of each of its cells.
pub(super) struct Band {
    place: Place,
    style: Style,
    cells: Vec<Picture, MAX_COLUMNS>,
    /// How many of them there are without blanks at the end.
    trimmed: u32,
    /// The words of a key that begin at the left edge.
    left_key: u32,
}

/// Enlarged text, and where it begins.
#[derive(Clone, Copy)]
struct Run {
    left: u32,
    top: u32,
    /// Pixels of a cell.
    advance: u32,
    scale: u32,
    /// How many cells are not drawn.
    skipped: u32,
}

impl Band {
    pub(super) fn new(place: Place, row: &Row) -> Self {
        let face = match row.style {
            Style::Fact { size: Size::TwoNarrow, .. } => Face::Large,
            _ => place.face,
        };
        let cells = row.text.chars().take(place.geometry.columns());
        let cells =
            cells.map(|c| Picture::of_cell(face, c).or(Picture::of_cell(face, UNKNOWN)).unwrap_or_default());
        let written = |cells: usize| {
            let last = row.text.chars().take(cells).enumerate().filter(|(_, c)| *c != ' ').last();
            last.map_or(0, |(column, _)| column as u32 + 1)
        };
        let left_key = match row.style {
            Style::Keys { right, .. } => written(right.into()),
            _ => 0,
        };
        let trimmed = written(MAX_COLUMNS);
        Self { place, style: row.style, cells: cells.collect(), trimmed, left_key }
    }

    /// The pixels of a band of this size, row by row from the upper left.
    pub(super) fn pixels(self, size: Pixels) -> impl Iterator<Item = Ink> {
        let across = (0..size.height).flat_map(move |y| (0..size.width).map(move |x| (x, y)));
        across.map(move |(x, y)| self.pixel(x, y, size.height))
    }

    fn pixel(&self, x: u32, y: u32, height: u32) -> Ink {
        match self.style {
            Style::Plain => self.text(x, y, Ink::Text, None),
            Style::Quiet => self.text(x, y, Ink::Quiet, None),
            Style::Field(label) => {
                let ink = if self.column(x) < u32::from(label) { Ink::Quiet } else { Ink::Text };
                self.text(x, y, ink, None)
            }
            Style::Note => {
                let field = (self.column(x) < self.trimmed).then_some(Ink::Warning);
                self.text(x, y, Ink::Inverse, field)
            }
            Style::Head => self.text(x, y, Ink::OnBand, Some(Ink::Band)),
            Style::Keys { right, approves, denies } => {
                self.text(x, y, Ink::Inverse, self.key(x, u32::from(right), approves, denies))
            }
            Style::Large(scale) => {
                let run = self.run(self.place.left(), u32::from(scale), 0);
                if self.dot(run, x, y) { Ink::Text } else { Ink::Ground }
            }
            Style::Centred(scale) => {
                let run = self.run(self.start(u32::from(scale), 0), u32::from(scale), 0);
                if self.dot(run, x, y) { Ink::Text } else { Ink::Ground }
            }
            Style::Big(scale, pictogram) => self.title(x, y, height, scale, pictogram),
            Style::Fact { label, size, pictogram } => self.fact(x, y, height, label, size, pictogram),
            Style::Meter { label, percent, rows } => self.bar(x, y, height, label, percent, rows),
        }
    }

    /// The cell that a pixel is in. The margins belong to the first and the last cell.
    fn column(&self, x: u32) -> u32 {
        let column = x.saturating_sub(self.place.left()) / self.place.face.width();
        column.min(self.place.geometry.columns() as u32 - 1)
    }

    /// A pixel of text in cells, on a background of its own or none.
    fn text(&self, x: u32, y: u32, ink: Ink, field: Option<Ink>) -> Ink {
        if self.dot(self.run(self.place.left(), 1, 0), x, y) { ink } else { field.unwrap_or(Ink::Ground) }
    }

    /// Text of this scale from `left` on, without its first `skipped` cells.
    fn run(&self, left: u32, scale: u32, skipped: u32) -> Run {
        Run { left, top: 0, advance: self.place.face.width() * scale.max(1), scale: scale.max(1), skipped }
    }

    /// Where enlarged text begins that is in the middle, behind something of this width.
    fn start(&self, scale: u32, beside: u32) -> u32 {
        let width = self.cells.len() as u32 * self.place.face.width() * scale + beside;
        self.place.area.size.width.saturating_sub(width) / 2 + beside
    }

    fn dot(&self, run: Run, x: u32, y: u32) -> bool {
        let (Some(x), Some(y)) = (x.checked_sub(run.left), y.checked_sub(run.top)) else { return false };
        let Some(cell) = self.cells.get((x / run.advance + run.skipped) as usize) else { return false };
        let (x, bolder) = (x % run.advance, run.scale / BOLDER);
        cell.pixel(x, y, run.scale) || (bolder > 0 && x >= bolder && cell.pixel(x - bolder, y, run.scale))
    }

    /// A pixel of a title.
    fn title(&self, x: u32, y: u32, height: u32, scale: u8, pictogram: Option<Pictogram>) -> Ink {
        let cells = pictogram_cells(self.place.geometry, scale) as u32;
        let beside = if pictogram.is_some() { cells * self.place.face.width() } else { 0 };
        let scale = u32::from(scale.max(1));
        let start = self.start(scale, beside);
        let marked = pictogram.is_some_and(|mark| has_mark(mark, x, y, start - beside, beside, height));
        if marked || self.dot(self.run(start, scale, 0), x, y) { Ink::Tone } else { Ink::Ground }
    }

    /// A pixel of a fact, and of the pictogram before it.
    fn fact(&self, x: u32, y: u32, height: u32, label: u8, size: Size, pictogram: Option<Pictogram>) -> Ink {
        let cells = size.pictogram_cells(self.place.geometry) as u32;
        let beside = if pictogram.is_some() { cells * self.place.face.width() } else { 0 };
        let left = self.place.left();
        let run = self.run(left + beside, size.rows() as u32, label.into());
        let run = match size {
            Size::Three | Size::Two => run,
            Size::TwoNarrow => {
                let top = height.saturating_sub(Face::Large.height()) / 2;
                Run { top, advance: Face::Large.width(), scale: 1, ..run }
            }
        };
        match pictogram {
            Some(mark) if has_mark(mark, x, y, left, beside, height) => {
                if mark == Pictogram::ALERT {
                    Ink::Warning
                } else {
                    Ink::Tone
                }
            }
            _ if !self.dot(run, x, y) => Ink::Ground,
            Some(_) => Ink::Text,
            None => Ink::Tone,
        }
    }

    /// The background of the key that a pixel belongs to.
    fn key(&self, x: u32, right: u32, approves: bool, denies: bool) -> Option<Ink> {
        let width = self.place.face.width();
        let (left, margin) = (self.place.left(), width / KEY_MARGIN);
        let has_right = self.trimmed > right;
        if self.left_key > 0 && x < left + self.left_key * width + margin {
            Some(if approves { Ink::Yes } else { Ink::Key })
        } else if has_right && x + margin >= left + right * width {
            Some(if denies { Ink::No } else { Ink::Key })
        } else {
            None
        }
    }

    /// A pixel of a bar with a frame, and of the label in it.
    fn bar(&self, x: u32, y: u32, height: u32, label: u8, percent: u8, rows: u8) -> Ink {
        let margin = self.place.face.height() / BAR_MARGIN;
        let (left, right) = (self.place.left(), self.place.left() + self.place.cells().width);
        let (top, bottom) = (margin, height - margin);
        if x < left || x >= right || y < top || y >= bottom {
            return Ink::Ground;
        }
        let frame = x == left || x + 1 == right || y == top || y + 1 == bottom;
        // One pixel stays free between the frame and the filling.
        let (begin, end) = (left + 2, right.saturating_sub(2).max(left + 2));
        let filled = begin + (end - begin) * u32::from(percent) / 100;
        let filled = (begin..filled).contains(&x) && y >= top + 2 && y + 2 < bottom;
        let label = u32::from(label).saturating_sub(1);
        let scale = if self.place.geometry.is_large() { rows.into() } else { 1 };
        let run = self.run(left + self.place.face.width(), scale, 0);
        let run = Run { top: height.saturating_sub(scale * self.place.face.height()) / 2, ..run };
        let dot = x < run.left + label * run.advance && self.dot(run, x, y);
        match (frame, dot, filled) {
            (true, ..) | (_, true, false) => Ink::Text,
            (_, true, true) => Ink::Inverse,
            (_, false, true) => Ink::Yes,
            _ => Ink::Ground,
        }
    }
}

/// Whether a pictogram has a dot there that is as large as fits between `left` and the next `width` pixels, and in the middle of the
/// band's height.
fn has_mark(mark: Pictogram, x: u32, y: u32, left: u32, width: u32, height: u32) -> bool {
    let scale = (height.min(width) / SIDE).max(1);
    let top = height.saturating_sub(scale * SIDE) / 2;
    let (Some(x), Some(y)) = (x.checked_sub(left), y.checked_sub(top)) else { return false };
    Picture::of_pictogram(mark).pixel(x, y, scale)
}

//! Cells as pixels, on any display that `embedded-graphics` knows, in two colours or in many.
//!
//! Every row of a [`Screen`] becomes one band of pixels from edge to edge, background included; a band is drawn again
//! only when its row has changed, so that a slow bus carries little. What was drawn is remembered whole and not by a
//! hash: a stale row must not pass for a new one. A display that cannot hold every cell is refused, because what is cut
//! off would have been counted as read.

mod band;
mod frame;
mod palette;

use embedded_graphics_core::{
    draw_target::DrawTarget,
    geometry::{Point, Size},
    primitives::Rectangle,
};
use heapless::Vec;

pub use frame::Frame;
pub use palette::{Ink, Palette};

use crate::{
    font::Face,
    row::Row,
    screen::{Geometry, MAX_ROWS, Screen, Tone},
};
use band::Band;

/// Why a screen was not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaintError<E> {
    /// The display has too few pixels for the screen's cells. Choose a smaller [`Geometry`]; trying again is no use.
    TooSmall,
    /// The display's own error. Painting again draws everything anew.
    Display(E),
}

impl<E: core::fmt::Debug> core::fmt::Display for PaintError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TooSmall => f.write_str("the display has too few pixels for the screen's cells"),
            Self::Display(error) => write!(f, "the display does not draw: {error:?}"),
        }
    }
}

impl<E: core::fmt::Debug> core::error::Error for PaintError<E> {}

/// Draws screens on one display, and knows what is on it.
#[derive(Debug, Default)]
pub struct Painter {
    /// `None` if anything might be on the display.
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    place: Place,
    tone: Tone,
    /// Each row and the cells above it.
    rows: Vec<(usize, Row), MAX_ROWS>,
}

/// Where the cells lie on the display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    area: Rectangle,
    geometry: Geometry,
    face: Face,
}

impl Place {
    /// In the middle, as large as all cells fit.
    fn new(area: Rectangle, geometry: Geometry) -> Option<Self> {
        let fits = |face: &Face| {
            let cells = Self { area, geometry, face: *face }.cells();
            cells.width <= area.size.width && cells.height <= area.size.height
        };
        let face = [Face::Large, Face::Small].into_iter().find(fits)?;
        Some(Self { area, geometry, face })
    }

    /// The size of all cells.
    fn cells(&self) -> Size {
        let (columns, rows) = (self.geometry.columns() as u32, self.geometry.rows() as u32);
        Size::new(columns * self.face.width(), rows * self.face.height())
    }

    /// Pixels left of the cells.
    fn left(&self) -> u32 {
        (self.area.size.width - self.cells().width) / 2
    }

    /// The band of a row, from edge to edge of the display.
    fn band(&self, above: usize, row: &Row) -> Rectangle {
        let top = (self.area.size.height - self.cells().height) / 2 + above as u32 * self.face.height();
        let size = Size::new(self.area.size.width, row.height() as u32 * self.face.height());
        Rectangle::new(self.area.top_left + Point::new(0, top as i32), size)
    }
}

impl Painter {
    /// For a display on which anything may be.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws everything anew next time, because somebody else has drawn or the display was off.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Draws what has changed, and returns the area that holds all of it; of size zero if nothing has.
    pub fn paint<D>(&mut self, screen: &Screen, display: &mut D) -> Result<Rectangle, PaintError<D::Error>>
    where
        D: DrawTarget,
        D::Color: Palette,
    {
        let area = display.bounding_box();
        let place = Place::new(area, screen.geometry).ok_or(PaintError::TooSmall)?;
        let tone = screen.view.tone();
        // Forgotten until it is done: half a screen is none.
        let before = self.shown.take().filter(|shown| shown.place == place);
        if before.is_none() {
            let ground = D::Color::of(Ink::Ground, tone);
            display.fill_solid(&area, ground).map_err(PaintError::Display)?;
        }
        let mut changed = before.is_none().then_some(area);
        let before = before.filter(|shown| shown.tone == tone).map(|shown| shown.rows).unwrap_or_default();
        let mut rows = Vec::new();
        let mut above = 0;
        for row in screen.rows() {
            let band = place.band(above, &row);
            let next = above + row.height();
            let row = (above, row);
            if !before.contains(&row) {
                let pixels = Band::new(place, &row.1).pixels(band.size);
                let colours = pixels.map(|ink| D::Color::of(ink, tone));
                display.fill_contiguous(&band, colours).map_err(PaintError::Display)?;
                changed = Some(changed.map_or(band, |changed| down_to(changed, band)));
            }
            above = next;
            rows.push(row).expect("a geometry has at most MAX_ROWS rows");
        }
        self.shown = Some(Shown { place, tone, rows });
        Ok(changed.unwrap_or(Rectangle::new(area.top_left, Size::zero())))
    }
}

/// What reaches from `upper` to `band` below it; all of a display reaches far enough already.
fn down_to(upper: Rectangle, band: Rectangle) -> Rectangle {
    let end = band.top_left.y + band.size.height as i32;
    let height = u32::try_from(end - upper.top_left.y).unwrap_or(0).max(upper.size.height);
    Rectangle::new(upper.top_left, Size::new(upper.size.width, height))
}

#[cfg(test)]
mod tests;

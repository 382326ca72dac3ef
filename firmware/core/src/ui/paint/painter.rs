//! Draws a screen on a display, and only what has changed.
//!
//! Every row of a [`Screen`] becomes one band of pixels from edge to edge, background included. A band is redrawn only if
//! its row has changed, so that a slow bus carries little. The drawn rows are remembered in full and not as a hash: a
//! stale row must never be taken for a new one. A display that cannot hold every cell is refused, because text that is
//! cut off would count as read.

use embedded_graphics_core::{draw_target::DrawTarget, geometry::Size, primitives::Rectangle};
use heapless::Vec;

use super::{
    band::Band,
    palette::{Ink, Palette},
    place::Place,
};
use crate::ui::{geometry::MAX_ROWS, row::Row, screen::Screen, view::Tone};

/// Why a screen was not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaintError<E> {
    /// The display has too few pixels for the screen's cells. Choose a smaller [`Geometry`](crate::Geometry), or use a larger display; retrying does not help.
    TooSmall,
    /// The display's own error. The next painting draws everything.
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

/// Draws screens on one display, and remembers what is on it.
#[derive(Debug, Default)]
pub struct Painter {
    /// `None` if the display's content is unknown.
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    place: Place,
    tone: Tone,
    /// Each row and the cells above it.
    rows: Vec<(usize, Row), MAX_ROWS>,
}

impl Painter {
    /// A painter for a display with unknown content.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the next painting draw everything, because somebody else has drawn or the display was off.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Draws what has changed, and returns the area that contains all changes, of size zero if there are none.
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

/// Extends `upper` down to the end of `band`, unless it reaches that far already.
fn down_to(upper: Rectangle, band: Rectangle) -> Rectangle {
    let end = band.top_left.y + band.size.height as i32;
    let height = u32::try_from(end - upper.top_left.y).unwrap_or(0).max(upper.size.height);
    Rectangle::new(upper.top_left, Size::new(upper.size.width, height))
}

#[cfg(test)]
mod tests;

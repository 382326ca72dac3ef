//! Where a screen's cells lie on a display.

use embedded_graphics_core::{
    geometry::{Point, Size},
    primitives::Rectangle,
};

use crate::ui::{font::Face, geometry::Geometry, row::Row};

/// Where the cells lie, and with which font.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) area: Rectangle,
    pub(super) geometry: Geometry,
    pub(super) face: Face,
}

impl Place {
    /// In the middle, with the largest font with which all cells fit.
    pub(super) fn new(area: Rectangle, geometry: Geometry) -> Option<Self> {
        let fits = |face: &Face| {
            let cells = Self { area, geometry, face: *face }.cells();
            cells.width <= area.size.width && cells.height <= area.size.height
        };
        let face = [Face::Large, Face::Small].into_iter().find(fits)?;
        Some(Self { area, geometry, face })
    }

    /// The size of all cells together.
    pub(super) fn cells(&self) -> Size {
        let (columns, rows) = (self.geometry.columns() as u32, self.geometry.rows() as u32);
        Size::new(columns * self.face.width(), rows * self.face.height())
    }

    /// Pixels left of the cells.
    pub(super) fn left(&self) -> u32 {
        (self.area.size.width - self.cells().width) / 2
    }

    /// The band of the row with `above` rows of cells above it, from edge to edge of the display.
    pub(super) fn band(&self, above: usize, row: &Row) -> Rectangle {
        let top = (self.area.size.height - self.cells().height) / 2 + above as u32 * self.face.height();
        let size = Size::new(self.area.size.width, row.height() as u32 * self.face.height());
        Rectangle::new(self.area.top_left + Point::new(0, top as i32), size)
    }
}

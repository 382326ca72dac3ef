//! A picture in memory, for a display that shows memory directly: four bytes per pixel, in the order blue, green, red,
//! unused (BGRX).

use core::convert::Infallible;

use embedded_graphics_core::{
    Pixel,
    draw_target::DrawTarget,
    geometry::{OriginDimensions, Size},
    pixelcolor::{Rgb565, Rgb888, RgbColor as _},
};

/// Bytes of a pixel.
const PIXEL_BYTES: usize = 4;

/// A picture.
#[derive(Debug)]
pub struct Frame<'m> {
    memory: &'m mut [u8],
    size: Size,
}

impl<'m> Frame<'m> {
    /// A picture in this memory, row by row; [`None`] if the memory is too small for so many pixels.
    pub fn new(memory: &'m mut [u8], width: u32, height: u32) -> Option<Self> {
        let bytes = (width as usize).checked_mul(height as usize)?.checked_mul(PIXEL_BYTES)?;
        Some(Self { memory: memory.get_mut(..bytes)?, size: Size::new(width, height) })
    }
}

impl OriginDimensions for Frame<'_> {
    fn size(&self) -> Size {
        self.size
    }
}

impl DrawTarget for Frame<'_> {
    /// The format of boards' colour displays.
    type Color = Rgb565;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb565>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        let Size { width, height } = self.size;
        for Pixel(point, colour) in pixels {
            let (Ok(x), Ok(y)) = (u32::try_from(point.x), u32::try_from(point.y)) else { continue };
            if x < width && y < height {
                let colour = Rgb888::from(colour);
                let at = (y as usize * width as usize + x as usize) * PIXEL_BYTES;
                self.memory[at..at + PIXEL_BYTES].copy_from_slice(&[
                    colour.b(),
                    colour.g(),
                    colour.r(),
                    0xff,
                ]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use embedded_graphics_core::geometry::Point;

    use super::*;

    #[test]
    fn a_pixel_is_written_at_its_place_blue_first_and_none_outside() {
        let mut memory = [7; 3 * 2 * 4 + 1];
        let mut frame = Frame::new(&mut memory, 3, 2).unwrap();
        let red = |x, y| Pixel(Point::new(x, y), Rgb565::RED);
        let blue = Pixel(Point::new(2, 1), Rgb565::BLUE);
        let outside = [red(3, 0), red(0, 2), red(-1, 1), red(1, -1)];
        frame.draw_iter([red(1, 0), blue].into_iter().chain(outside)).unwrap();
        let mut expected = [7; 25];
        expected[4..8].copy_from_slice(&[0, 0, 0xff, 0xff]);
        expected[20..24].copy_from_slice(&[0xff, 0, 0, 0xff]);
        assert_eq!(memory, expected);
    }

    #[test]
    fn a_picture_larger_than_its_memory_is_refused() {
        for (width, height) in [(3, 3), (7, 1), (u32::MAX, u32::MAX)] {
            assert!(Frame::new(&mut [0; 24], width, height).is_none(), "{width}×{height}");
        }
        assert_eq!(Frame::new(&mut [0; 24], 3, 2).unwrap().size(), Size::new(3, 2));
    }
}

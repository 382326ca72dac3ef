//! The screen: 320×240 pixels on QEMU's graphics card, whose memory stands for a display's own.

use core::convert::Infallible;

use embedded_graphics_core::{
    Pixel,
    draw_target::DrawTarget,
    geometry::{OriginDimensions, Size},
    pixelcolor::{Rgb565, Rgb888, RgbColor as _},
};
use gatepost_companion::{Painter, Screen, View};

use crate::{dma::Gpu, log};

const WIDTH: u32 = 320;
const HEIGHT: u32 = 240;

/// What draws screens.
pub struct Display {
    card: Gpu,
    pixels: Pixels,
    painter: Painter,
    shown: Option<View>,
}

/// The card's picture: four bytes a pixel, blue first.
struct Pixels(&'static mut [u8]);

impl Display {
    /// Takes the card and makes it as small as a board's display.
    pub fn new(mut card: Gpu) -> Self {
        let memory: *mut [u8] = card.change_resolution(WIDTH, HEIGHT).expect("any card has 320×240 pixels");
        // SAFETY: the memory came from `dma`, which takes nothing back, and the card is kept beside its only user: its
        // driver reads and writes none of it, and the device reads it only while `flush` waits.
        let pixels = Pixels(unsafe { &mut *memory });
        Self { card, pixels, painter: Painter::new(), shown: None }
    }

    /// Draws what has changed, and then says what it is.
    pub fn show(&mut self, screen: &Screen) {
        match self.painter.paint(screen, &mut self.pixels) {
            Ok(changed) if changed.size == Size::zero() => {}
            Ok(_) => self.card.flush().expect("the card answers"),
            Err(error) => panic!("{error}"),
        }
        if self.shown != Some(screen.view) {
            self.shown = Some(screen.view);
            log!("screen: {:?}", screen.view);
        }
    }
}

impl OriginDimensions for Pixels {
    fn size(&self) -> Size {
        Size::new(WIDTH, HEIGHT)
    }
}

impl DrawTarget for Pixels {
    /// What colour displays for boards have.
    type Color = Rgb565;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb565>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(point, colour) in pixels {
            let (Ok(x), Ok(y)) = (u32::try_from(point.x), u32::try_from(point.y)) else { continue };
            if x < WIDTH && y < HEIGHT {
                let colour = Rgb888::from(colour);
                let at = ((y * WIDTH + x) * 4) as usize;
                self.0[at..at + 4].copy_from_slice(&[colour.b(), colour.g(), colour.r(), 0xff]);
            }
        }
        Ok(())
    }
}

//! A mock display that can be unplugged.

use core::convert::Infallible;
use std::{cell::RefCell, rc::Rc, vec, vec::Vec};

use embedded_graphics_core::{
    Pixel,
    draw_target::DrawTarget,
    geometry::{OriginDimensions, Size},
    pixelcolor::BinaryColor,
    primitives::Rectangle,
};

use crate::{Geometry, ui::panel::Display};

/// What a test does to the display, and what it observes.
#[derive(Debug, Default)]
pub(crate) struct Cable {
    /// Nothing answers on the bus.
    pub(crate) unplugged: bool,
    /// The flush with this number, from 0, fails.
    pub(crate) fails_at: Option<usize>,
    pub(crate) starts: usize,
    pub(crate) flushes: usize,
    /// What a person sees; nothing until the display was started after it was plugged in.
    pub(crate) seen: Vec<bool>,
}

/// Memory to draw in.
#[derive(Debug)]
pub(crate) struct Drawn {
    size: Size,
    pixels: Vec<bool>,
}

/// The display.
#[derive(Debug)]
pub(crate) struct MockDisplay {
    drawn: Drawn,
    cable: Rc<RefCell<Cable>>,
}

impl MockDisplay {
    /// A display of the size of this geometry, and its cable.
    pub(crate) fn new(geometry: Geometry) -> (Self, Rc<RefCell<Cable>>) {
        Self::sized(if geometry == Geometry::SMALL { Size::new(128, 64) } else { Size::new(320, 240) })
    }

    /// A display of this size in pixels, and its cable.
    pub(crate) fn sized(size: Size) -> (Self, Rc<RefCell<Cable>>) {
        let pixels = vec![false; (size.width * size.height) as usize];
        let cable = Rc::<RefCell<Cable>>::default();
        (Self { drawn: Drawn { size, pixels }, cable: Rc::clone(&cable) }, cable)
    }
}

impl OriginDimensions for Drawn {
    fn size(&self) -> Size {
        self.size
    }
}

impl DrawTarget for Drawn {
    type Color = BinaryColor;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<BinaryColor>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, colour) in pixels {
            self.pixels[at.y as usize * self.size.width as usize + at.x as usize] = colour.is_on();
        }
        Ok(())
    }
}

impl Display for MockDisplay {
    type Target = Drawn;
    type Fault = &'static str;

    fn start(&mut self) -> Result<(), &'static str> {
        let mut cable = self.cable.borrow_mut();
        cable.starts += 1;
        if cable.unplugged { Err("nobody answers") } else { Ok(()) }
    }

    fn target(&mut self) -> &mut Drawn {
        &mut self.drawn
    }

    fn flush(&mut self, _: Rectangle) -> Result<(), &'static str> {
        let mut cable = self.cable.borrow_mut();
        cable.flushes += 1;
        if cable.unplugged || cable.fails_at == Some(cable.flushes - 1) {
            cable.seen.clear();
            return Err("the write broke off");
        }
        cable.seen.clone_from(&self.drawn.pixels);
        Ok(())
    }
}

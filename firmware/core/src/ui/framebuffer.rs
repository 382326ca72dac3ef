//! A graphics card, which shows memory, as a display.

use core::fmt;

use super::{
    paint::Frame,
    panel::{Display, Rectangle},
};

/// A device that displays memory.
pub trait GraphicsCard {
    /// Why it does not answer.
    type Fault: fmt::Debug;

    /// Whether it is still as [`GraphicsCard::start`] left it. Waiting for one that is not would never end.
    fn is_running(&self) -> bool;

    /// Starts it and returns its memory, four bytes per pixel. Memory that it returned before is no longer in use.
    fn start(&mut self) -> Result<&'static mut [u8], Self::Fault>;

    /// Displays the memory's content.
    fn flush(&mut self) -> Result<(), Self::Fault>;

    /// The fault of a card that is not running.
    fn not_running() -> Self::Fault;
}

/// A graphics card as a display of a fixed size.
pub struct FramebufferDisplay<C> {
    card: C,
    frame: Frame<'static>,
    width: u32,
    height: u32,
}

fn empty_frame() -> Frame<'static> {
    Frame::new(&mut [], 0, 0).expect("no pixels need no memory")
}

impl<C: GraphicsCard> FramebufferDisplay<C> {
    /// A display on a card that was not started yet.
    pub fn new(card: C, width: u32, height: u32) -> Self {
        Self { card, frame: empty_frame(), width, height }
    }
}

impl<C: GraphicsCard> Display for FramebufferDisplay<C> {
    type Target = Frame<'static>;
    type Fault = C::Fault;

    /// Does nothing if the card is running: starting it takes long and loses the picture.
    fn start(&mut self) -> Result<(), C::Fault> {
        if !self.card.is_running() {
            self.frame = empty_frame();
            let memory = self.card.start()?;
            // With memory for fewer pixels the display is too small for any screen.
            self.frame = Frame::new(memory, self.width, self.height).unwrap_or_else(empty_frame);
        }
        Ok(())
    }

    fn target(&mut self) -> &mut Frame<'static> {
        &mut self.frame
    }

    fn flush(&mut self, changed: Rectangle) -> Result<(), C::Fault> {
        match self.card.is_running() {
            false => Err(C::not_running()),
            true if changed.is_zero_sized() => Ok(()),
            true => self.card.flush(),
        }
    }
}

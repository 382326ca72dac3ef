//! A display that may be absent, pulled out and put back, and whether it has what was drawn.
//!
//! What counts as shown is what the display has taken: started, painted and flushed without an error. After an error
//! nobody knows what is on it, so it is started anew and painted whole; that is tried once in [`START_AGAIN`], because a bus
//! on which nobody answers may take long to say so.
//!
//! A display that was pulled out and put back between two drawings takes pixels and shows none, for it was never started.
//! So it is started for every page of a card as well, and for the number of a pairing.

use core::fmt;

use embedded_graphics_core::draw_target::DrawTarget;
pub use embedded_graphics_core::primitives::Rectangle;

use gatepost_link::RequestId;

use crate::{
    Millis, Screen, View,
    paint::{Frame, PaintError, Painter, Palette},
    screen::NotShown,
};

/// At least so many milliseconds lie between two attempts to start a display that does not answer.
pub const START_AGAIN: u64 = 500;

/// A board's display.
pub trait Display {
    /// Where is drawn: the display itself, or memory that [`Display::flush`] hands over.
    type Target: DrawTarget<Color: Palette, Error: fmt::Debug>;
    /// Why it does not answer.
    type Fault: fmt::Debug;

    /// Starts it, whatever state it is in. Anything may be on it afterwards.
    fn start(&mut self) -> Result<(), Self::Fault>;

    /// Where is drawn.
    fn target(&mut self) -> &mut Self::Target;

    /// Shows what was drawn in `changed`, which may be empty; an error unless the display has taken it.
    fn flush(&mut self, changed: Rectangle) -> Result<(), Self::Fault>;
}

/// A display that shows memory: a graphics card.
pub trait Card {
    /// Why it does not answer.
    type Fault: fmt::Debug;

    /// Whether it is as [`Card::start`] left it. One that is not would be waited for without end.
    fn runs(&self) -> bool;

    /// Starts it, and gives its memory: four bytes a pixel. What it gave before is in use no more.
    fn start(&mut self) -> Result<&'static mut [u8], Self::Fault>;

    /// Shows what is in the memory.
    fn flush(&mut self) -> Result<(), Self::Fault>;

    /// That it does not run.
    fn fault() -> Self::Fault;
}

/// A card as a display of so many pixels.
pub struct Framed<C> {
    card: C,
    frame: Frame<'static>,
    width: u32,
    height: u32,
}

fn nothing() -> Frame<'static> {
    Frame::new(&mut [], 0, 0).expect("no pixels need no memory")
}

impl<C: Card> Framed<C> {
    /// A card that was not started.
    pub fn new(card: C, width: u32, height: u32) -> Self {
        Self { card, frame: nothing(), width, height }
    }
}

impl<C: Card> Display for Framed<C> {
    type Target = Frame<'static>;
    type Fault = C::Fault;

    /// Only where it does not run: to start it takes long, and its picture goes.
    fn start(&mut self) -> Result<(), C::Fault> {
        if !self.card.runs() {
            self.frame = nothing();
            let memory = self.card.start()?;
            // Memory for fewer pixels is a display that is too small.
            self.frame = Frame::new(memory, self.width, self.height).unwrap_or_else(nothing);
        }
        Ok(())
    }

    fn target(&mut self) -> &mut Frame<'static> {
        &mut self.frame
    }

    fn flush(&mut self, changed: Rectangle) -> Result<(), C::Fault> {
        match self.card.runs() {
            false => Err(C::fault()),
            true if changed.is_zero_sized() => Ok(()),
            true => self.card.flush(),
        }
    }
}

/// What a log should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News<F, E> {
    /// It shows something, for the first time or again.
    Works,
    /// It does not answer; said once.
    Fault(F),
    /// It cannot be drawn on; said once.
    Paint(PaintError<E>),
}

impl<F: fmt::Debug, E: fmt::Debug> fmt::Display for News<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("the display works"),
            Self::Fault(fault) => write!(f, "the display does not answer: {fault:?}"),
            Self::Paint(error) => error.fmt(f),
        }
    }
}

type Wrong<D> = News<<D as Display>::Fault, <<D as Display>::Target as DrawTarget>::Error>;

/// A display, and what is known to be on it.
#[derive(Debug)]
pub struct Panel<D> {
    display: D,
    painter: Painter,
    started: bool,
    /// `None` before anything was drawn.
    works: Option<bool>,
    start_again: Millis,
    /// What a person must have read, as far as it was drawn last.
    to_read: Option<ToRead>,
}

/// What a person decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToRead {
    Page(RequestId, u16),
    Number(u32),
}

impl ToRead {
    fn on(view: &View) -> Option<Self> {
        match view {
            View::Card(card) => Some(Self::Page(card.request, card.page)),
            View::Pairing { code, .. } => Some(Self::Number(*code)),
            _ => None,
        }
    }
}

impl<D: Display> Panel<D> {
    /// A display that is started when the first screen is shown.
    pub fn new(display: D) -> Self {
        Self {
            display,
            painter: Painter::new(),
            started: false,
            works: None,
            start_again: Millis(0),
            to_read: None,
        }
    }

    /// Draws what has changed, and tells `log` when the display begins to work or ceases to.
    pub fn show(
        &mut self,
        now: Millis,
        screen: &Screen,
        log: impl FnOnce(&Wrong<D>),
    ) -> Result<(), NotShown> {
        if !self.started && now < self.start_again {
            return Err(NotShown);
        }
        let to_read = ToRead::on(&screen.view);
        self.started &= to_read.is_none() || to_read == self.to_read;
        let shown = self.draw(screen);
        self.to_read = to_read;
        if self.works != Some(shown.is_ok()) {
            self.works = Some(shown.is_ok());
            log(shown.as_ref().err().unwrap_or(&News::Works));
        }
        shown.map_err(|_| {
            self.started = false;
            self.start_again = now.after(START_AGAIN);
            NotShown
        })
    }

    fn draw(&mut self, screen: &Screen) -> Result<(), Wrong<D>> {
        if !self.started {
            self.display.start().map_err(News::Fault)?;
            self.painter.forget();
            self.started = true;
        }
        let changed = self.painter.paint(screen, self.display.target()).map_err(News::Paint)?;
        self.display.flush(changed).map_err(News::Fault)
    }
}

#[cfg(test)]
mod tests;

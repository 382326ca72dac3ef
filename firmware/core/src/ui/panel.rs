//! A display that may be absent, unplugged and plugged in again, and whether it accepted what was drawn.
//!
//! A screen counts as shown if the display was started, painted and flushed without an error. After an error its content
//! is unknown, so it is started again and painted in full; that is tried at most once per [`RESTART_INTERVAL_MS`], because
//! a bus without a device may take long to report it.
//!
//! A display that was unplugged and plugged in again between two drawings accepts pixels and shows none, because it was
//! not started. So it is also started for every page of a card, and for the number of a pairing.

use core::fmt;

use embedded_graphics_core::draw_target::DrawTarget;
pub use embedded_graphics_core::primitives::Rectangle;

use gatepost_link::RequestId;

use super::{
    paint::{PaintError, Painter, Palette},
    screen::Screen,
    view::{NotShown, View},
};
use crate::Millis;

/// The shortest time between two attempts to start a display that does not answer.
pub const RESTART_INTERVAL_MS: u64 = 500;

/// A board's display.
pub trait Display {
    /// What is drawn on: the display itself, or memory that [`Display::flush`] transfers.
    type Target: DrawTarget<Color: Palette, Error: fmt::Debug>;
    /// Why it does not answer.
    type Fault: fmt::Debug;

    /// Starts it in whatever state it is. Its content is undefined afterwards.
    fn start(&mut self) -> Result<(), Self::Fault>;

    /// What to draw on.
    fn target(&mut self) -> &mut Self::Target;

    /// Shows what was drawn in `changed`, which may be empty. Returns an error unless the display accepted it.
    fn flush(&mut self, changed: Rectangle) -> Result<(), Self::Fault>;
}

/// A change of the display's state, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayEvent<F, E> {
    /// It works, for the first time or again.
    Works,
    /// It does not answer. Reported once.
    Fault(F),
    /// It cannot be drawn on. Reported once.
    Paint(PaintError<E>),
}

impl<F: fmt::Debug, E: fmt::Debug> fmt::Display for DisplayEvent<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("the display works"),
            Self::Fault(fault) => write!(f, "the display does not answer: {fault:?}"),
            Self::Paint(error) => error.fmt(f),
        }
    }
}

type EventOf<D> = DisplayEvent<<D as Display>::Fault, <<D as Display>::Target as DrawTarget>::Error>;

/// A display, and what is known about its content.
#[derive(Debug)]
pub struct Panel<D> {
    display: D,
    painter: Painter,
    started: bool,
    /// `None` until something was drawn.
    works: Option<bool>,
    restart_at: Millis,
    /// What the last drawing showed of that which a person decides on.
    to_read: Option<ToRead>,
}

/// What a person decides on, and so must have read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToRead {
    Page(RequestId, u16),
    Number(u32),
}

impl ToRead {
    fn of(view: &View) -> Option<Self> {
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
            restart_at: Millis(0),
            to_read: None,
        }
    }

    /// Draws what has changed, and calls `log` when the display starts or stops working.
    pub fn show(
        &mut self,
        now: Millis,
        screen: &Screen,
        log: impl FnOnce(&EventOf<D>),
    ) -> Result<(), NotShown> {
        if !self.started && now < self.restart_at {
            return Err(NotShown);
        }
        let to_read = ToRead::of(&screen.view);
        self.started &= to_read.is_none() || to_read == self.to_read;
        let shown = self.draw(screen);
        self.to_read = to_read;
        if self.works != Some(shown.is_ok()) {
            self.works = Some(shown.is_ok());
            log(shown.as_ref().err().unwrap_or(&DisplayEvent::Works));
        }
        shown.map_err(|_| {
            self.started = false;
            self.restart_at = now.after(RESTART_INTERVAL_MS);
            NotShown
        })
    }

    fn draw(&mut self, screen: &Screen) -> Result<(), EventOf<D>> {
        if !self.started {
            self.display.start().map_err(DisplayEvent::Fault)?;
            self.painter.forget();
            self.started = true;
        }
        let changed = self.painter.paint(screen, self.display.target()).map_err(DisplayEvent::Paint)?;
        self.display.flush(changed).map_err(DisplayEvent::Fault)
    }
}

#[cfg(test)]
mod tests;

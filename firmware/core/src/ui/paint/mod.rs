//! Text cells as pixels, on any display that `embedded-graphics` supports, in two colours or in many.
//!
//! - [`Painter`]: draws a screen, read it first;
//! - `place`: where the cells lie on the display; `band`: the pixels of one row; `enlarge`: of large ones;
//! - [`Palette`]: the colours of a display, by what a pixel is part of;
//! - [`Frame`]: a picture in memory.

mod band;
mod enlarge;
mod frame;
mod painter;
mod palette;
mod place;

pub use frame::Frame;
pub use painter::{PaintError, Painter};
pub use palette::{Ink, Palette};

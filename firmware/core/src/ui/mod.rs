//! What a person sees and touches: screens and buttons. Nothing here decides anything or knows of a hub.
//!
//! From a document to pixels; read [`screen`] first:
//!
//! - [`pages`]: a document as pages of text cells; [`escape`]: characters that must not be drawn as they are;
//! - [`view`]: what a screen is about, as structure; [`screen`], [`row`], [`geometry`]: its rows of cells;
//! - [`notice`]: the device's own messages; [`status`]: the hub's report on the idle screen;
//! - [`font`], [`pictogram`], [`paint`]: cells as pixels;
//! - [`panel`]: a display that may be unplugged, and whether it accepted a screen; [`framebuffer`]: a graphics card as one;
//! - [`light`]: a light beside the screen.
//!
//! From a pin to a gesture; read [`buttons`] first:
//!
//! - [`debounce`]: switches as button edges; [`keyboard`]: two keys as button edges;
//! - [`buttons`]: edges as gestures, and which presses never count.

pub mod buttons;
pub mod debounce;
pub mod escape;
pub mod font;
pub mod framebuffer;
pub mod geometry;
pub mod keyboard;
pub mod light;
pub mod notice;
pub mod pages;
pub mod paint;
pub mod panel;
pub mod pictogram;
pub mod row;
pub mod screen;
pub mod status;
pub mod view;

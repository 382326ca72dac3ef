//! The companion's application: what its two buttons do and what its screen shows.
//!
//! One state machine without I/O. The ESP32 runner, the QEMU runner and the terminal on a developer's machine feed
//! it time, button edges and payloads, and take from it a screen and payloads to publish; no runner decides anything.
//!
//! - [`companion`]: all of it, as a runner drives it;
//! - [`app`]: cards and decisions, read it first;
//! - [`sealed`]: sessions with the hub, and [`pair`]: how the device comes to have one;
//! - [`buttons`]: edges to gestures, and which presses never count;
//! - [`contacts`], [`keyboard`]: two pins with switches that bounce, or two keys, as edges;
//! - [`fetch`]: a document put together piece by piece;
//! - [`card`]: what an open card has shown and what it may decide;
//! - [`pending`]: a decision that the hub has not confirmed yet;
//! - [`retry`]: when something that was not answered is said again;
//! - [`waiting`], [`outbound`]: the offers that wait, the frames that leave, both bounded;
//! - [`pages`]: a document as pages of text cells;
//! - [`escape`]: characters that the screen cannot show honestly, made visible;
//! - [`screen`], [`row`]: what to draw, as structure and as cells;
//! - [`draw`], [`notice`]: the application's state as a screen, and what the device says of itself;
//! - [`setup`]: how it is told its network and its hub, over the serial line;
//! - [`mqtt`]: the device at its broker, and the loop that every runner runs;
//! - [`storage`], [`flash`]: what the device keeps over a loss of power, and how a flash keeps it;
//! - [`status`]: the hub's last word on itself, and the clock that goes on from it;
//! - [`light`]: a light beside the screen;
//! - [`pool`]: memory for a board's devices;
//! - [`font`], [`paint`]: cells as pixels, on any display that `embedded-graphics` knows;
//! - [`panel`]: a display that may be pulled out, and whether it has taken what was drawn.
//!
//! The promise: no approval leaves the device unless a person held Approve for [`buttons::HOLD`] on a card whose
//! every page the display had taken, and the signature covers the very bytes those pages were made from.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

pub mod app;
pub mod buttons;
pub mod card;
pub mod companion;
pub mod contacts;
pub mod draw;
pub mod escape;
pub mod fetch;
pub mod flash;
pub mod font;
pub mod keyboard;
pub mod light;
pub mod mqtt;
pub mod notice;
pub mod outbound;
pub mod pages;
pub mod paint;
pub mod pair;
pub mod panel;
pub mod pending;
pub mod pool;
pub mod retry;
pub mod row;
pub mod screen;
pub mod sealed;
pub mod setup;
pub mod status;
pub mod storage;
pub mod waiting;

#[cfg(test)]
mod testing;

pub use app::{App, Counter, Settings};
pub use buttons::{Button, Edge};
pub use companion::{Access, Companion};
pub use paint::Painter;
pub use panel::Panel;
pub use screen::{CardView, Ended, Geometry, NotShown, Screen, View};
pub use storage::{Bond, Hub, Keys, Network, Storage};

/// A point in time: milliseconds since any fixed moment, such as the start. Must not go backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Millis(pub u64);

impl Millis {
    /// This moment and `milliseconds` more.
    pub fn after(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// When one whole second less is left until `deadline`: when a countdown to it shows another number.
    pub fn next_second(self, deadline: Self) -> Self {
        self.after((deadline.since(self).max(1) - 1) % 1_000 + 1)
    }

    /// Milliseconds since `earlier`; 0 if that is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_changes_when_a_whole_second_less_is_left() {
        let deadline = Millis(10_000);
        let shown = |now: Millis| deadline.since(now).div_ceil(1_000);
        for now in (0..10_000).map(Millis) {
            let next = now.next_second(deadline);
            assert_eq!(shown(next), shown(now) - 1, "{now:?}");
            assert!(next.since(now) <= 1_000 && shown(Millis(next.0 - 1)) == shown(now), "{now:?}");
        }
        assert_eq!(deadline.next_second(deadline), Millis(10_001), "never at once");
    }
}

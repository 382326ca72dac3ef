//! The companion's application: what its two buttons do and what its screen shows.
//!
//! It is a state machine without I/O. The ESP32 runner, the QEMU runner and the terminal on a developer's machine give it
//! the time, button edges and payloads, and take from it a screen and payloads to publish. No runner decides anything.
//!
//! Read [`decision`] first: cards and decisions are what the rest exists for.
//!
//! - [`companion`]: everything together, as a runner drives it; [`event_loop`]: how a board drives it;
//! - [`decision`]: an open card, and the decision on it;
//! - [`link`]: the session with the hub, pairing, and what is fetched and sent in it;
//! - [`ui`]: screens, pages, drawing and fonts; buttons and their gestures;
//! - [`net`]: the set-up over the serial line, the wireless network, the connection to the broker;
//! - [`storage`]: keys, bond, network and counter, and how a flash keeps them;
//! - [`update`]: new firmware: what is taken, who is asked, when it is good; [`slots`]: its way through the flash, its trial, and the
//!   way back;
//! - [`settings`]: what the owner chose; [`time`]: points in time; [`dma_pool`]: memory for a board's devices.
//!
//! Imports go one way, and never in a circle:
//!
//! ```text
//! event_loop -> companion -> decision -> link -> ui
//!                                             -> storage
//!                         -> update ---------> link, slots -> storage
//!                         -> net ------------> storage
//! slots -------------------------------------> storage
//! ```
//!
//! A room may use every room to its right, and all of them [`settings`] and [`time`]. `net` knows neither `decision`,
//! `link` nor `ui`.
//!
//! The promise: no approval leaves the device unless a person held Approve for [`buttons::HOLD`] on a card of which the
//! display had accepted every page, and the signature covers the very bytes from which those pages were made.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

pub mod companion;
pub mod decision;
pub mod dma_pool;
pub mod event_loop;
pub mod link;
pub mod net;
pub mod settings;
pub mod slots;
pub mod storage;
pub mod time;
pub mod ui;
pub mod update;

#[cfg(test)]
mod testing;

pub use companion::Companion;
pub use decision::{
    app::{App, REDRAW_INTERVAL_MS},
    card, first_page,
};
pub use link::{pairing, session};
pub use net::mqtt::{self, Access};
pub use settings::Settings;
pub use storage::{Bond, Counter, Hub, Keys, Network, Storage, flash};
pub use time::Millis;
pub use ui::{
    buttons::{self, Button, Edge},
    geometry::Geometry,
    pages,
    paint::Painter,
    panel::Panel,
    screen::Screen,
    view::{CardView, Ended, Fault, NotShown, View},
};

//! Puts a companion's firmware into a board on a serial port, and gives it its network.
//!
//! A program of its own beside the hub, which starts it: what knows Espressif's chips is as large as a quarter of a hub, and is
//! wanted once a board. It says on its standard output what happens, a line of JSON for each thing, and is told secrets on its
//! standard input alone.
//!
//! - [`install`]: how a board is written and verified; read it first;
//! - [`image`]: what is written, from a file of a release; [`loader`]: what goes before the firmware;
//! - [`port`]: the serial port, and what to do if it cannot be used;
//! - [`improv`]: packets of Improv Wi-Fi, the host's half; [`set_up`]: what is asked and told with them.
//!
//! No stub is loaded into the board: those in espflash 4 are under the GPL, and the ROM can do all that is needed.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod image;
pub mod improv;
pub mod install;
pub mod loader;
pub mod port;
pub mod set_up;

use espflash::target::Chip;

/// A board that companions run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// An ESP32-C3.
    Esp32c3,
    /// An ESP32-C6.
    Esp32c6,
}

impl Board {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Esp32c3, Self::Esp32c6];

    /// Its name in releases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Esp32c3 => "esp32c3",
            Self::Esp32c6 => "esp32c6",
        }
    }

    /// Its chip.
    pub const fn chip(self) -> Chip {
        match self {
            Self::Esp32c3 => Chip::Esp32c3,
            Self::Esp32c6 => Chip::Esp32c6,
        }
    }

    /// The board of a chip, if it is one of ours.
    pub fn of(chip: Chip) -> Option<Self> {
        Self::ALL.into_iter().find(|board| board.chip() == chip)
    }
}

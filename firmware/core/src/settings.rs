//! The settings of the application.

use crate::ui::buttons::SHORT_APPROVE_MS;

/// What the owner chose, and how the buttons behave.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Whether a message with files, which the device cannot show, may be approved. Off by default.
    pub approve_unseen_files: bool,
    /// Whether this is a program on a computer; it tells its hub so during pairing. Off by default.
    pub program: bool,
    /// A press of Approve shorter than this many milliseconds turns the page; [`SHORT_APPROVE_MS`] by default. A keyboard
    /// whose releases are only estimated needs more.
    pub short_approve: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { approve_unseen_files: false, program: false, short_approve: SHORT_APPROVE_MS }
    }
}

//! What runs here, and whose updates it takes.

use gatepost_companion::{slots::flat::Header, update::Firmware};
use gatepost_link::update::Label;

const BOARD: Label = Label::new("qemu-virt").expect("a label");

/// The first root of this build. Version and time are the image's own: the tests make several of one build.
#[allow(dead_code, reason = "version and time are in the image's header")]
mod release {
    include!(concat!(env!("OUT_DIR"), "/release.rs"));
}

/// Said at each start of firmware that takes updates signed by anybody.
pub const DEVELOPMENT: &str = if release::HAS_DEVELOPMENT_KEYS { ", DEV KEYS" } else { "" };

/// The firmware whose image has this header.
pub fn of(header: &Header) -> Firmware {
    Firmware::emulated(BOARD, header, release::ROOT)
}

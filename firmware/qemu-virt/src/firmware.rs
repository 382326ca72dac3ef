//! What runs here, and whose updates it takes.

use gatepost_companion::{
    slots::{flat::Header, partitions::SLOT_BYTES},
    update::{Firmware, ImageKind},
};
use gatepost_link::update::Label;

const BOARD: Label = match Label::new("qemu-virt") {
    Some(label) => label,
    None => panic!("it is short"),
};
/// `GATEPOST_ROOT` at the build, or the root with which anybody can sign.
const ROOT: &[u8] = include_bytes!(env!("GATEPOST_ROOT_FILE"));
/// Said at each start of firmware that takes updates signed by anybody.
pub const DEVELOPMENT: &str = if cfg!(development_root) { ", DEV KEYS" } else { "" };

/// The firmware whose image has this header.
pub fn of(header: &Header) -> Firmware {
    Firmware {
        board: BOARD,
        version: header.version,
        built: header.built,
        slot: SLOT_BYTES,
        image: ImageKind::Any,
        root: Some(ROOT),
    }
}

//! The companion's firmware: the crates that it stands on, and its image in QEMU.

mod no_std;
mod qemu;
mod qemu_display;

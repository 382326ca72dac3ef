//! The companion's firmware: the crates that it stands on, its image in QEMU, and updates of it there.

mod install;
mod installer;
mod no_std;
mod qemu;
mod qemu_display;
mod rolled_out;
mod update;

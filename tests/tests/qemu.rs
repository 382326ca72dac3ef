//! The companion's firmware itself, as a RISC-V image in QEMU: what a person sees on its screen and does with its two
//! keys, at a hub that is a process of its own.

use anyhow::Result;
use gatepost_tests::peers::{
    free_port,
    qemu::{Qemu, flash::Flash},
};

#[test]
fn a_new_device_starts_and_asks_to_be_paired() -> Result<()> {
    let mut board = Qemu::start(&Flash::set_up(free_port()?)?)?;
    board.says("boot")?;
    board.shows("pairing-0-unpaired")?;
    assert_eq!(board.says("address: ")?, "10.0.2.15/24");
    board.says("broker: the connection to the broker failed: ConnectionRefused")?;
    board.says("broker: again in")?;
    Ok(())
}

#[test]
fn a_device_that_loses_its_power_is_the_same_device_afterwards() -> Result<()> {
    let flash = Flash::set_up(free_port()?)?;
    let board = Qemu::start(&flash)?;
    let device = board.says("device: ")?;
    assert_eq!(device.len(), 16);
    board.kill()?;
    let board = Qemu::start(&flash)?;
    assert_eq!(board.says("device: ")?, device);
    let other = Qemu::start(&Flash::set_up(free_port()?)?)?;
    assert_ne!(other.says("device: ")?, device, "keys are drawn, and not in the image");
    Ok(())
}

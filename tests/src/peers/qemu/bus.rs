//! The board's bus, by QEMU's test protocol: registers are read and written as a device would see it.
//!
//! A virtio device on this bus cannot be unplugged, but it can be reset behind its driver's back, and then it answers as
//! little as one that is not there.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

/// How long QEMU may take for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The eight slots of the board `virt` (hw/riscv/virt.c, VIRT_VIRTIO), and two of a slot's registers (virtio 1.2, 4.2.2).
const SLOTS: u64 = 0x1000_1000;
const DEVICE: u64 = 0x08;
const STATUS: u64 = 0x70;
/// A graphics card (virtio 1.2, 5).
const GRAPHICS: u64 = 16;

/// The bus of a running board. Cheap to make; it connects for each thing that is done.
pub struct Bus(PathBuf);

impl Bus {
    pub(super) fn at(socket: PathBuf) -> Self {
        Self(socket)
    }

    /// Pulls the display out and puts it back at once: what was on it is lost, and its driver's word with it.
    ///
    /// # Errors
    /// There is none, or QEMU is gone.
    pub fn reset_display(&self) -> Result<()> {
        let stream = UnixStream::connect(&self.0)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut bus = BufReader::new(stream);
        for slot in (0..8).map(|slot| SLOTS + slot * 0x1000) {
            if ask(&mut bus, &format!("readl {:#x}", slot + DEVICE))? == GRAPHICS {
                ask(&mut bus, &format!("writel {:#x} 0x0", slot + STATUS))?;
                return Ok(());
            }
        }
        bail!("the board has no graphics card")
    }
}

/// What a command answers; 0 where it answers nothing.
fn ask(bus: &mut BufReader<UnixStream>, command: &str) -> Result<u64> {
    writeln!(bus.get_mut(), "{command}")?;
    let mut answer = String::new();
    ensure!(bus.read_line(&mut answer)? > 0, "QEMU is gone");
    let value = answer.trim().strip_prefix("OK").with_context(|| format!("{command}: {answer}"))?.trim();
    match value.strip_prefix("0x") {
        Some(digits) => Ok(u64::from_str_radix(digits, 16)?),
        None => Ok(0),
    }
}

//! A board's flash as a file: written here as the set-up over the serial line writes it, and by the firmware.

use std::{fs, path::PathBuf};

use anyhow::{Result, anyhow};
use gatepost_companion::{
    Bond, Keys, Network, Storage as _,
    flash::{memory::Memory, storage::FlashStorage},
};
use tempfile::TempDir;

/// Where QEMU's user network has its host.
const HOST: &str = "10.0.2.2";

/// All that a device keeps, in memory.
type Image = FlashStorage<Memory<Vec<u8>>>;

/// A flash.
pub struct Flash {
    folder: TempDir,
}

impl Flash {
    /// A blank one, but that it knows the hub's broker to be on this port of loopback.
    ///
    /// # Errors
    /// The file system's.
    pub fn set_up(port: u16) -> Result<Self> {
        Self::written(port, |_| Ok(()))
    }

    /// The same after a pairing.
    ///
    /// # Errors
    /// The file system's.
    pub fn paired(port: u16, keys: &Keys, bond: &Bond) -> Result<Self> {
        Self::written(port, |storage| {
            storage.store_keys(keys)?;
            Ok(storage.store_bond(bond)?)
        })
    }

    fn written(port: u16, write: impl Fn(&mut Image) -> Result<()>) -> Result<Self> {
        let flash = Self { folder: tempfile::tempdir()? };
        let host = HOST.try_into().map_err(|_| anyhow!("it is short"))?;
        let network = Network { ssid: Default::default(), password: Default::default(), host, port };
        let mut storage = Image::new(Memory(vec![0xff; Image::SIZE as usize]));
        storage.store_network(&network)?;
        write(&mut storage)?;
        fs::write(flash.path(), storage.into_flash().0)?;
        Ok(flash)
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("flash")
    }
}

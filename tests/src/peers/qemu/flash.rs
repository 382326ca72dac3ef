//! A board's flash as a file: written here as the set-up over the serial line writes it, and by the firmware.

use std::{convert::Infallible, fs, path::PathBuf};

use anyhow::{Result, anyhow};
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use gatepost_companion::{
    Bond, Keys, Network, Storage as _,
    flash::{SECTOR, storage::FlashStorage},
};
use tempfile::TempDir;

/// Where QEMU's user network has its host.
const HOST: &str = "10.0.2.2";

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

    fn written(port: u16, write: impl Fn(&mut FlashStorage<Bytes>) -> Result<()>) -> Result<Self> {
        let flash = Self { folder: tempfile::tempdir()? };
        let host = HOST.try_into().map_err(|_| anyhow!("it is short"))?;
        let network = Network { ssid: Default::default(), password: Default::default(), host, port };
        let mut storage = FlashStorage::new(Bytes(vec![0xff; FlashStorage::<Bytes>::SIZE as usize]));
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

/// A flash in memory.
struct Bytes(Vec<u8>);

impl ErrorType for Bytes {
    type Error = Infallible;
}

impl ReadNorFlash for Bytes {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        let start = offset as usize;
        bytes.copy_from_slice(&self.0[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Bytes {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = SECTOR as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        self.0[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        self.0[offset as usize..].iter_mut().zip(bytes).for_each(|(old, new)| *old &= new);
        Ok(())
    }
}

//! A board's flash as a file: written here as it leaves a factory and as the set-up over the serial line writes it, and by the
//! firmware.

use std::{cell::RefCell, fs, path::PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use gatepost_companion::{
    Bond, Counter as _, Keys, Network, Storage as _,
    flash::{memory::Memory, part::Part as FlashPart, storage::FlashStorage},
    slots::{
        Next, Slot, Slots, Store,
        partitions::{FLASH_BYTES, IMAGES, parts},
    },
};
use gatepost_link::frame::Part;
use tempfile::TempDir;

use super::firmware::Firmware;
use crate::release::Release;

/// Where QEMU's user network has its host.
const HOST: &str = "10.0.2.2";

/// All of a flash, in memory.
type Whole = RefCell<Memory<Vec<u8>>>;
/// All that a device keeps.
type Image<'f> = FlashStorage<FlashPart<'f, Memory<Vec<u8>>>>;

/// A flash.
pub struct Flash {
    folder: TempDir,
}

/// What a device keeps.
#[derive(Debug)]
pub struct Kept {
    /// Its keys.
    pub keys: Option<Keys>,
    /// Its network, and where its hub is.
    pub network: Option<Network>,
    /// Its bond with a hub.
    pub bond: Option<Bond>,
    /// A number that it never gave before.
    pub counter: u64,
}

impl Flash {
    /// One with the firmware in its first slot, and nothing else.
    ///
    /// # Errors
    /// The file system's, or the firmware does not build.
    pub fn new() -> Result<Self> {
        Self::written(None, |_| Ok(()))
    }

    /// One with the firmware in its first slot, which knows the hub's broker to be on this port of loopback.
    ///
    /// # Errors
    /// The file system's, or the firmware does not build.
    pub fn set_up(port: u16) -> Result<Self> {
        Self::written(Some(port), |_| Ok(()))
    }

    /// The same after a pairing.
    ///
    /// # Errors
    /// The file system's, or the firmware does not build.
    pub fn paired(port: u16, keys: &Keys, bond: &Bond) -> Result<Self> {
        Self::written(Some(port), |storage| {
            storage.store_keys(keys)?;
            Ok(storage.store_bond(bond)?)
        })
    }

    fn written(port: Option<u16>, write: impl Fn(&mut Image<'_>) -> Result<()>) -> Result<Self> {
        let flash = Self { folder: tempfile::tempdir()? };
        let mut bytes = vec![0xff; FLASH_BYTES as usize];
        let image = &Firmware::built()?.image;
        bytes[IMAGES[0] as usize..][..image.len()].copy_from_slice(image);
        let whole = RefCell::new(Memory(bytes));
        let mut storage = FlashStorage::new(parts(&whole).storage);
        if let Some(port) = port {
            let host = HOST.try_into().map_err(|_| anyhow!("it is short"))?;
            let network = Network { ssid: Default::default(), password: Default::default(), host, port };
            storage.store_network(&network)?;
        }
        write(&mut storage)?;
        flash.write(whole)?;
        Ok(flash)
    }

    /// What the device keeps. It must be switched off.
    ///
    /// # Errors
    /// The file system's, or something of it is damaged.
    pub fn kept(&self) -> Result<Kept> {
        let whole = self.read()?;
        let mut storage: Image<'_> = FlashStorage::new(parts(&whole).storage);
        let (keys, bond, network) = (storage.load_keys()?, storage.load_bond()?, storage.load_network()?);
        let counter = storage.reserve()?;
        self.write(whole)?;
        Ok(Kept { keys, network, bond, counter })
    }

    /// Puts a release into the second slot, as if the device had fetched it there. It must be switched off.
    ///
    /// # Errors
    /// The file system's, or there is no place for it.
    pub fn fetched(&self, release: &Release) -> Result<()> {
        let whole = self.read()?;
        let store = Slots::new(parts(&whole), Slot::Ota0).store(release.manifest().into());
        fill(store.map_err(|error| anyhow!("{error}"))?, release)?;
        self.write(whole)
    }

    /// Changes a byte of the image in a slot. The board must be switched off.
    ///
    /// # Errors
    /// The file system's.
    pub fn damage(&self, slot: Slot) -> Result<()> {
        let whole = self.read()?;
        whole.borrow_mut().0[IMAGES[slot.index()] as usize + 5_000] ^= 1;
        self.write(whole)
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("flash")
    }

    fn read(&self) -> Result<Whole> {
        Ok(RefCell::new(Memory(fs::read(self.path())?)))
    }

    fn write(&self, whole: Whole) -> Result<()> {
        Ok(fs::write(self.path(), whole.into_inner().0)?)
    }
}

fn fill(mut store: Store<FlashPart<'_, Memory<Vec<u8>>>>, release: &Release) -> Result<()> {
    loop {
        let done = match store.next() {
            Next::Whole => return Ok(()),
            Next::Work => store.work(),
            Next::Piece(piece) => {
                let of = match piece.part {
                    Part::List => release.list(),
                    Part::Image => release.image(),
                };
                let (from, to) = (piece.offset as usize, (piece.offset + piece.length) as usize);
                store.take(piece.part, piece.offset, of.get(from..to).context("it is no longer")?)
            }
        };
        if let Err(error) = done {
            bail!("{error}");
        }
    }
}

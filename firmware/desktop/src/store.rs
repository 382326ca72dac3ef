//! The storage of a companion on this machine: in memory, or in a folder of files that are replaced as a whole.
//!
//! A file and its name are on disk before a call returns. A damaged file is an error and not a new start: the counter
//! would use values twice, and the companion would be a stranger to its hub. Keys and bond are sealed with a passphrase
//! ([`crate::vault`]) or stored in the clear; the owner says which, and it is never found out by trying.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use gatepost_companion::{Bond, Counter, Keys, Network, Storage};
use serde::{Serialize, de::DeserializeOwned};

use crate::vault::{Vault, VaultError};

/// More bytes than any of the files has.
const MAX_FILE_BYTES: usize = 512;

/// The file that says how the others are sealed.
const VAULT: &str = "vault";
/// The file that the process using the folder has locked.
const LOCK: &str = "lock";

/// The storage of a companion.
#[derive(Debug, Clone)]
pub struct Store(Place);

#[derive(Debug, Clone)]
enum Place {
    Memory(Box<Kept>),
    Folder(PathBuf, Option<Vault>),
}

/// How the keys in a folder are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lying {
    /// There are none.
    Nowhere,
    /// Not sealed.
    Open,
    /// Under a passphrase.
    Sealed,
}

/// Keeps other processes from using a folder, until it is dropped.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] File);

#[derive(Debug, Clone, Default)]
struct Kept {
    keys: Option<Keys>,
    bond: Option<Bond>,
    network: Option<Network>,
    counter: u64,
}

/// Why something could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("the companion's file {path} cannot be used: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds something else.
    #[error("the companion's file {0} is damaged; remove its folder and pair the companion again")]
    Damaged(PathBuf),
    /// The files were sealed with another passphrase.
    #[error(
        "the passphrase is wrong: the keys in {0} were sealed with another one (if it is lost: revoke this companion at the \
         hub, remove the folder, and pair again)"
    )]
    Passphrase(PathBuf),
    /// Two companions with the same keys would be clones.
    #[error("another companion runs with the keys in {0}: stop it, or give this one another folder")]
    InUse(PathBuf),
    /// There is no greater counter.
    #[error("the counter is used up; remove the companion's folder and pair it again")]
    UsedUp,
}

impl Store {
    /// In memory, for a companion whose hub does not outlive it.
    pub fn memory() -> Self {
        Self(Place::Memory(Box::default()))
    }

    /// In this folder, which is created when it is first needed. The keys are not sealed.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self(Place::Folder(path.into(), None))
    }

    /// In this folder, with the keys sealed with this passphrase, which is new if there are no keys yet.
    ///
    /// # Errors
    ///
    /// The passphrase is another one, or the folder cannot be used.
    pub fn sealed(path: impl Into<PathBuf>, passphrase: &str) -> Result<Self, StoreError> {
        let path = path.into();
        let file = path.join(VAULT);
        let vault = match load(&file, None)? {
            Some(header) => Vault::open(&header, passphrase).map_err(|error| match error {
                VaultError::Passphrase => StoreError::Passphrase(path.clone()),
                VaultError::Header => StoreError::Damaged(file),
            })?,
            None => {
                let (vault, header) = Vault::new(passphrase);
                store(&file, &header, None)?;
                vault
            }
        };
        Ok(Self(Place::Folder(path, Some(vault))))
    }

    /// How the keys in this folder are protected.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn lying(path: &Path) -> Result<Lying, StoreError> {
        let there = |name: &str| {
            let file = path.join(name);
            file.try_exists().map_err(failed(&file))
        };
        Ok(match (there(VAULT)?, there("keys")?) {
            (true, _) => Lying::Sealed,
            (false, true) => Lying::Open,
            (false, false) => Lying::Nowhere,
        })
    }

    /// Locks a folder for this process alone.
    ///
    /// # Errors
    ///
    /// Another process has it, or it cannot be made.
    pub fn lock(folder: &Path) -> Result<Lock, StoreError> {
        let path = folder.join(LOCK);
        let open = || {
            create(folder)?;
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)
        };
        let file = open().map_err(failed(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse(folder.into())),
            Err(TryLockError::Error(error)) => Err(failed(&path)(error)),
        }
    }
}

impl Counter for Store {
    type Error = StoreError;

    fn reserve(&mut self) -> Result<u64, StoreError> {
        match &mut self.0 {
            Place::Memory(kept) => {
                kept.counter = kept.counter.checked_add(1).ok_or(StoreError::UsedUp)?;
                Ok(kept.counter)
            }
            Place::Folder(folder, _) => {
                let path = folder.join("counter");
                let next = last(&path)?.checked_add(1).ok_or(StoreError::UsedUp)?;
                write(&path, format!("{next}\n").as_bytes())?;
                Ok(next)
            }
        }
    }
}

impl Storage for Store {
    fn load_keys(&mut self) -> Result<Option<Keys>, StoreError> {
        match &self.0 {
            Place::Memory(kept) => Ok(kept.keys.clone()),
            Place::Folder(folder, vault) => load(&folder.join("keys"), vault.as_ref()),
        }
    }

    fn store_keys(&mut self, new: &Keys) -> Result<(), StoreError> {
        match &mut self.0 {
            Place::Memory(kept) => kept.keys = Some(new.clone()),
            Place::Folder(folder, vault) => store(&folder.join("keys"), new, vault.as_ref())?,
        }
        Ok(())
    }

    fn load_bond(&mut self) -> Result<Option<Bond>, StoreError> {
        match &self.0 {
            Place::Memory(kept) => Ok(kept.bond.clone()),
            Place::Folder(folder, vault) => load(&folder.join("bond"), vault.as_ref()),
        }
    }

    fn store_bond(&mut self, new: &Bond) -> Result<(), StoreError> {
        match &mut self.0 {
            Place::Memory(kept) => kept.bond = Some(new.clone()),
            Place::Folder(folder, vault) => store(&folder.join("bond"), new, vault.as_ref())?,
        }
        Ok(())
    }

    fn wipe_bond(&mut self) -> Result<(), StoreError> {
        match &mut self.0 {
            Place::Memory(kept) => kept.bond = None,
            Place::Folder(folder, _) => {
                let path = folder.join("bond");
                match fs::remove_file(&path).and_then(|()| sync(folder)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(&path)(error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn load_network(&mut self) -> Result<Option<Network>, StoreError> {
        match &self.0 {
            Place::Memory(kept) => Ok(kept.network.clone()),
            Place::Folder(folder, vault) => load(&folder.join("network"), vault.as_ref()),
        }
    }

    fn store_network(&mut self, new: &Network) -> Result<(), StoreError> {
        match &mut self.0 {
            Place::Memory(kept) => kept.network = Some(new.clone()),
            Place::Folder(folder, vault) => store(&folder.join("network"), new, vault.as_ref())?,
        }
        Ok(())
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    |source| StoreError::File { path, source }
}

/// A file's bytes; [`None`] if there is no such file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path)(error)),
    }
}

/// The last counter used; 0 if there is none.
fn last(path: &Path) -> Result<u64, StoreError> {
    let Some(bytes) = read(path)? else { return Ok(0) };
    let digits = std::str::from_utf8(&bytes).ok();
    digits.and_then(|digits| digits.trim().parse().ok()).ok_or_else(|| StoreError::Damaged(path.into()))
}

fn load<T: DeserializeOwned>(path: &Path, vault: Option<&Vault>) -> Result<Option<T>, StoreError> {
    let damaged = || StoreError::Damaged(path.into());
    let Some(mut bytes) = read(path)? else { return Ok(None) };
    if let Some(vault) = vault {
        bytes = vault.unseal(name(path), &bytes).ok_or_else(damaged)?;
    }
    match postcard::take_from_bytes(&bytes) {
        Ok((value, [])) => Ok(Some(value)),
        _ => Err(damaged()),
    }
}

fn store(path: &Path, value: &impl Serialize, vault: Option<&Vault>) -> Result<(), StoreError> {
    let mut buffer = [0; MAX_FILE_BYTES];
    let bytes = postcard::to_slice(value, &mut buffer).expect("all that a companion keeps is short");
    match vault {
        Some(vault) => write(path, &vault.seal(name(path), bytes)),
        None => write(path, bytes),
    }
}

/// The file's name, which is sealed together with its content.
fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("the files have names of our own")
}

/// Replaces the file as a whole, readable by its owner only, and returns only when it and its name are on disk.
fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let replace = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        create(folder)?;
        let temporary = path.with_extension("new");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync(folder)
    };
    replace().map_err(failed(path))
}

fn create(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;

//! What a companion on this machine keeps: in memory, or in a folder of files that are replaced as a whole.
//!
//! A file is on disk, and so is its name, before a call returns. What is damaged is an error and not a new start: the
//! counter would repeat itself, and the companion be a stranger to its hub. Keys and bond lie under a passphrase
//! ([`crate::vault`]) or as they are; which of both is the owner's word and never found out by trying.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use gatepost_companion::{Bond, Counter, Keys, Network, Storage};
use serde::{Serialize, de::DeserializeOwned};

use crate::vault::{Vault, VaultError};

/// More than any of the files has.
const MAX_FILE: usize = 512;

/// The file with how the others are sealed.
const VAULT: &str = "vault";
/// The file that whoever uses the folder holds.
const LOCK: &str = "lock";

/// Where it is kept.
#[derive(Debug, Clone)]
pub struct Store(Place);

#[derive(Debug, Clone)]
enum Place {
    Memory(Box<Kept>),
    Folder(PathBuf, Option<Vault>),
}

/// How keys lie in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lying {
    /// There are none.
    Nowhere,
    /// As they are.
    Open,
    /// Under a passphrase.
    Sealed,
}

/// A folder that no other process uses, until this is dropped.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] File);

#[derive(Debug, Clone, Default)]
struct Kept {
    keys: Option<Keys>,
    bond: Option<Bond>,
    network: Option<Network>,
    counter: u64,
}

/// Why something could not be kept, or read.
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
    #[error("the companion's file {0} is damaged; remove its folder and pair the companion anew")]
    Damaged(PathBuf),
    /// The files were sealed with another passphrase.
    #[error(
        "the passphrase is wrong: the keys in {0} were sealed with another one (if it is lost: revoke this companion at the \
         hub, remove the folder, and pair anew)"
    )]
    Passphrase(PathBuf),
    /// Two companions with the same keys would be clones.
    #[error("another companion runs with the keys in {0}: stop it, or give this one another folder")]
    InUse(PathBuf),
    /// There is no greater counter.
    #[error("the counter is used up; remove the companion's folder and pair it anew")]
    UsedUp,
}

impl Store {
    /// In memory. For a companion whose hub forgets it as soon.
    pub fn memory() -> Self {
        Self(Place::Memory(Box::default()))
    }

    /// In this folder, which is made when it is first needed. The keys lie there as they are.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self(Place::Folder(path.into(), None))
    }

    /// In this folder, the keys under this passphrase: that with which they were sealed, or one for new keys.
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

    /// How keys lie in this folder.
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

    /// Takes a folder for this process alone.
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

/// The last counter used; 0 where none was.
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
    let mut buffer = [0; MAX_FILE];
    let bytes = postcard::to_slice(value, &mut buffer).expect("all that a companion keeps is short");
    match vault {
        Some(vault) => write(path, &vault.seal(name(path), bytes)),
        None => write(path, bytes),
    }
}

/// The name that is sealed with what is in a file.
fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("the files have names of our own")
}

/// Replaces the file as a whole, readable by its owner only, and returns only when it and its name are on disk.
fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let replace = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        create(folder)?;
        let beside = path.with_extension("new");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
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
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use gatepost_link::{
        decision::PublicKey,
        seal::{SealKey, SealSecret},
    };

    use super::*;

    fn bond() -> Bond {
        Bond {
            hub: PublicKey([1; 32]),
            seal: SealKey([2; 32]),
            user: "u".repeat(64).as_str().try_into().unwrap(),
            password: "p".repeat(64).as_str().try_into().unwrap(),
            version: 3,
        }
    }

    #[test]
    fn what_is_kept_is_there_after_a_restart_and_its_owners_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("companion");
        let keys = Keys { sign: [7; 32], seal: SealSecret([8; 32]) };
        let mut store = Store::folder(&path);
        assert_eq!((store.load_keys().unwrap(), store.load_bond().unwrap()), (None, None));
        store.store_keys(&keys).unwrap();
        store.store_bond(&bond()).unwrap();
        assert_eq!(store.reserve().unwrap(), 1);
        let mut again = Store::folder(&path);
        assert_eq!((again.load_keys().unwrap(), again.load_bond().unwrap()), (Some(keys), Some(bond())));
        assert_eq!(again.reserve().unwrap(), 2);
        for file in ["keys", "bond", "counter"] {
            let mode = fs::metadata(path.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        again.wipe_bond().unwrap();
        again.wipe_bond().unwrap();
        assert_eq!(Store::folder(&path).load_bond().unwrap(), None);
        assert_eq!(Store::folder(&path).reserve().unwrap(), 3, "the counter stays");
    }

    #[test]
    fn what_is_under_a_passphrase_is_there_after_a_restart_and_for_no_other_passphrase() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("companion");
        let keys = Keys { sign: [7; 32], seal: SealSecret([8; 32]) };
        assert_eq!(Store::lying(&path).unwrap(), Lying::Nowhere);
        let mut store = Store::sealed(&path, "correct horse").unwrap();
        store.store_keys(&keys).unwrap();
        store.store_bond(&bond()).unwrap();
        assert_eq!((store.reserve().unwrap(), Store::lying(&path).unwrap()), (1, Lying::Sealed));
        for file in ["keys", "bond"] {
            let bytes = fs::read(path.join(file)).unwrap();
            assert!(
                !bytes
                    .windows(8)
                    .any(|bytes| [[7; 8], [8; 8], [b'p'; 8]].contains(&bytes.try_into().unwrap()))
            );
        }
        let wrong = Store::sealed(&path, "correct mule").unwrap_err();
        assert!(
            matches!(wrong, StoreError::Passphrase(_)) && wrong.to_string().contains("is wrong"),
            "{wrong}"
        );
        let mut again = Store::sealed(&path, "correct horse").unwrap();
        assert_eq!((again.load_keys().unwrap(), again.load_bond().unwrap()), (Some(keys), Some(bond())));
        assert_eq!(again.reserve().unwrap(), 2);
        // A bond that somebody puts in the place of the keys, and one that was never sealed.
        fs::copy(path.join("bond"), path.join("keys")).unwrap();
        assert!(matches!(again.load_keys(), Err(StoreError::Damaged(_))));
        Store::folder(&path).store_bond(&bond()).unwrap();
        assert!(matches!(again.load_bond(), Err(StoreError::Damaged(_))));
    }

    #[test]
    fn a_folder_is_one_processes_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("companion");
        let lock = Store::lock(&path).unwrap();
        assert!(matches!(Store::lock(&path), Err(StoreError::InUse(_))));
        drop(lock);
        Store::lock(&path).unwrap();
        assert_eq!(Store::lying(&path).unwrap(), Lying::Nowhere);
        Store::folder(&path).store_keys(&Keys { sign: [7; 32], seal: SealSecret([8; 32]) }).unwrap();
        assert_eq!(Store::lying(&path).unwrap(), Lying::Open);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_a_new_start() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::folder(folder.path());
        for damage in ["", "x", "-1"] {
            fs::write(folder.path().join("counter"), damage).unwrap();
            let error = store.reserve().unwrap_err();
            assert!(matches!(error, StoreError::Damaged(_)), "{damage:?}: {error}");
        }
        store.store_bond(&bond()).unwrap();
        let whole = fs::read(folder.path().join("bond")).unwrap();
        for damage in [&[][..], &whole[..whole.len() - 1], &[&whole[..], &[0]].concat()] {
            fs::write(folder.path().join("bond"), damage).unwrap();
            assert!(matches!(store.load_bond(), Err(StoreError::Damaged(_))), "{} bytes", damage.len());
        }
    }

    #[test]
    fn a_counter_that_cannot_be_written_reserves_nothing() {
        let mut store = Store::folder("/proc/nowhere/companion");
        assert!(matches!(store.reserve(), Err(StoreError::File { .. })));
    }

    #[test]
    fn a_counter_never_starts_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("counter"), u64::MAX.to_string()).unwrap();
        assert!(matches!(Store::folder(folder.path()).reserve(), Err(StoreError::UsedUp)));
    }
}

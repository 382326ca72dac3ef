//! A terminal of this user as a companion: its keys are opened before anything is written, and paired with the hub afterwards.

use std::path::{Path, PathBuf};

use gatepost_companion::{Keys as Secrets, Storage as _};
use gatepost_desktop::{
    Store as Kept,
    store::{Lock, Lying},
};
use gatepost_link::seal::SealSecret;

use crate::{
    approval::device,
    cli::{
        Failed,
        companion::passphrase::{KeysArguments, Unlocked},
    },
    config::Config,
    hub,
    store::Store,
};

/// What the hub calls a terminal here.
const NAME: &str = "terminal";

/// The keys of the companion that a terminal here is going to be.
pub(super) struct Keys {
    directory: PathBuf,
    unlocked: Unlocked,
    /// No other companion uses them; there is nothing to lock before there are any.
    lock: Option<Lock>,
}

impl Keys {
    /// Opens them for the hub whose data are in `data_dir`, and writes nothing; nothing if the person leaves who is asked.
    ///
    /// # Errors
    /// They cannot be used, or not for this hub.
    pub(super) fn open(arguments: &KeysArguments, data_dir: &Path) -> Result<Option<Self>, Failed> {
        let directory = arguments.directory()?;
        let lock = match Kept::lying(&directory).map_err(Failed::refused)? {
            Lying::Nowhere => None,
            Lying::Open | Lying::Sealed => Some(Kept::lock(&directory).map_err(Failed::refused)?),
        };
        let Some(mut unlocked) = arguments.unlock(&directory)? else { return Ok(None) };
        if let Unlocked::Kept(kept) = &mut unlocked {
            is_paired(kept, data_dir, &directory)?;
        }
        Ok(Some(Self { directory, unlocked, lock }))
    }

    /// Makes the terminal a companion of the hub, which does not run.
    pub(super) async fn introduce(self, config: &Config) -> Result<(), Failed> {
        let Self { directory, unlocked, lock } = self;
        let _lock = match lock {
            Some(lock) => lock,
            None => Kept::lock(&directory).map_err(Failed::refused)?,
        };
        let mut kept = unlocked.store()?;
        let store = Store::open(&config.hub.data_dir).map_err(Failed::refused)?;
        let paired = introduced(&store, &mut kept, &directory).await;
        store.close();
        paired
    }
}

/// Whether the keys are those of a companion of this hub.
///
/// # Errors
/// They are those of another hub's.
fn is_paired(kept: &mut Kept, data_dir: &Path, directory: &Path) -> Result<bool, Failed> {
    let Some(bond) = kept.load_bond().map_err(Failed::refused)? else { return Ok(false) };
    match hub::public_key(data_dir) {
        Ok(key) if key == bond.hub => Ok(true),
        _ => Err(Failed::Refused(format!(
            "the companion whose keys are in {} is paired with another hub: give it other keys with --dir, or forget that hub \
             with: gatepost companion run --forget",
            directory.display()
        ))),
    }
}

async fn introduced(store: &Store, kept: &mut Kept, directory: &Path) -> Result<(), Failed> {
    if is_paired(kept, store.directory(), directory)? {
        return Ok(());
    }
    let keys = match kept.load_keys().map_err(Failed::refused)? {
        Some(keys) => keys,
        None => {
            let keys = Secrets { sign: crate::random::bytes(), seal: SealSecret(crate::random::bytes()) };
            kept.store_keys(&keys).map_err(Failed::refused)?;
            keys
        }
    };
    let (device, bond) = hub::introduce(store, &keys, NAME).await.map_err(Failed::refused)?;
    kept.store_bond(&bond).map_err(Failed::refused)?;
    let registered = device::register(store, device).await;
    if registered.is_err() {
        // A bond with a hub that does not know it would only be in the way.
        kept.wipe_bond().map_err(Failed::refused)?;
    }
    registered.map_err(Failed::refused)
}

//! Where the companion's keys lie, and under which passphrase.
//!
//! The passphrase comes from a file, a systemd credential, the environment, or is typed. Keys without one exist only where
//! somebody said so; keys with one are never rewritten without it.

use std::path::{Path, PathBuf};

use gatepost_desktop::{
    Store, StoreError, prompt,
    store::Lying,
    vault::{MAX_PASSPHRASE, MIN_PASSPHRASE},
};

use crate::{
    cli::Failed,
    printing::print_note,
    settings::secret::{Secret, SecretSource},
};

/// The environment's variable with the passphrase.
const VARIABLE: &str = "GATEPOST_COMPANION_PASSPHRASE";
/// How often a passphrase may be typed wrongly.
const TRIES: u32 = 3;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct KeysArguments {
    /// Keep the companion's keys in this directory [default: gatepost/companion in $XDG_DATA_HOME or ~/.local/share].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Read the passphrase of the keys from this file, and do not ask for it. The environment's
    /// GATEPOST_COMPANION_PASSPHRASE does the same.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["passphrase_credential", "no_passphrase"])]
    passphrase_file: Option<PathBuf>,
    /// Read it from this systemd credential (LoadCredential= in the unit).
    #[arg(long, value_name = "NAME", conflicts_with = "no_passphrase")]
    passphrase_credential: Option<String>,
    /// Keep the keys as they are, without a passphrase: whoever can read the directory can then approve.
    #[arg(long)]
    no_passphrase: bool,
}

/// Keys that can be used. Nothing is written yet.
pub(in crate::cli) enum Unlocked {
    /// Those that are there, and those that need no passphrase.
    Kept(Store),
    /// There are none in this directory: new ones are to be kept there, under this passphrase.
    New(PathBuf, Secret),
}

impl Unlocked {
    /// Where the keys are kept; begins there, if they are new.
    pub(in crate::cli) fn store(self) -> Result<Store, Failed> {
        match self {
            Self::Kept(store) => Ok(store),
            Self::New(directory, passphrase) => {
                Store::sealed(directory, passphrase.expose()).map_err(Failed::refused)
            }
        }
    }
}

impl KeysArguments {
    /// Where the keys lie.
    pub(in crate::cli) fn directory(&self) -> Result<PathBuf, Failed> {
        if let Some(directory) = &self.dir {
            return Ok(directory.clone());
        }
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
        let data =
            data.ok_or_else(|| Failed::Usage("HOME is not set: say where its keys are with --dir".into()))?;
        Ok(data.join("gatepost/companion"))
    }

    /// Whether the passphrase need not be typed.
    pub(in crate::cli) fn are_given(&self) -> bool {
        let named = self.passphrase_file.is_some() || self.passphrase_credential.is_some();
        self.no_passphrase || named || std::env::var_os(VARIABLE).is_some()
    }

    /// Opens what lies in `directory`, or begins there; nothing if the person leaves who is asked.
    pub(in crate::cli) fn open(&self, directory: &Path) -> Result<Option<Store>, Failed> {
        self.unlock(directory)?.map(Unlocked::store).transpose()
    }

    /// The same, and writes nothing.
    pub(in crate::cli) fn unlock(&self, directory: &Path) -> Result<Option<Unlocked>, Failed> {
        let lying = Store::lying(directory).map_err(Failed::refused)?;
        let folder = directory.display();
        if self.no_passphrase {
            if lying == Lying::Sealed {
                let why = format!("the keys in {folder} are under a passphrase: leave out --no-passphrase");
                return Err(Failed::Usage(why));
            }
            print_note!("the keys in {folder} are not encrypted: whoever can read them can approve messages");
            return Ok(Some(Unlocked::Kept(Store::folder(directory))));
        }
        if lying == Lying::Open {
            let why = format!(
                "the keys in {folder} are not under a passphrase: say --no-passphrase to use them all the same, or give another --dir and pair anew"
            );
            return Err(Failed::Usage(why));
        }
        if let Some(given) = self.given()? {
            if lying == Lying::Nowhere {
                check(given.expose()).map_err(Failed::Usage)?;
                return Ok(Some(Unlocked::New(directory.into(), given)));
            }
            let store = Store::sealed(directory, given.expose()).map_err(Failed::refused)?;
            return Ok(Some(Unlocked::Kept(store)));
        }
        match lying {
            Lying::Nowhere => make(directory),
            Lying::Sealed | Lying::Open => ask(directory),
        }
    }

    /// The passphrase, where it need not be typed.
    fn given(&self) -> Result<Option<Secret>, Failed> {
        let source = match (&self.passphrase_file, &self.passphrase_credential) {
            (Some(file), _) => SecretSource::File(file.clone()),
            (None, Some(name)) => SecretSource::Credential(name.clone()),
            (None, None) if std::env::var_os(VARIABLE).is_some() => SecretSource::Env(VARIABLE.into()),
            (None, None) => return Ok(None),
        };
        source.refuse_everybodys().map_err(Failed::refused)?;
        source.read().map(Some).map_err(Failed::refused)
    }
}

/// Asks for a passphrase for new keys, twice.
fn make(directory: &Path) -> Result<Option<Unlocked>, Failed> {
    print_note!(
        "New keys in {}. They are kept under a passphrase of at least {MIN_PASSPHRASE} characters.",
        directory.display()
    );
    loop {
        let Some(first) = typed("passphrase")? else { return Ok(None) };
        if let Err(why) = check(&first) {
            print_note!("{why}");
            continue;
        }
        let Some(second) = typed("the same again")? else { return Ok(None) };
        if first == second {
            return Ok(Some(Unlocked::New(directory.into(), Secret::from(first.as_str()))));
        }
        print_note!("these are two different passphrases");
    }
}

/// Asks for the passphrase of the keys that there are.
fn ask(directory: &Path) -> Result<Option<Unlocked>, Failed> {
    let mut left = TRIES;
    loop {
        let Some(typed) = typed("passphrase of the companion's keys")? else { return Ok(None) };
        left -= 1;
        match Store::sealed(directory, &typed) {
            Ok(store) => return Ok(Some(Unlocked::Kept(store))),
            Err(StoreError::Passphrase(_)) if left > 0 => print_note!("the passphrase is wrong"),
            Err(error) => return Err(Failed::refused(error)),
        }
    }
}

fn typed(question: &str) -> Result<Option<String>, Failed> {
    prompt::hidden(question).map_err(|error| {
        Failed::Usage(format!(
            "{error}: give it with --passphrase-file FILE or {VARIABLE} where there is none"
        ))
    })
}

/// Whether new keys may be under it.
fn check(passphrase: &str) -> Result<(), String> {
    match passphrase.chars().count() {
        ..MIN_PASSPHRASE => Err(format!("a passphrase has at least {MIN_PASSPHRASE} characters")),
        _ if passphrase.len() > MAX_PASSPHRASE => {
            Err(format!("a passphrase has at most {MAX_PASSPHRASE} bytes"))
        }
        _ => Ok(()),
    }
}

//! `gatepost restore`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Failed, output, passphrase::PassphraseFile};
use crate::{
    archive::{Kind, Manifest, Source},
    clock::rfc3339,
    config::Config,
    hub::{
        public_key,
        restore::{self, Access, Restored, restore, restore_archive},
    },
    printing::{PrintError, print_note, print_result},
    random::{self, to_hex},
    settings::secret::Secret,
    store::{
        backup::{self, BackupError, Copy},
        owner::become_owner,
    },
};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The backup: a file of `gatepost backup` (- is standard input), or a daily copy. Without it, the newest daily copy in the data
    /// directory.
    backup: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseFile,
    /// Unpack a file of `gatepost backup` into this new folder and change nothing else: the configuration and its secrets are
    /// put back from there by hand. Needs no configuration.
    #[arg(long, value_name = "FOLDER", requires = "backup", conflicts_with_all = ["access", "list"])]
    extract: Option<PathBuf>,
    /// What becomes of tokens and companions if the database that is replaced is lost or damaged, and cannot say whether they were
    /// revoked after the backup was made. What it knows to be revoked stays so in any case.
    #[arg(long, value_name = "WHAT")]
    access: Option<Access>,
    /// List the backups in the data directory, oldest first, and change nothing.
    #[arg(long)]
    list: bool,
    /// With --list: print JSON.
    #[arg(long, requires = "list")]
    json: bool,
}

pub(super) fn run(path: &Path, arguments: Arguments) -> Result<(), Failed> {
    if let (Some(folder), Some(backup)) = (&arguments.extract, &arguments.backup) {
        return extract(backup, folder, &arguments.passphrase);
    }
    let config = Config::load(path).map_err(Failed::refused)?;
    let directory = &config.hub.data_dir;
    if arguments.list {
        return Ok(list(&config, arguments.json)?);
    }
    let newest = || backup::newest(directory).ok_or_else(|| BackupError::None(backup::folder(directory)));
    let chosen = arguments.backup.map_or_else(newest, Ok).map_err(Failed::refused)?;
    // Root may read what the hub's user may not.
    let source = Source::open(&chosen)?;
    let as_owner = || become_owner(directory).map_err(Failed::refused);
    if source.kind() == Kind::Other {
        if chosen.as_os_str() == "-" {
            return Err(Failed::Refused(
                "what came on standard input is not a file of gatepost backup".into(),
            ));
        }
        as_owner()?;
        let restored = restore(directory, &chosen, arguments.access).map_err(Failed::refused)?;
        return tell(&chosen, &restored);
    }
    let passphrase = passphrase_of(&source, &arguments.passphrase)?;
    as_owner()?;
    let (restored, manifest) =
        restore_archive(directory, source, passphrase.as_ref(), arguments.access).map_err(Failed::refused)?;
    tell(&chosen, &restored)?;
    tell_of_moving(directory, &manifest);
    Ok(())
}

fn passphrase_of(source: &Source, file: &PassphraseFile) -> Result<Option<Secret>, Failed> {
    (source.kind() == Kind::Sealed).then(|| file.ask()).transpose()
}

fn extract(backup: &Path, folder: &Path, file: &PassphraseFile) -> Result<(), Failed> {
    let source = Source::open(backup)?;
    if source.kind() == Kind::Other {
        let backup = backup.display();
        return Err(Failed::Usage(format!(
            "{backup} is not a file of gatepost backup: there is nothing to extract"
        )));
    }
    if folder.exists() {
        return Err(Failed::Usage(format!("{} is there already: choose a new folder", folder.display())));
    }
    let passphrase = passphrase_of(&source, file)?;
    // Under a name that is nobody else's: what another puts in the folder's place meanwhile stays what it is.
    let mut part = folder.as_os_str().to_owned();
    part.push(format!(".{}.part", random::hex::<8>()));
    let part = Path::new(&part);
    let placed = source.unpack(passphrase.as_ref(), part).map_err(Failed::from).and_then(|_| {
        fs::rename(part, folder).map_err(|error| {
            Failed::Refused(format!("cannot use {}: {error}: choose a new folder", folder.display()))
        })
    });
    if placed.is_err() {
        let _ = fs::remove_dir_all(part);
    }
    placed?;
    print_result!("{}", folder.display())?;
    print_note!(
        "nothing of it is in use: the keys and secrets in it lie open to whoever may read the folder"
    );
    Ok(())
}

fn tell(chosen: &Path, restored: &Restored) -> Result<(), Failed> {
    print_result!("restored {}", chosen.display())?;
    if let Some(replaced) = &restored.replaced {
        print_note!("what was there before is in {}", replaced.display());
    }
    if !restored.revoked.is_empty() {
        print_note!("revoked: {}", restore::list(&restored.revoked));
    }
    print_note!(
        "nothing of it is sent by itself: start the hub with gatepost run, look with gatepost queue list --state unknown, \
         and release what did not arrive with gatepost queue retry --may-duplicate"
    );
    print_note!(
        "tokens and companions that were made after this backup are not in it: make and pair them again"
    );
    Ok(())
}

/// What a person must know when a hub goes on from a backup elsewhere.
fn tell_of_moving(directory: &Path, manifest: &Manifest) {
    print_note!(
        "start one hub alone: if the one that this backup was made of ({}) ran again, both would send, receive and ask for approval",
        manifest.made
    );
    let own = public_key(directory).ok().map(|key| to_hex(&key.0));
    if let Some(hub) = manifest.hub.as_ref().filter(|hub| own.as_ref() != Some(*hub)) {
        print_note!(
            "the backup has no keys, and this hub has others than the one that it was made of: pair all companions again \
             (gatepost companion pair); the audit up to here is verified with gatepost audit verify --key {hub}"
        );
    }
    print_note!(
        "the configuration is not put back: gatepost restore BACKUP --extract FOLDER unpacks the one that is in the backup"
    );
}

fn list(config: &Config, json: bool) -> Result<(), PrintError> {
    let copies = backup::list(&config.hub.data_dir);
    if json {
        print_result!("{}", copies.iter().map(as_json).collect::<Value>())?;
    } else if copies.is_empty() {
        let folder = backup::folder(&config.hub.data_dir);
        match config.queue.backups {
            0 => print_note!(
                "there is no backup in {}, and none is made: [queue] backups is 0",
                folder.display()
            ),
            _ => print_note!(
                "there is no backup in {} yet: the first is made as soon as the hub runs (gatepost run), and then one every {:?}",
                folder.display(),
                config.queue.backup_every.0
            ),
        }
    } else {
        let rows: Vec<Vec<String>> = copies
            .iter()
            .map(|copy| {
                let kind =
                    copy.schema.map_or_else(|| "daily".to_owned(), |n| format!("before schema {}", n + 1));
                vec![output::moment(&made(copy)), kind, copy.path.display().to_string()]
            })
            .collect();
        print_result!("{}", output::table(&["MADE", "KIND", "FILE"], &rows))?;
    }
    Ok(())
}

fn made(copy: &Copy) -> String {
    rfc3339(copy.made.as_millisecond())
}

/// `schema`: of one from before a migration, the schema that it has.
fn as_json(copy: &Copy) -> Value {
    json!({"path": copy.path, "made": made(copy), "schema": copy.schema})
}

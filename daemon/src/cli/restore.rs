//! `gatepost restore`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Failed, output};
use crate::{
    clock::rfc3339,
    config::Config,
    hub::restore::{self, Access, restore},
    printing::{PrintError, print_note, print_result},
    store::backup::{self, BackupError, Copy},
};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The backup; without it, the newest in the data directory.
    backup: Option<PathBuf>,
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
    let config = Config::load(path).map_err(Failed::refused)?;
    let directory = &config.hub.data_dir;
    if arguments.list {
        return Ok(list(&config, arguments.json)?);
    }
    let newest = || backup::newest(directory).ok_or_else(|| BackupError::None(backup::folder(directory)));
    let chosen = arguments.backup.map_or_else(newest, Ok).map_err(Failed::refused)?;
    let restored = restore(directory, &chosen, arguments.access).map_err(Failed::refused)?;
    print_result!("restored {}", chosen.display())?;
    if let Some(replaced) = restored.replaced {
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

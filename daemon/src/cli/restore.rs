//! `gatepost restore`.

use std::path::{Path, PathBuf};

use super::Failed;
use crate::{
    config::Config,
    store::backup::{self, BackupError},
};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The backup; without it, the newest in the data directory.
    backup: Option<PathBuf>,
    /// List the backups in the data directory, oldest first, and change nothing.
    #[arg(long)]
    list: bool,
}

pub(super) fn run(path: &Path, arguments: Arguments) -> Result<(), Failed> {
    let directory = Config::load(path).map_err(Failed::refused)?.hub.data_dir;
    if arguments.list {
        for backup in backup::list(&directory) {
            println!("{}", backup.display());
        }
        return Ok(());
    }
    let newest = || backup::newest(&directory).ok_or_else(|| BackupError::None(backup::folder(&directory)));
    let chosen = arguments.backup.map_or_else(newest, Ok).map_err(Failed::refused)?;
    let kept = backup::restore(&directory, &chosen).map_err(Failed::refused)?;
    println!("restored {}", chosen.display());
    if let Some(kept) = kept {
        eprintln!("what was there before is in {}", kept.display());
    }
    eprintln!(
        "nothing of it is sent by itself: start the hub with gatepost run, look with gatepost queue list --state unknown, \
         and release what did not arrive with gatepost queue retry --may-duplicate"
    );
    Ok(())
}

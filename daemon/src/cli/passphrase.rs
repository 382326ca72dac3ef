//! The passphrase of a backup: read from a file, or typed.

use std::path::{Path, PathBuf};

use gatepost_desktop::prompt;

use super::Failed;
use crate::{
    archive::{ArchiveError, judge},
    printing::print_note,
    settings::secret::{Secret, SecretSource},
};

/// How often a passphrase for a new backup may be typed badly.
const TRIES: u32 = 3;

#[derive(Debug, clap::Args)]
pub(super) struct PassphraseFile {
    /// Read the passphrase from this file, its first and only line, and do not ask for it.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl PassphraseFile {
    pub(super) const fn is_given(&self) -> bool {
        self.passphrase_file.is_some()
    }

    /// The passphrase of a new backup; one that is typed, is typed twice.
    pub(super) fn make(&self) -> Result<Secret, Failed> {
        if let Some(file) = &self.passphrase_file {
            let passphrase = read(file)?;
            judge(passphrase.expose()).map_err(|weak| Failed::Usage(weak.to_string()))?;
            return Ok(passphrase);
        }
        print_note!("The backup is sealed: without its passphrase nobody can restore it.");
        for _ in 0..TRIES {
            let first = typed("passphrase for the backup")?;
            if let Err(weak) = judge(first.expose()) {
                print_note!("{weak}");
                continue;
            }
            if typed("the same again")? == first {
                return Ok(first);
            }
            print_note!("these are two different passphrases");
        }
        Err(Failed::Refused("there is no passphrase, so no backup was made".into()))
    }

    /// The passphrase of a backup that there is.
    pub(super) fn ask(&self) -> Result<Secret, Failed> {
        self.passphrase_file.as_deref().map_or_else(|| typed("passphrase of the backup"), read)
    }
}

fn read(file: &Path) -> Result<Secret, Failed> {
    let source = SecretSource::File(file.into());
    source.refuse_everybodys().map_err(Failed::refused)?;
    source.read().map_err(Failed::refused)
}

fn typed(question: &str) -> Result<Secret, Failed> {
    match prompt::hidden(question) {
        Ok(Some(typed)) => Ok(Secret::from(typed.as_str())),
        Ok(None) => Err(Failed::Refused("no passphrase was given, and nothing was done".into())),
        Err(error) => {
            Err(Failed::Usage(format!("{error}: give it with --passphrase-file FILE where there is none")))
        }
    }
}

impl From<ArchiveError> for Failed {
    fn from(error: ArchiveError) -> Self {
        Self::refused(error)
    }
}

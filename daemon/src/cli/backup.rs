//! `gatepost backup`.

use std::{
    io::{self, BufWriter, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use super::{Failed, passphrase::PassphraseFile};
use crate::{
    archive::{self, ArchiveError, Configuration, Contents, Manifest, Target, WorkFile},
    config::{Config, MAX_FILE_BYTES},
    hub::public_key,
    printing::{print_note, print_result, visible_line},
    random::to_hex,
    settings::{file::read_text, secret::Secret},
    store::{
        backup::{BackupError, DatabaseCopy},
        owner::as_owner,
    },
};

/// What is written at a time.
const BLOCK: usize = 64 * 1024;
/// Files that are named one by one at most, of those that are not in the backup.
const NAMED: usize = 10;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file to write, readable by its owner alone; - is standard output.
    file: PathBuf,
    /// Put the hub's keys, the operator's token and the secrets of the configuration into it, and seal all of it with a passphrase,
    /// which is asked for twice. With them companions need not be paired again.
    #[arg(long)]
    with_keys: bool,
    #[command(flatten)]
    passphrase: PassphraseFile,
    /// Replace FILE if it is there. It stays until the new one is whole.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(path: &Path, arguments: Arguments) -> Result<(), Failed> {
    let config = Config::load(path).map_err(Failed::refused)?;
    let text = read_text(path, MAX_FILE_BYTES).map_err(Failed::refused)?;
    let directory = &config.hub.data_dir;
    let keys = arguments.with_keys;
    // What only root may read or write comes first: in the hub's directory root is the hub's user.
    let configuration = Configuration::read(path, &text, keys)?;
    let to_stdout = arguments.file.as_os_str() == "-";
    if to_stdout && io::stdout().is_terminal() {
        return Err(Failed::Usage(
            "a backup is no text: send standard output into a file or a program".into(),
        ));
    }
    // Before a person types a passphrase twice for nothing.
    let target = (!to_stdout).then(|| Target::begin(&arguments.file, arguments.force)).transpose()?;
    let is_sealed = keys || arguments.passphrase.is_given();
    let passphrase = is_sealed.then(|| arguments.passphrase.make()).transpose()?;
    let job = Job { directory, configuration: &configuration, keys, passphrase: passphrase.as_ref() };
    let made = as_owner(directory, || job.write(target.as_ref())).map_err(Failed::refused)??;
    if let Some(target) = target {
        target.finish()?;
        print_result!("{}", arguments.file.display())?;
    }
    tell(&made);
    Ok(())
}

/// What is to be written.
struct Job<'a> {
    directory: &'a Path,
    configuration: &'a Configuration,
    keys: bool,
    passphrase: Option<&'a Secret>,
}

impl Job<'_> {
    /// Writes it into this file, or to standard output.
    fn write(&self, target: Option<&Target>) -> Result<Manifest, ArchiveError> {
        // The copy lies open, so it stays where the database lies open itself, and not on what the backup is carried away with.
        if !self.directory.exists() {
            return Err(BackupError::NoDatabase(self.directory.to_owned()).into());
        }
        let work = WorkFile::take(self.directory.join("backup.part"))?;
        let database = DatabaseCopy::make(self.directory, work.beside(".db"))?;
        match target {
            Some(target) => self.archive(target.file(), &database),
            None => self.archive(io::stdout().lock(), &database),
        }
    }

    fn archive(&self, out: impl Write, database: &DatabaseCopy) -> Result<Manifest, ArchiveError> {
        let contents = Contents {
            directory: self.directory,
            database,
            hub: public_key(self.directory).ok().map(|key| to_hex(&key.0)),
            configuration: self.configuration,
            keys: self.keys,
            passphrase: self.passphrase,
        };
        archive::write(BufWriter::with_capacity(BLOCK, out), &contents)
    }
}

fn tell(made: &Manifest) {
    if !made.missing.is_empty() {
        print_note!(
            "{} files of messages are gone from the hub, or damaged, and are not in it; their messages will fail and say so",
            made.missing.len()
        );
    }
    if made.keys {
        print_note!("sealed, with the hub's keys: keep its passphrase apart from it");
    } else {
        print_note!(
            "without keys: a hub that is restored from it on another machine has to pair its companions again (--with-keys takes them along)"
        );
    }
    if !made.left_out.is_empty() {
        let named: Vec<_> =
            made.left_out.iter().take(NAMED).map(|path| visible_line(path).into_owned()).collect();
        let more = made.left_out.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        print_note!("not in it, and named by the configuration: {}{more}", named.join(", "));
    }
}

impl From<BackupError> for Failed {
    fn from(error: BackupError) -> Self {
        Self::refused(error)
    }
}

//! `gatepost backup`.

use std::{
    io::{self, BufWriter, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use super::{Failed, passphrase::PassphraseFile};
use crate::{
    archive::{self, ArchiveError, Contents, Manifest, Target, WorkFile},
    config::{Config, MAX_FILE_BYTES},
    hub::public_key,
    printing::{print_note, print_result, visible_line},
    random::to_hex,
    settings::{file::read_text, secret::Secret},
    store::backup::{BackupError, DatabaseCopy},
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
    let job = Job { directory, configuration: (path, &text), keys: arguments.with_keys };
    let is_sealed = arguments.with_keys || arguments.passphrase.is_given();
    let passphrase = || is_sealed.then(|| arguments.passphrase.make()).transpose();
    if arguments.file.as_os_str() == "-" {
        if io::stdout().is_terminal() {
            return Err(Failed::Usage(
                "a backup is no text: send standard output into a file or a program".into(),
            ));
        }
        let work = WorkFile::take(directory.join("backup.part"))?;
        let made = job.write(io::stdout().lock(), &work, passphrase()?.as_ref())?;
        tell(&made);
        return Ok(());
    }
    // Before a person types a passphrase twice for nothing.
    let target = Target::begin(&arguments.file, arguments.force)?;
    let passphrase = passphrase()?;
    let made = job.write(target.work().file(), target.work(), passphrase.as_ref())?;
    target.finish()?;
    print_result!("{}", arguments.file.display())?;
    tell(&made);
    Ok(())
}

/// What is to be written.
struct Job<'a> {
    directory: &'a Path,
    configuration: (&'a Path, &'a str),
    keys: bool,
}

impl Job<'_> {
    fn write(
        &self,
        out: impl Write,
        work: &WorkFile,
        passphrase: Option<&Secret>,
    ) -> Result<Manifest, ArchiveError> {
        let database = DatabaseCopy::make(self.directory, work.beside(".db"))?;
        let contents = Contents {
            directory: self.directory,
            database: &database,
            hub: public_key(self.directory).ok().map(|key| to_hex(&key.0)),
            configuration: self.configuration,
            keys: self.keys,
            passphrase,
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

//! The commands, one module each, and what they share: [`files`] and [`terminal`].

mod file;
mod files;
mod key;
mod release;
mod root;
mod terminal;
mod words;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};
use gatepost_sign::minisign::{Secret, SecretFile};

/// Makes keys, roots and signed releases of companion firmware, on a machine without a network.
///
/// Root keys say who may sign, release keys sign releases. First `key new` for each person, then `root new` and `root sign`;
/// for each release `release sign`, and `file sign SHA256SUMS`. Keys and signatures of files are minisign's.
#[derive(Debug, Parser)]
#[command(name = "gatepost-sign", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Secret keys.
    #[command(subcommand)]
    Key(key::Key),
    /// Roots: who may sign, from one version to the next.
    #[command(subcommand)]
    Root(root::Root),
    /// Releases of companion firmware.
    #[command(subcommand)]
    Release(release::Release),
    /// Signatures of other files, such as SHA256SUMS, as minisign has them.
    #[command(subcommand)]
    File(file::File),
}

impl Cli {
    pub(crate) fn run(self) -> Result<()> {
        match self.command {
            Command::Key(command) => command.run(),
            Command::Root(command) => command.run(),
            Command::Release(command) => command.run(),
            Command::File(command) => command.run(),
        }
    }
}

/// The key that signs, and whether it is asked before.
#[derive(Debug, Args)]
struct Signing {
    /// The secret key that signs.
    #[arg(long, value_name = "K.key")]
    key: PathBuf,
    /// A file whose first line is the key's password; without it, the password is typed.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Sign without asking.
    #[arg(long)]
    yes: bool,
}

impl Signing {
    /// Shows what is signed, opens the key, and asks.
    fn secret(&self, what: &str) -> Result<Secret> {
        terminal::say(what)?;
        if !self.yes {
            terminal::ensure_person()?;
        }
        let name = self.key.display();
        let file = files::read_secret(&self.key)?;
        let file = SecretFile::read(&file).with_context(|| name.to_string())?;
        let password = match &self.password_file {
            _ if !file.has_password() => None,
            Some(path) => Some(files::read_password(path)?),
            None => Some(terminal::password(&format!("Password of {name}"))?),
        };
        let secret = file.open(password.as_ref().map(|password| password.as_str()));
        let secret = secret.with_context(|| name.to_string())?;
        terminal::say(&format!("Key: {}\n", secret.public()))?;
        if !self.yes {
            terminal::confirm("Sign it?")?;
        }
        Ok(secret)
    }
}

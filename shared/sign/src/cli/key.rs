//! `key`: makes secret keys.

use std::{fs, path::PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use gatepost_sign::minisign::{Cost, Secret};

use super::{files, terminal};

#[derive(Debug, Subcommand)]
pub(super) enum Key {
    /// Make a secret key, and the public key beside it.
    ///
    /// NAME.key stays on this machine and in your copy of it; NAME.pub is given to whoever makes the root. Both are minisign's
    /// files. Nothing is overwritten.
    New(New),
}

#[derive(Debug, Args)]
pub(super) struct New {
    /// The file of the secret key.
    #[arg(value_name = "NAME.key")]
    path: PathBuf,
    /// A file whose first line is the password; without it, the password is typed twice.
    #[arg(long, value_name = "FILE", conflicts_with = "no_password")]
    password_file: Option<PathBuf>,
    /// No password: whoever reads the file signs with it.
    #[arg(long)]
    no_password: bool,
    /// Memory that trying a password costs, in MiB: a power of two from 16 to 1024. Less on a small machine, which makes
    /// guessing cheaper too.
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = cost)]
    memory: Cost,
}

fn cost(mib: &str) -> Result<Cost, &'static str> {
    let cost = mib.parse().ok().and_then(Cost::of_memory);
    cost.ok_or("give a power of two from 16 to 1024")
}

impl Key {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::New(new) => new.run(),
        }
    }
}

impl New {
    fn run(self) -> Result<()> {
        let ending = self.path.extension();
        ensure!(
            ending.is_some_and(|ending| ending == "key"),
            "name the file NAME.key: NAME.pub is written too"
        );
        let public = self.path.with_extension("pub");
        files::ensure_free(&self.path)?;
        files::ensure_free(&public)?;
        let password = match &self.password_file {
            _ if self.no_password => None,
            Some(path) => Some(files::read_password(path)?),
            None => Some(terminal::new_password()?),
        };
        let secret = Secret::generate()?;
        let file = secret.to_file(password.as_ref().map(|password| (password.as_str(), self.memory)))?;
        files::create(&public, secret.public().to_file().as_bytes(), false)?;
        if let Err(error) = files::create(&self.path, file.as_bytes(), true) {
            _ = fs::remove_file(&public);
            return Err(error);
        }
        let protected = if self.no_password {
            "It has no password: keep it where only you can read."
        } else {
            "Its password cannot be recovered."
        };
        terminal::say(&format!(
            "Public key, also in {}:\n  {}\nSecret key in {}. {protected} Keep a copy elsewhere.\n",
            public.display(),
            secret.public(),
            self.path.display()
        ))
    }
}

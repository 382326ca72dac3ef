//! `root`: says who may sign.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use gatepost_link::update::root::{self, RootFile, Signer};
use gatepost_sign::{
    date,
    roots::{self, Change},
};

use super::{Signing, files, terminal, words};

#[derive(Debug, Subcommand)]
pub(super) enum Root {
    /// Make the first root, which nobody has signed yet.
    New(New),
    /// Make the root after OLD, with other keys, which nobody has signed yet.
    ///
    /// Enough keys of OLD and enough of its own must sign it (`root sign`); devices take it with the next release.
    Rotate(Rotate),
    /// Add a signature to a root.
    ///
    /// The key may be one of this root, of the root before (give --before), or of both, which is found out.
    Sign(Sign),
    /// Show a root's keys, who has signed it, and who is missing.
    ///
    /// Keys are shown as in their .pub files. Of one that minisign itself made the first 14 characters differ: they hold a
    /// number that minisign draws, and a root has no place for.
    Show(Show),
}

#[derive(Debug, Args)]
pub(super) struct New {
    /// Public keys that sign roots, 1 to 5.
    #[arg(long = "root-key", value_name = "A.pub", required = true, num_args = 1..)]
    root_keys: Vec<PathBuf>,
    /// How many of them must sign the next root, as 2 of 3 keys.
    #[arg(long, value_name = "N")]
    threshold: u8,
    /// Public keys that sign releases, 1 to 4.
    #[arg(long = "release-key", value_name = "R.pub", required = true, num_args = 1..)]
    release_keys: Vec<PathBuf>,
    /// How many of them must sign a release, 1 or 2.
    #[arg(long, value_name = "M")]
    release_threshold: u8,
    /// The day from which releases are not taken by this root, such as 2031-01-01, or `never`.
    #[arg(long, value_name = "DATE", default_value = "never", value_parser = expires)]
    expires: u64,
    /// The file to write.
    #[arg(short, long, value_name = "root.1")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Rotate {
    /// The root that it follows.
    old: PathBuf,
    /// Add a key that signs roots.
    #[arg(long, value_name = "A.pub", num_args = 1..)]
    add_root_key: Vec<PathBuf>,
    /// Remove a key that signs roots.
    #[arg(long, value_name = "A.pub", num_args = 1..)]
    remove_root_key: Vec<PathBuf>,
    /// Add a key that signs releases.
    #[arg(long, value_name = "R.pub", num_args = 1..)]
    add_release_key: Vec<PathBuf>,
    /// Remove a key that signs releases.
    #[arg(long, value_name = "R.pub", num_args = 1..)]
    remove_release_key: Vec<PathBuf>,
    /// How many root keys must sign from then on; as before if it is not given.
    #[arg(long, value_name = "N")]
    threshold: Option<u8>,
    /// How many release keys must sign from then on; as before if it is not given.
    #[arg(long, value_name = "M")]
    release_threshold: Option<u8>,
    /// The day from which releases are not taken by this root, or `never`; as before if it is not given.
    #[arg(long, value_name = "DATE", value_parser = expires)]
    expires: Option<u64>,
    /// The file to write.
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Sign {
    /// The root to sign; its file is replaced by one with the signature.
    file: PathBuf,
    #[command(flatten)]
    signing: Signing,
    /// The root that it follows, if the key is one of that.
    #[arg(long, value_name = "OLD")]
    before: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The root.
    file: PathBuf,
    /// The root that it follows: whether enough of its keys have signed.
    #[arg(long, value_name = "OLD")]
    before: Option<PathBuf>,
}

/// A day that is not over yet, or 0 for never.
fn expires(text: &str) -> Result<u64, String> {
    if text == "never" {
        return Ok(0);
    }
    let day = date::parse(text).map_err(|error| format!("{error}; or never"))?;
    if day > date::now() { Ok(day) } else { Err("that day is past, by this machine's clock".to_owned()) }
}

impl Root {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::New(command) => command.run(),
            Self::Rotate(command) => command.run(),
            Self::Sign(command) => command.run(),
            Self::Show(Show { file, before }) => {
                let before = before.as_deref().map(files::read_root).transpose()?;
                let before = before.as_ref().map(RootFile::unverified);
                terminal::say(&words::root(&files::read_root(&file)?, before))
            }
        }
    }
}

/// Writes a root that nobody has signed.
fn write(root: root::Root, before: Option<(&root::Root, &Path)>, output: &Path) -> Result<()> {
    let file = RootFile::new(root, &[]).context("a root without signatures")?;
    files::create(output, &roots::to_bytes(&file), false)?;
    let signs = before.map_or(String::new(), |(_, path)| format!(" --before {}", path.display()));
    let words = words::root(&file, before.map(|(root, _)| root));
    let name = output.display();
    terminal::say(&format!(
        "{words}Written to {name}. Sign it: gatepost-sign root sign {name} --key K.key{signs}\n"
    ))
}

impl New {
    fn run(self) -> Result<()> {
        let (root, release) = (files::read_public(&self.root_keys)?, files::read_public(&self.release_keys)?);
        let root = roots::first((self.threshold, &root), (self.release_threshold, &release), self.expires)?;
        write(root, None, &self.output)
    }
}

impl Rotate {
    fn run(self) -> Result<()> {
        let old = files::read_root(&self.old)?;
        let old = old.unverified();
        let change = |add: &[PathBuf], remove: &[PathBuf], threshold| -> Result<Change> {
            Ok(Change { add: files::read_public(add)?, remove: files::read_public(remove)?, threshold })
        };
        let root = change(&self.add_root_key, &self.remove_root_key, self.threshold)?;
        let release = change(&self.add_release_key, &self.remove_release_key, self.release_threshold)?;
        let root = roots::next(old, &root, &release, self.expires)?;
        ensure!(
            !root.is_expired(date::now()),
            "version {} expired on {}, and the next one would too: give --expires",
            old.version(),
            date::words(old.expires())
        );
        write(root, Some((old, &self.old)), &self.output)
    }
}

impl Sign {
    fn run(self) -> Result<()> {
        let file = files::read_root(&self.file)?;
        let before = self.before.as_deref().map(files::read_root).transpose()?;
        let before = before.as_ref().map(RootFile::unverified);
        let what = format!("To be signed, {}:\n{}", self.file.display(), words::root(&file, before));
        let (signed, signers) = roots::sign(&file, before, &self.signing.secret(&what)?)?;
        files::replace(&self.file, &roots::to_bytes(&signed))?;
        let version = file.unverified().version();
        for signer in signers {
            let version =
                if matches!(signer, Signer::Before(_)) { version.saturating_sub(1) } else { version };
            terminal::say(&format!("Signed as a root key of version {version}.\n"))?;
        }
        if before.is_none() && version > 1 {
            terminal::say("If the key is one of the root before too, sign again with --before OLD.\n")?;
        }
        terminal::say(&words::root(&signed, before))
    }
}

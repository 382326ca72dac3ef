//! `file`: signs other files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use gatepost_link::Digest;
use gatepost_sign::minisign::{FileSignature, Public};

use super::{Signing, files, terminal};

/// Most bytes of a file: all of it is read into memory. What is larger has its line in a SHA256SUMS.
const MAX_BYTES: u64 = 256 << 20;
/// How a signature's file ends.
const ENDING: &str = ".minisig";

#[derive(Debug, Subcommand)]
pub(super) enum File {
    /// Sign a file: writes FILE.minisig, which minisign verifies.
    ///
    /// Nothing is overwritten, and there is no time in it: the same file, key and comment give the same signature.
    Sign(Sign),
    /// Say whether a file is what a key signed.
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(super) struct Sign {
    /// The file, of at most 256 MiB.
    file: PathBuf,
    #[command(flatten)]
    signing: Signing,
    /// A comment that is signed too; without it, `file:` and the file's name.
    #[arg(long)]
    comment: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The file.
    file: PathBuf,
    /// The public key that must have signed it.
    #[arg(long = "pub", value_name = "A.pub")]
    public: PathBuf,
    /// The signature; without it, FILE.minisig.
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
}

impl File {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::Sign(command) => command.run(),
            Self::Verify(command) => command.run(),
        }
    }
}

fn named(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl Sign {
    fn run(self) -> Result<()> {
        let output = files::beside(&self.file, ENDING);
        files::ensure_free(&output)?;
        let bytes =
            files::read(&self.file, MAX_BYTES).context("sign a SHA256SUMS that names what is larger")?;
        let comment = self.comment.unwrap_or_else(|| format!("file:{}", named(&self.file)));
        let what = format!(
            "To be signed, a file: {}\n  {} bytes, SHA-256 {}\n  signed comment: {comment:?}\n",
            self.file.display(),
            bytes.len(),
            Digest::of(&bytes)
        );
        let secret = self.signing.secret(&what)?;
        let signature = FileSignature::new(&secret, &bytes, &comment)?;
        files::create(&output, signature.to_file().as_bytes(), false)?;
        terminal::say(&format!("Written to {}\n", output.display()))
    }
}

impl Verify {
    fn run(self) -> Result<()> {
        let public = Public::read(&files::read_text(&self.public)?)
            .with_context(|| self.public.display().to_string())?;
        let path = self.signature.unwrap_or_else(|| files::beside(&self.file, ENDING));
        let signature =
            FileSignature::read(&files::read_text(&path)?).with_context(|| path.display().to_string())?;
        let bytes = files::read(&self.file, MAX_BYTES)?;
        let comment = signature.verify(&public, &bytes).with_context(|| self.file.display().to_string())?;
        terminal::say(&format!(
            "{} is what {public} signed, with the comment {comment:?}.\n",
            self.file.display()
        ))
    }
}

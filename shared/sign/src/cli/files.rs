//! Files: read up to a bound, written where there was none or replaced as a whole.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_link::{
    decision::PublicKey,
    update::root::{MAX_FILE_BYTES, RootFile},
};
use gatepost_sign::{
    minisign::{MAX_PASSWORD, Public},
    roots::RootError,
};
use zeroize::Zeroizing;

/// Bytes of the longest key or signature: two comments and their base64.
const MAX_TEXT: u64 = 8 * 1024;
/// What may be read and written by others is none of the owner's bits.
const OTHERS: u32 = 0o077;

/// A file of at most `most` bytes. A pipe, which may have no end or nobody at its other one, is refused.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let kind = fs::metadata(path).with_context(|| path.display().to_string())?;
    ensure!(kind.is_file(), "{} is no file: give the path of one", path.display());
    read_any(path, most)
}

fn read_any(path: &Path, most: u64) -> Result<Vec<u8>> {
    let name = || path.display().to_string();
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(name)?;
    file.take(most + 1).read_to_end(&mut bytes).with_context(name)?;
    ensure!(bytes.len() as u64 <= most, "{} has more than {most} bytes, which is too much here", name());
    Ok(bytes)
}

/// A short text, from a file or from a pipe: a password may come from a program that keeps it.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let bytes = read_any(path, MAX_TEXT)?;
    String::from_utf8(bytes).ok().with_context(|| format!("{} is not text", path.display()))
}

/// The file of a secret key; says so if others may read it.
pub(super) fn read_secret(path: &Path) -> Result<Zeroizing<String>> {
    let text = Zeroizing::new(read_text(path)?);
    let mode = fs::metadata(path).with_context(|| path.display().to_string())?.permissions().mode();
    if mode & OTHERS != 0 {
        eprintln!("warning: others on this machine may read {0}: chmod 600 {0}", path.display());
    }
    Ok(text)
}

/// The first line of a file.
pub(super) fn read_password(path: &Path) -> Result<Zeroizing<String>> {
    let text = Zeroizing::new(read_text(path)?);
    let line = Zeroizing::new(text.lines().next().unwrap_or_default().to_owned());
    let length = line.len();
    ensure!(
        (1..=MAX_PASSWORD).contains(&length),
        "the first line of {} is the password, and has 1 to {MAX_PASSWORD} bytes, not {length}",
        path.display()
    );
    Ok(line)
}

/// Public keys.
pub(super) fn read_public(paths: &[PathBuf]) -> Result<Vec<PublicKey>> {
    let read = |path: &PathBuf| {
        Public::read(&read_text(path)?).with_context(|| path.display().to_string()).map(|public| public.key)
    };
    paths.iter().map(read).collect()
}

/// A root with its signatures.
pub(super) fn read_root(path: &Path) -> Result<RootFile> {
    let bytes = read(path, MAX_FILE_BYTES as u64)?;
    RootFile::from_bytes(&bytes).ok_or(RootError::NoRoot).with_context(|| path.display().to_string())
}

/// Refuses a path where something is already.
pub(super) fn ensure_free(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(_) => bail!("{} is there already: it is not overwritten; name another file", path.display()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Writes a file where there was none, readable by everybody, or by its owner alone.
pub(super) fn create(path: &Path, bytes: &[u8], secret: bool) -> Result<()> {
    ensure_free(path)?;
    let mode = if secret { 0o600 } else { 0o644 };
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let mut file = file.with_context(|| path.display().to_string())?;
    if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_all()) {
        // Half of a file would be in the way the next time.
        _ = fs::remove_file(path);
        return Err(error).with_context(|| path.display().to_string());
    }
    Ok(())
}

/// Puts other bytes into a file, all or none.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = beside(path, ".new");
    create(&new, bytes, false)?;
    fs::rename(&new, path).with_context(|| path.display().to_string())
}

/// The path with something behind its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

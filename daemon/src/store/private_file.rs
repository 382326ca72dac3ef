//! Files that only their owner may read, whole or not there at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Writes a file beside its place and moves it there, so that a power cut leaves the old one or the new one.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(directory) => sync(directory),
        None => Ok(()),
    }
}

/// Makes an empty file in the place of whatever was left there; only its owner may read it.
pub(super) fn create(path: &Path) -> io::Result<()> {
    remove(path)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes what was created, renamed and removed in a directory last.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// A name of its own for each file: with its ending replaced, two keys would share one.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

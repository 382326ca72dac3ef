//! What a backup brings beside its database: the hub's keys, and files that go along with messages.
//!
//! A backup is unpacked into [`UNPACKED`], where it is nobody's. Files get their place first: they are called by their
//! content, so none replaces another, and one that nothing refers to is removed by the hub. Keys wait in [`KEYS`] until the
//! database is [`READY`](super::READY), and take their places before it takes its own: so keys and database change
//! together, whatever stops that half-way.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::{super::private_file, move_away};

/// Where a backup is unpacked.
const UNPACKED: &str = "restored.part";
/// Keys that are to take their places.
const KEYS: &str = "restored.keys";
/// The key that says whose the files beside the database are.
const OWN: &str = "hub.key";
/// What another hub has signed, and counts for this one as a fault.
const SIGNED: &str = "audit.checkpoint";

/// Where a backup is to be unpacked: nothing is there.
pub(super) fn place(directory: &Path) -> PathBuf {
    directory.join(UNPACKED)
}

/// Removes what an earlier try left.
pub(super) fn clear(directory: &Path) -> io::Result<()> {
    [UNPACKED, KEYS].iter().try_for_each(|name| private_file::remove_folder(&directory.join(name)))
}

/// Gives files their place, and has keys wait for theirs.
pub(super) fn prepare(directory: &Path) -> io::Result<()> {
    let unpacked = place(directory);
    let (from, files) = (unpacked.join("files"), directory.join("files"));
    if from.exists() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&files)?;
        for file in fs::read_dir(&from)? {
            let name = file?.file_name();
            fs::rename(from.join(&name), files.join(&name))?;
        }
        private_file::sync(&files)?;
    }
    let keys = unpacked.join("keys");
    if keys.exists() {
        fs::rename(&keys, directory.join(KEYS))?;
    }
    private_file::sync(directory)
}

/// Gives keys their places; what is there is moved away.
pub(super) fn take_keys(directory: &Path) -> io::Result<()> {
    let keys = directory.join(KEYS);
    if !keys.exists() {
        return Ok(());
    }
    let (own, other) = (fs::read(keys.join(OWN)), fs::read(directory.join(OWN)));
    if let (Ok(own), Ok(other)) = (own, other)
        && own != other
    {
        move_away(directory, &[SIGNED])?;
    }
    for key in fs::read_dir(&keys)? {
        let name = key?.file_name();
        let name = name.to_str().ok_or(io::ErrorKind::InvalidData)?;
        move_away(directory, &[name])?;
        fs::rename(keys.join(name), directory.join(name))?;
    }
    private_file::sync(directory)?;
    fs::remove_dir(&keys)
}

//! Files that only their owner may read, whole or not there at all; and files of a folder in which another may have laid anything.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

/// By which a file is opened in a folder that may be another's: no link is followed, and nobody at the other end of a pipe waited for.
pub(crate) const AS_IT_LIES: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();

/// Opens a file to read [as it lies](AS_IT_LIES).
///
/// # Errors
/// It cannot be opened, is a link, or is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(AS_IT_LIES).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Writes a file beside its place and moves it there, so that a power cut leaves the old one or the new one.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o600)
}

/// The same for a file that others may read.
pub(crate) fn write_for_all(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o644)
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let beside = beside(path);
    let mut file = create_as(&beside, mode)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(directory) => sync(directory),
        None => Ok(()),
    }
}

/// Takes from everybody but their owner what others may read of the files in a directory, and says so: they may have read it by
/// then. What cannot be changed is said as well.
pub(super) fn tighten(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_file() || metadata.permissions().mode() & 0o077 == 0 {
            continue;
        }
        let path = entry.path();
        match fs::set_permissions(&path, fs::Permissions::from_mode(0o600)) {
            Ok(()) => tracing::warn!(
                file = %path.display(),
                "others could read or write this file of the hub; only its owner can now. If somebody may have: gatepost agent \
                 revoke, a new hub.key by pairing anew, a new authority.pem by deleting it"
            ),
            Err(error) => {
                tracing::error!(file = %path.display(), %error, "others can read this file of the hub")
            }
        }
    }
}

/// Makes an empty file in the place of whatever was left there, a link among it; only its owner may read it.
pub(super) fn create(path: &Path) -> io::Result<File> {
    create_as(path, 0o600)
}

fn create_as(path: &Path, mode: u32) -> io::Result<File> {
    remove(path)?;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes what was created, renamed and removed in a directory last.
pub(crate) fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// A name of its own for each file: with its ending replaced, two keys would share one.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

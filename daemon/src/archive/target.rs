//! The file that a backup becomes: written beside its place, whole or not there at all, and one at a time.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, process::geteuid};

use super::error::ArchiveError;
use crate::store::private_file;

/// A file that only this process works with; it is removed in the end, unless it has been given another name.
#[derive(Debug)]
pub struct WorkFile {
    path: PathBuf,
    file: File,
}

impl WorkFile {
    /// Takes the file at `path`, whatever an earlier try left there.
    ///
    /// # Errors
    /// Another process works with it, or it cannot be made.
    pub fn take(path: PathBuf) -> Result<Self, ArchiveError> {
        let failed = |error| ArchiveError::File(path.clone(), error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        // Root may write into another user's directory, where a link may lie.
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(ArchiveError::Busy(path)),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        // Between opening and locking, another may have finished it: then this is a backup, and not to be touched.
        let same = fs::metadata(&path).ok().zip(file.metadata().ok());
        if same.is_none_or(|(named, held)| (named.dev(), named.ino()) != (held.dev(), held.ino())) {
            return Err(ArchiveError::Busy(path));
        }
        // Another's file would stay another's, with the texts of messages in it.
        let held = file.metadata().map_err(failed)?;
        if !held.is_file() || held.uid() != geteuid().as_raw() || held.nlink() != 1 {
            return Err(failed(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it is there, and not a file of yours alone: remove it",
            )));
        }
        file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        Ok(Self { path, file })
    }

    /// A name beside it, for a file that belongs to it.
    pub fn beside(&self, end: &str) -> PathBuf {
        appended(&self.path, end)
    }
}

impl Drop for WorkFile {
    fn drop(&mut self) {
        // Not there any more if it has its name. Otherwise the next try takes it over.
        let _ = fs::remove_file(&self.path);
    }
}

/// Where a backup is to be.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    replaces: bool,
    work: WorkFile,
}

impl Target {
    /// Begins to write the file at `path`; `replaces`: whether one that is there may go.
    ///
    /// # Errors
    /// It is there already, or its place cannot be used.
    pub fn begin(path: &Path, replaces: bool) -> Result<Self, ArchiveError> {
        let target = Self { path: path.into(), replaces, work: WorkFile::take(appended(path, ".part"))? };
        target.is_free().map(|()| target)
    }

    /// The file, to be written.
    pub const fn file(&self) -> &File {
        &self.work.file
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// Another has come to be there meanwhile, or the disk says no.
    pub fn finish(self) -> Result<(), ArchiveError> {
        self.is_free()?;
        let failed = |error| ArchiveError::File(self.path.clone(), error);
        self.work.file.sync_all().map_err(failed)?;
        fs::rename(&self.work.path, &self.path).map_err(failed)?;
        let folder = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        private_file::sync(folder.unwrap_or(Path::new("."))).map_err(failed)
    }

    fn is_free(&self) -> Result<(), ArchiveError> {
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(ArchiveError::File(self.path.clone(), error)),
            Ok(there) if there.is_dir() => {
                Err(ArchiveError::File(self.path.clone(), io::ErrorKind::IsADirectory.into()))
            }
            Ok(_) if self.replaces => Ok(()),
            Ok(_) => Err(ArchiveError::Exists(self.path.clone())),
        }
    }
}

fn appended(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_is_there_when_it_is_whole_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        let target = Target::begin(&path, false).unwrap();
        target.file().write_all(b"half").unwrap();
        assert!(!path.exists());
        assert!(matches!(Target::begin(&path, false), Err(ArchiveError::Busy(_))));
        target.finish().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(Target::begin(&path, false), Err(ArchiveError::Exists(_))));
        let replacing = Target::begin(&path, true).unwrap();
        replacing.file().write_all(b"other").unwrap();
        drop(replacing);
        assert_eq!(fs::read(&path).unwrap(), b"half");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

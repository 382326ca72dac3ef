//! A file of an agent's own folder.
//!
//! The kernel resolves the path beneath the opened folder and follows no link in any component: there is no moment between
//! a check and its use, and no text is compared with another. A pipe or a device is opened without waiting for it, seen for
//! what it is, and refused.

use std::{fs::File, os::fd::OwnedFd, path::PathBuf};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2},
    io::Errno,
};

use super::error::StageError;

/// Opens the regular file at `path` beneath `folder`; says how long it is now.
pub(super) async fn open(folder: PathBuf, path: String) -> Result<(File, u64), StageError> {
    tokio::task::spawn_blocking(move || open_now(&folder, &path))
        .await
        .map_err(|error| StageError::Read(std::io::Error::other(error)))?
}

fn open_now(folder: &std::path::Path, path: &str) -> Result<(File, u64), StageError> {
    // The folder itself is the operator's word, links and all.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, folder, flags, Mode::empty())
        .map_err(|error| StageError::Folder(error.into()))?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file: OwnedFd = openat2(&folder, path, flags, Mode::empty(), resolve).map_err(refused)?;
    let found = fstat(&file).map_err(|error| StageError::Read(error.into()))?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok((file.into(), u64::try_from(found.st_size).unwrap_or(0))),
        _ => Err(StageError::NotAFile),
    }
}

fn refused(error: Errno) -> StageError {
    match error {
        // openat2(2): EXDEV is a way out, ELOOP a link, EAGAIN a way that changed while it was walked.
        Errno::XDEV | Errno::LOOP | Errno::AGAIN => StageError::Outside,
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => StageError::NotThere,
        // A socket, or a device that nobody drives.
        Errno::NXIO | Errno::NODEV | Errno::ISDIR => StageError::NotAFile,
        // Before Linux 5.6, or under a filter that does not know the call.
        Errno::NOSYS => StageError::Folder(error.into()),
        error => StageError::Read(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read as _, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn only_regular_files_beneath_the_folder_are_opened_and_no_link_is_followed() {
        let house = tempfile::tempdir().unwrap();
        let folder = house.path().join("agent");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::create_dir_all(house.path().join("agent-evil")).unwrap();
        fs::write(house.path().join("secret"), "secret").unwrap();
        fs::write(house.path().join("agent-evil/x"), "x").unwrap();
        fs::write(folder.join("sub/a.txt"), "hello").unwrap();
        symlink("../secret", folder.join("link")).unwrap();
        symlink("sub/a.txt", folder.join("inner")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
        assert!(pipe.success());
        let open = |path: &str| open_now(&folder, path);

        let (mut file, size) = open("sub/a.txt").unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size), ("hello", 5));
        assert!(open("./sub//a.txt").is_ok() && open("sub/../sub/a.txt").is_ok(), "it stays beneath");

        let absolute = house.path().join("secret");
        let inside = folder.join("sub/a.txt");
        for path in
            ["../secret", "sub/../../secret", "link", "inner", "up/secret", "/etc/passwd", "../agent-evil/x"]
                .into_iter()
                .chain([absolute.to_str().unwrap(), inside.to_str().unwrap()])
        {
            assert!(matches!(open(path), Err(StageError::Outside)), "{path}: {:?}", open(path).err());
        }
        for path in ["", "nothing", "sub/a.txt/x"] {
            assert!(matches!(open(path), Err(StageError::NotThere)), "{path}: {:?}", open(path).err());
        }
        for path in ["pipe", "sub", "."] {
            assert!(matches!(open(path), Err(StageError::NotAFile)), "{path}: {:?}", open(path).err());
        }
    }
}

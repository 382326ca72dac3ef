//! A file of an agent's own folder.
//!
//! The kernel resolves the path beneath the opened folder and follows no link in any component: there is no moment between
//! a check and its use, and no text is compared with another. A pipe or a device is opened without waiting for it, seen for
//! what it is, and refused.
//!
//! A hard link is no link to the kernel: it is a second name of one file, and whoever makes one in the folder would have a file
//! from elsewhere sent. So the opened file itself is asked how many names it has. It is asked for its owner as well: when the
//! other name of a linked file is removed (a rotated log, a replaced backup) one name is left, and only the owner tells that
//! the file came from somebody else. The owner must be that of the folder, which is who the agent runs as. The hub's own user
//! does not count as one: its files are its token, its keys and its database.
//!
//! The folder's own path is followed without links too. It was [resolved](crate::config) when the configuration was read;
//! who may write to a folder above it cannot lead it elsewhere later.

use std::{fs::File, os::fd::OwnedFd};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2},
    io::Errno,
};

use super::{Folder, error::StageError};

/// Opens the regular file at `path` beneath `folder`; says how long it is now.
pub(super) async fn open(folder: Folder, path: String) -> Result<(File, u64), StageError> {
    tokio::task::spawn_blocking(move || open_now(&folder, &path))
        .await
        .map_err(|error| StageError::Read(std::io::Error::other(error)))?
}

fn open_now(folder: &Folder, path: &str) -> Result<(File, u64), StageError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = openat2(CWD, &folder.path, flags, Mode::empty(), resolve)
        .map_err(|error| StageError::Folder(error.into()))?;
    let owner = fstat(&opened).map_err(|error| StageError::Folder(error.into()))?.st_uid;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file: OwnedFd = openat2(&opened, path, flags, Mode::empty(), resolve).map_err(refused)?;
    let found = fstat(&file).map_err(|error| StageError::Read(error.into()))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(StageError::NotAFile);
    }
    folder.accept(&found, owner)?;
    Ok((file.into(), u64::try_from(found.st_size).unwrap_or(0)))
}

impl Folder {
    /// Refuses a file that may come from outside of the folder, which belongs to `owner`.
    fn accept(&self, file: &Stat, owner: u32) -> Result<(), StageError> {
        // The width of the number of names differs between machines.
        #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
        let names = u64::from(file.st_nlink);
        if names > 1 && !self.allow_linked_files {
            return Err(StageError::Linked(names));
        }
        if file.st_uid != owner && !self.allow_other_owners {
            return Err(StageError::Owner { file: file.st_uid, folder: owner });
        }
        Ok(())
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
        let fixture = tempfile::tempdir().unwrap();
        let folder = fixture.path().join("agent");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::create_dir_all(fixture.path().join("agent-evil")).unwrap();
        fs::write(fixture.path().join("secret"), "secret").unwrap();
        fs::write(fixture.path().join("agent-evil/x"), "x").unwrap();
        fs::write(folder.join("sub/a.txt"), "hello").unwrap();
        symlink("../secret", folder.join("link")).unwrap();
        symlink("sub/a.txt", folder.join("inner")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
        assert!(pipe.success());
        let own = Folder { path: folder.clone(), ..Folder::default() };
        let open = |path: &str| open_now(&own, path);

        let (mut file, size) = open("sub/a.txt").unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size), ("hello", 5));
        assert!(open("./sub//a.txt").is_ok() && open("sub/../sub/a.txt").is_ok(), "it stays beneath");

        let absolute = fixture.path().join("secret");
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

    #[test]
    fn a_file_with_a_second_name_or_another_owner_is_refused_unless_it_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        let found = fstat(fs::File::open(folder.path().join("a")).unwrap()).unwrap();
        let (strict, owner) = (Folder::default(), found.st_uid);
        assert!(strict.accept(&found, owner).is_ok());
        assert!(
            matches!(strict.accept(&found, owner + 1), Err(StageError::Owner { file, .. }) if file == owner)
        );
        let others = Folder { allow_other_owners: true, ..Folder::default() };
        assert!(others.accept(&found, owner + 1).is_ok());
        fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        let found = fstat(fs::File::open(folder.path().join("b")).unwrap()).unwrap();
        for folder in [&strict, &others] {
            assert!(matches!(folder.accept(&found, owner), Err(StageError::Linked(2))));
        }
        let linked = Folder { allow_linked_files: true, ..Folder::default() };
        assert!(linked.accept(&found, owner).is_ok() && linked.accept(&found, owner + 1).is_err());
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        let fixture = tempfile::tempdir().unwrap();
        fs::create_dir(fixture.path().join("elsewhere")).unwrap();
        fs::write(fixture.path().join("elsewhere/secret"), "secret").unwrap();
        let folder = Folder { path: fixture.path().join("out"), ..Folder::default() };
        symlink("elsewhere", &folder.path).unwrap();
        let refused = open_now(&folder, "secret");
        assert!(matches!(refused, Err(StageError::Folder(_))), "{refused:?}");
    }
}

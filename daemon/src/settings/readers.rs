//! Who else can read a file with a secret in it.
//!
//! A token that everybody on the machine can read is everybody's: such a file is refused. One that its group can read is a warning,
//! but for a file of root's, where somebody has chosen the group (`root:gatepost`, 0640). A folder that others cannot pass keeps what is
//! in it. Left alone are systemd's credentials, which it gives to the unit alone, and what container engines put into
//! [`OF_CONTAINERS`], readable by all in a container that is the hub's own.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Where Docker and Podman put secrets (<https://docs.docker.com/engine/swarm/secrets/>).
const OF_CONTAINERS: &str = "/run/secrets";

/// The permission bits of reading and passing, for a group and for others.
const GROUP_READS: u32 = 0o040;
const GROUP_PASSES: u32 = 0o010;
const OTHERS_READ: u32 = 0o004;
const OTHERS_PASS: u32 = 0o001;

/// Who can read a file, beside its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Nobody.
    Nobody,
    /// Its group.
    Group,
    /// Everybody on this machine.
    Everybody,
}

impl Readers {
    /// Those of the file at this path, wherever it leads.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        // A pipe has no place in a folder.
        if !file.is_file() {
            return Ok(Self::Nobody);
        }
        let path = fs::canonicalize(path)?;
        if path.starts_with(OF_CONTAINERS) {
            return Ok(Self::Nobody);
        }
        let folders: Vec<Metadata> = path.ancestors().skip(1).map(fs::metadata).collect::<io::Result<_>>()?;
        let others_pass = |folder: &Metadata| folder.mode() & OTHERS_PASS != 0;
        let group_passes = |folder: &Metadata| {
            others_pass(folder) || folder.mode() & GROUP_PASSES != 0 && folder.gid() == file.gid()
        };
        if file.mode() & OTHERS_READ != 0 && folders.iter().all(others_pass) {
            return Ok(Self::Everybody);
        }
        let roots = file.uid() == 0;
        match file.mode() & GROUP_READS != 0 && !roots && folders.iter().all(group_passes) {
            true => Ok(Self::Group),
            false => Ok(Self::Nobody),
        }
    }
}

/// Everybody on this machine can read a file that holds a secret.
#[derive(Debug, thiserror::Error)]
#[error("everybody on this machine can read the secret in {}: chmod 600 {}", .0.display(), .0.display())]
pub struct ReadByAll(PathBuf);

/// Refuses a file that everybody can read. One that cannot be looked at is not refused: reading it says why.
///
/// # Errors
/// Everybody can read it.
pub fn refuse_everybodys(path: &Path) -> Result<(), ReadByAll> {
    match Readers::of(path) {
        Ok(Readers::Everybody) => Err(ReadByAll(path.to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_everybodys_only_if_everybody_can_get_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "s3cret").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let readers = |folder_mode, mode| {
            set(folder.path(), folder_mode);
            set(&secret, mode);
            Readers::of(&secret).unwrap()
        };
        assert_eq!(readers(0o755, 0o644), Readers::Everybody);
        assert_eq!(readers(0o711, 0o604), Readers::Everybody);
        assert_eq!(readers(0o700, 0o644), Readers::Nobody);
        assert_eq!(readers(0o755, 0o600), Readers::Nobody);
        let roots = fs::metadata(&secret).unwrap().uid() == 0;
        assert_eq!(readers(0o755, 0o640), if roots { Readers::Nobody } else { Readers::Group });
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        set(&secret, 0o644);
        assert_eq!(Readers::of(&link).unwrap(), Readers::Everybody);
        assert!(Readers::of(&folder.path().join("none")).is_err());
        assert_eq!(Readers::of(Path::new("/dev/null")).unwrap(), Readers::Nobody);
    }
}

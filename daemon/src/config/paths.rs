//! Where a hub's configuration and its data are if nobody says.

use std::{
    ffi::{OsStr, OsString},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use crate::printing::print_note;

/// The configuration in the current folder.
pub const DEFAULT_FILE: &str = "gatepost.toml";
/// The configuration of the service that a package installs (`daemon/packaging`).
pub const SERVICE_FILE: &str = "/etc/gatepost/gatepost.toml";
/// Its data.
pub const SERVICE_DATA_DIR: &str = "/var/lib/gatepost";
/// The data of any other hub, in a folder beside its configuration.
pub const DEFAULT_DATA_DIR: &str = "gatepost-data";

/// The configuration file: the one that was named, the one in the current folder, or the service's. Root does not obey a file that
/// others have put where root happens to be: it could name their own address as the hub's, and secrets that root alone can read.
pub fn file(named: Option<PathBuf>) -> PathBuf {
    named.unwrap_or_else(|| {
        let here = Path::new(DEFAULT_FILE);
        let is_strange = geteuid().is_root() && others_can_change(here);
        if is_strange {
            print_note!(
                "gatepost: {DEFAULT_FILE} in this folder was not looked at: others than root can write it; name it with -c if it is meant"
            );
        }
        found(here, is_strange, Path::new(SERVICE_FILE))
    })
}

fn found(here: &Path, is_strange: bool, service: &Path) -> PathBuf {
    match is_strange || !is_there(here) && is_there(service) {
        true => service.into(),
        false => here.into(),
    }
}

/// One that may not be looked at is there: the error is to name it.
fn is_there(file: &Path) -> bool {
    file.try_exists().unwrap_or(true)
}

/// Whether a file is there that others than root can change or replace.
fn others_can_change(file: &Path) -> bool {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let can_be_written = |path: &Path| {
        path.symlink_metadata().is_ok_and(|found| {
            let (mode, group) = (found.mode(), found.gid());
            let by_others = mode & 0o002 != 0 || (mode & 0o020 != 0 && group != 0);
            // In /tmp everybody makes files, and nobody replaces another's.
            found.uid() != 0 || found.is_symlink() || (by_others && mode & 0o1000 == 0)
        })
    };
    is_there(file) && (can_be_written(file) || can_be_written(folder))
}

/// The data directory of a configuration that names none.
pub(super) fn data_dir(file: &Path) -> PathBuf {
    default_data_dir(file, std::env::var_os("STATE_DIRECTORY"))
}

/// A unit's state directory comes first: systemd has made it, and it may be the only folder that the unit can write
/// (<https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#RuntimeDirectory=>: several are divided by colons).
/// The service's commands at a shell have no such variable, and find the data where its unit has them.
fn default_data_dir(file: &Path, state: Option<OsString>) -> PathBuf {
    let first = state.as_deref().and_then(OsStr::to_str).and_then(|all| all.split(':').next()).map(Path::new);
    match first.filter(|directory| directory.is_absolute()) {
        Some(directory) => directory.into(),
        None if file == Path::new(SERVICE_FILE) => SERVICE_DATA_DIR.into(),
        None => DEFAULT_DATA_DIR.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_are_in_the_units_directory_or_where_the_package_has_them_or_beside_the_file() {
        let state = |text: &str| Some(OsString::from(text));
        let (mine, service) = (Path::new("gatepost.toml"), Path::new(SERVICE_FILE));
        for (file, state, wanted) in [
            (mine, None, DEFAULT_DATA_DIR),
            (mine, state(""), DEFAULT_DATA_DIR),
            (mine, state("relative"), DEFAULT_DATA_DIR),
            (mine, state("/var/lib/hub:/var/lib/other"), "/var/lib/hub"),
            (service, None, SERVICE_DATA_DIR),
            (service, state("/var/lib/hub"), "/var/lib/hub"),
        ] {
            assert_eq!(default_data_dir(file, state.clone()), Path::new(wanted), "{file:?} {state:?}");
        }
    }

    #[test]
    fn the_named_file_comes_before_the_one_here_and_that_before_the_services() {
        let folder = tempfile::tempdir().unwrap();
        let (here, service) = (folder.path().join("here"), folder.path().join("service"));
        let found = |is_strange| super::found(&here, is_strange, &service);
        assert_eq!(found(false), here, "the error names the file that one would write");
        std::fs::write(&service, "").unwrap();
        assert_eq!(found(false), service);
        std::fs::write(&here, "").unwrap();
        assert_eq!(found(false), here);
        assert_eq!(found(true), service);
        assert_eq!(file(Some("other".into())), Path::new("other"));
    }

    #[test]
    fn a_file_that_others_can_change_or_replace_is_not_roots() {
        use std::fs::{self, Permissions, set_permissions};
        use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
        // Only root can make what root is to refuse.
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("gatepost.toml"), folder.path().join("link"));
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert!(!others_can_change(&file));
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        assert!(!others_can_change(&file));
        assert!(others_can_change(&link));
        mode(&file, 0o666);
        assert!(others_can_change(&file));
        mode(&file, 0o644);
        mode(folder.path(), 0o777);
        assert!(others_can_change(&file), "it can be replaced");
        mode(folder.path(), 0o1777);
        assert!(!others_can_change(&file));
        chown(&file, Some(4000), None).unwrap();
        assert!(others_can_change(&file));
        chown(&file, Some(0), None).unwrap();
        chown(folder.path(), Some(4000), None).unwrap();
        assert!(others_can_change(&file));
    }
}

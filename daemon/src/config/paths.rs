//! Where a hub's configuration and its data are if nobody says.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The configuration in the current folder.
pub const DEFAULT_FILE: &str = "gatepost.toml";
/// The configuration of the service that a package installs (`daemon/packaging`).
pub const SERVICE_FILE: &str = "/etc/gatepost/gatepost.toml";
/// Its data.
pub const SERVICE_DATA_DIR: &str = "/var/lib/gatepost";
/// The data of any other hub, in a folder beside its configuration.
pub const DEFAULT_DATA_DIR: &str = "gatepost-data";

/// The configuration file: the one that was named, the one in the current folder, or the service's.
pub fn file(named: Option<PathBuf>) -> PathBuf {
    found(named, Path::new(DEFAULT_FILE), Path::new(SERVICE_FILE))
}

fn found(named: Option<PathBuf>, here: &Path, service: &Path) -> PathBuf {
    named.unwrap_or_else(|| match here.exists() || !service.exists() {
        true => here.into(),
        false => service.into(),
    })
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
        let found = |named: Option<&str>| super::found(named.map(PathBuf::from), &here, &service);
        assert_eq!(found(None), here, "the error names the file that one would write");
        std::fs::write(&service, "").unwrap();
        assert_eq!(found(None), service);
        std::fs::write(&here, "").unwrap();
        assert_eq!(found(None), here);
        assert_eq!(found(Some("other")), Path::new("other"));
    }
}

//! The package's service, asked about by root: what the unit lets the hub read and write is less than root can.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use super::Found;
use crate::{
    config::{Config, paths},
    printing::print_note,
};

/// What systemd loads of a folder of credentials at most, in bytes
/// (<https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#LoadCredential=ID:PATH>).
const MAX_CREDENTIALS_BYTES: u64 = 1024 * 1024;
/// The longest name of a credential.
const MAX_NAME_BYTES: usize = 255;
/// Folders that `ProtectHome` and `PrivateTmp` of the unit hide.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// All that the unit would not start with. What a drop-in of the unit may allow is said as a warning.
pub(super) fn missing(file: &Path, config: &Config, programs: &[(String, PathBuf)]) -> Vec<Found> {
    if file != Path::new(paths::SERVICE_FILE) || !geteuid().is_root() {
        return vec![];
    }
    let directory = &config.hub.data_dir;
    if !directory.starts_with(paths::SERVICE_DATA_DIR) {
        print_note!(
            "warning: the unit lets the hub write beneath {} alone: for {} it needs a drop-in with ReadWritePaths={} \
             (systemctl edit gatepost)",
            paths::SERVICE_DATA_DIR,
            directory.display(),
            directory.display()
        );
    }
    let folders = config.agents.iter().filter_map(|(name, agent)| {
        Some((format!("agents.{name}.attach_from"), agent.attach_from.as_ref()?.to_path_buf()))
    });
    for (key, path) in programs.iter().cloned().chain(folders) {
        if HIDDEN.iter().any(|hidden| path.starts_with(hidden)) {
            print_note!(
                "warning: {key}: the unit hides {} from the hub: move it, to /usr/local or /srv, or allow it in a drop-in \
                 (systemctl edit gatepost: BindReadOnlyPaths={})",
                path.display(),
                path.display()
            );
        }
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut found: Vec<Found> = unreadable(file, folder)
        .map(|why| Found::missing("configuration", file.display(), why))
        .into_iter()
        .collect();
    let credentials = unloadable(&folder.join("credentials"));
    found.extend(credentials.map(|(path, why)| Found::missing("credentials", path.display(), why)));
    found
}

/// Why the hub's user cannot read its configuration: it is in the folder's group, and not root.
fn unreadable(file: &Path, folder: &Path) -> Option<String> {
    let (file_is, folder_is) = (file.metadata().ok()?, folder.metadata().ok()?);
    let (mode, is_groups) = (file_is.mode(), file_is.gid() == folder_is.gid());
    let can_read = if is_groups { mode & 0o040 != 0 } else { mode & 0o004 != 0 };
    (!can_read).then(|| {
        let (file, folder) = (file.display(), folder.display());
        format!("the hub's user cannot read it: chgrp --reference={folder} {file}; chmod 640 {file}")
    })
}

/// The first credential that systemd would skip or fail at.
fn unloadable(folder: &Path) -> Option<(PathBuf, String)> {
    let mut sum = 0;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        let Ok(found) = path.symlink_metadata() else { continue };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_name =
            name.len() <= MAX_NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
        if found.is_symlink() {
            return Some((path, "systemd skips links: copy the file here".into()));
        }
        if found.is_file() && !is_name {
            let why =
                "no name of a credential: the unit would not start; give it one of letters, digits, - and _";
            return Some((path, why.into()));
        }
        sum += if found.is_file() { found.len() } else { 0 };
    }
    (sum > MAX_CREDENTIALS_BYTES).then(|| {
        (folder.into(), format!("its files have {sum} bytes, and systemd takes {MAX_CREDENTIALS_BYTES}"))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn credentials_that_systemd_would_not_load_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let found = || {
            unloadable(folder.path())
                .map(|(path, why)| (path, why.split_whitespace().next().unwrap().to_owned()))
        };
        fs::write(path("telegram"), "x").unwrap();
        assert_eq!(found(), None);
        for name in ["a:b", "a b", "ü"] {
            fs::write(path(name), "x").unwrap();
            assert_eq!(found(), Some((path(name), "no".into())));
            fs::remove_file(path(name)).unwrap();
        }
        symlink(path("telegram"), path("link")).unwrap();
        assert_eq!(found(), Some((path("link"), "systemd".into())));
        fs::remove_file(path("link")).unwrap();
        fs::write(path("large"), vec![0; 1024 * 1024]).unwrap();
        assert_eq!(found(), Some((folder.path().into(), "its".into())));
    }

    #[test]
    fn a_configuration_that_the_hubs_group_cannot_read_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gatepost.toml");
        fs::write(&file, "").unwrap();
        for (mode, is_readable) in [(0o640, true), (0o600, false), (0o604, false)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(unreadable(&file, folder.path()).is_none(), is_readable, "{mode:o}");
        }
    }
}

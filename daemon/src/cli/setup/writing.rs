//! What is written, all of it at the end and none of it before: the secret, the configuration, the agent's token.
//!
//! A file that is there is never overwritten but the configuration, and of that nothing is lost: it is replaced as a whole by a
//! text that was read as a hub would, with what stood there before. A power cut leaves the old one or the new one.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown},
    path::{Path, PathBuf},
};

use crate::{cli::Failed, config::paths, settings::secret::Secret};

/// Where a secret is going to be, and how the configuration points to it.
pub(super) struct SecretPlace {
    pub(super) file: PathBuf,
    pub(super) pointer: String,
}

/// Whether this is the configuration of the service that a package installs.
pub(super) fn is_services(config: &Path) -> bool {
    config == Path::new(paths::SERVICE_FILE)
}

/// A place for a secret that nothing is at: beside the configuration, as the guides have it.
pub(super) fn place(config: &Path, platform: &str, account: &str) -> SecretPlace {
    let (folder, prefix) = match is_services(config) {
        true => ("credentials", "credential:"),
        false => ("secrets", "file:secrets/"),
    };
    let folder = config.with_file_name(folder);
    let first = match account {
        "home" => platform.to_owned(),
        account => format!("{platform}-{account}"),
    };
    let others = (2..).map(|number| format!("{first}-{number}"));
    let name = std::iter::once(first.clone()).chain(others).find(|name| is_free(&folder.join(name)));
    let name = name.unwrap_or(first);
    SecretPlace { file: folder.join(&name), pointer: format!("{prefix}{name}") }
}

/// The folder that a file is in.
pub(super) fn beside(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn is_free(file: &Path) -> bool {
    file.symlink_metadata().is_err()
}

/// A file that was made just now, and goes again unless it is kept.
pub(super) struct Made {
    path: PathBuf,
    kept: bool,
}

impl Made {
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.kept {
            // Whatever failed is said already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes a file of this mode that was not there.
pub(super) fn make(path: &Path) -> Result<(File, Made), Failed> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failed::Refused(format!("{} is there already, and is not overwritten", path.display()))
        }
        _ => Failed::Refused(format!("cannot write {}: {error}", path.display())),
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(beside(path)).map_err(failed)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    Ok((file, Made { path: path.to_owned(), kept: false }))
}

/// Writes a secret to its place.
pub(super) fn write_secret(place: &SecretPlace, secret: &Secret) -> Result<Made, Failed> {
    let (mut file, made) = make(&place.file)?;
    fill(&mut file, &format!("{}\n", secret.expose()), &place.file)?;
    Ok(made)
}

/// Writes all of a file, to the disk.
pub(super) fn fill(file: &mut File, text: &str, path: &Path) -> Result<(), Failed> {
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| Failed::Refused(format!("cannot write {}: {error}", path.display())))
}

/// Puts a text in the place of the configuration, with the mode and the owner that it had; a new one is its owner's alone, and the
/// service's its group's too. `before` must still stand there: another may have written meanwhile.
pub(super) fn replace(config: &Path, before: Option<&str>, text: &str) -> Result<(), Failed> {
    let failed = |error: io::Error| Failed::Refused(format!("cannot write {}: {error}", config.display()));
    // A link stays one: what it leads to is replaced.
    let path = config.canonicalize().unwrap_or_else(|_| config.to_owned());
    let now = match fs::read_to_string(&path) {
        Ok(now) => Some(now),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if now.as_deref() != before {
        return Err(Failed::Refused(format!(
            "{} was changed by somebody else meanwhile; nothing was written: run it again",
            config.display()
        )));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}.{}", crate::random::hex::<4>()));
    let (mut file, made) = make(&temporary)?;
    fill(&mut file, text, config)?;
    let (mode, owner, group) = match fs::metadata(&path) {
        Ok(found) => (found.mode() & 0o7777, Some(found.uid()), Some(found.gid())),
        Err(_) if is_services(config) => {
            (0o640, None, fs::metadata(beside(config)).ok().map(|folder| folder.gid()))
        }
        Err(_) => (0o600, None, None),
    };
    // Only root can give a file away; for all others it is theirs.
    if fs::metadata(&temporary).is_ok_and(|new| Some(new.uid()) != owner || Some(new.gid()) != group) {
        fchown(&file, owner, group).map_err(failed)?;
    }
    file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
    fs::rename(&temporary, &path).map_err(failed)?;
    made.keep();
    File::open(beside(&path)).and_then(|folder| folder.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_secret_gets_a_file_of_its_own_that_nobody_else_reads_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("gatepost.toml");
        for (account, pointer) in [
            ("home", "file:secrets/telegram"),
            ("home", "file:secrets/telegram-2"),
            ("work", "file:secrets/telegram-work"),
        ] {
            let place = place(&config, "telegram", account);
            assert_eq!(place.pointer, pointer);
            write_secret(&place, &Secret::from("1:a")).unwrap().keep();
            assert_eq!(
                (mode(&place.file), fs::read_to_string(&place.file).unwrap().as_str()),
                (0o600, "1:a\n")
            );
        }
        let of_service = place(Path::new(paths::SERVICE_FILE), "telegram", "home");
        assert!(of_service.pointer.starts_with("credential:telegram"));
        let taken = folder.path().join("secrets/telegram");
        assert!(make(&taken).err().unwrap().to_string().contains("not overwritten"));
        drop(make(&folder.path().join("half")).unwrap());
        assert!(!folder.path().join("half").exists(), "what is not kept goes");
    }

    #[test]
    fn a_configuration_keeps_its_mode_and_its_link_and_a_new_one_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("gatepost.toml"));
        replace(&real, None, "a").unwrap();
        assert_eq!((mode(&real), fs::read_to_string(&real).unwrap().as_str()), (0o600, "a"));
        fs::set_permissions(&real, Permissions::from_mode(0o644)).unwrap();
        symlink(&real, &link).unwrap();
        replace(&link, Some("a"), "b").unwrap();
        assert_eq!((mode(&real), fs::read_to_string(&real).unwrap().as_str()), (0o644, "b"));
        assert!(link.is_symlink());
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("gatepost.toml");
        fs::write(&config, "theirs").unwrap();
        for before in [None, Some("mine")] {
            let error = replace(&config, before, "new").unwrap_err().to_string();
            assert!(error.contains("meanwhile"), "{error}");
        }
        assert_eq!(fs::read_to_string(&config).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

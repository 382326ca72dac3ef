//! Which files belong to a configuration: what it names beneath its own folder, and its folder of credentials.
//!
//! The configuration itself holds no secret by value ([`crate::settings::secret`]), so it goes into every backup. What it points
//! to may be one, whatever its key is called, so that goes only where all is sealed. What lies outside of the
//! configuration's folder has no place on another machine that we could know: it is named, and left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::{entry::is_plain, error::ArchiveError};
use crate::{
    config::{MAX_FILE_BYTES, paths::DEFAULT_FILE},
    settings::file::read,
};

/// The folder of credentials beside a configuration.
const CREDENTIALS: &str = "credentials";
/// Files that are taken along at most.
const MAX_FILES: usize = 1_000;

/// Bytes of all files of a configuration at most.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A configuration, and the files that go along with it. They may be for root alone, who reads them before all else.
#[derive(Debug)]
pub struct Configuration {
    /// Their names beneath the configuration's folder, its own first.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// Files that are not among them.
    pub(super) left_out: Vec<String>,
}

impl Configuration {
    /// The configuration at `path`, whose text this is. `secrets`: whether what it points to goes along.
    ///
    /// # Errors
    /// A file cannot be read, or there is too much.
    pub fn read(path: &Path, text: &str, secrets: bool) -> Result<Self, ArchiveError> {
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name));
        let own = name.unwrap_or(DEFAULT_FILE).to_owned();
        let Named { beneath, left_out } = Named::of(path, text, secrets)?;
        let shown = |path: PathBuf| path.display().to_string();
        let mut files = vec![(own, text.as_bytes().to_vec())];
        if !secrets {
            let left_out = beneath.into_values().chain(left_out).map(shown).collect();
            return Ok(Self { files, left_out });
        }
        let mut sum = 0;
        for (name, file) in beneath {
            match read(&file, MAX_FILE_BYTES) {
                Ok(bytes) => {
                    sum += bytes.len();
                    files.push((name, bytes));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(ArchiveError::Unreadable(file, io::Error::other(error))),
            }
            if sum > MAX_BYTES {
                return Err(ArchiveError::TooLarge(format!("all that is beside {}", path.display())));
            }
        }
        Ok(Self { files, left_out: left_out.into_iter().map(shown).collect() })
    }
}

/// The files that belong to a configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// Beneath its folder, by their path from there.
    pub(super) beneath: BTreeMap<String, PathBuf>,
    /// Named by it, and left out: outside of the folder, too large, or with a name that has no
    /// place in a backup.
    pub(super) left_out: BTreeSet<PathBuf>,
}

impl Named {
    /// Those of the configuration at `path`, whose text is `text`.
    ///
    /// # Errors
    /// The folder of credentials cannot be read.
    pub(super) fn of(path: &Path, text: &str, secrets: bool) -> Result<Self, ArchiveError> {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut found = Self::default();
        let mut named = vec![];
        // It has been read before, so it is TOML.
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        texts(&toml::Value::Table(table), &mut named);
        for text in named {
            let file = text.strip_prefix("file:").unwrap_or(&text);
            found.consider(folder, Path::new(file));
        }
        let credentials = folder.join(CREDENTIALS);
        let unreadable = |error| ArchiveError::Unreadable(credentials.clone(), error);
        match fs::read_dir(&credentials) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // The hub's own user may not look into it, and nothing of it is wanted.
            Err(_) if !secrets => drop(found.left_out.insert(credentials.clone())),
            entries => {
                for entry in entries.map_err(unreadable)? {
                    let name = entry.map_err(unreadable)?.file_name();
                    found.consider(folder, &Path::new(CREDENTIALS).join(name));
                }
            }
        }
        found.beneath.retain(|_, file| file != path);
        match found.beneath.len() {
            ..=MAX_FILES => Ok(found),
            _ => Err(ArchiveError::TooLarge(format!("the list of files beside {}", path.display()))),
        }
    }

    fn consider(&mut self, folder: &Path, file: &Path) {
        let whole = folder.join(file);
        let Some(found) = fs::metadata(&whole).ok().filter(fs::Metadata::is_file) else { return };
        if found.len() > MAX_FILE_BYTES {
            // A program, if anything.
            self.left_out.insert(whole);
            return;
        }
        let relative = whole.strip_prefix(folder).ok().and_then(Path::to_str);
        match relative.map(|path| path.strip_prefix("./").unwrap_or(path)).filter(|path| is_plain(path)) {
            Some(path) => drop(self.beneath.insert(path.to_owned(), whole)),
            None => drop(self.left_out.insert(whole)),
        }
    }
}

/// Every text in a configuration.
fn texts(value: &toml::Value, into: &mut Vec<String>) {
    match value {
        toml::Value::String(text) => into.push(text.clone()),
        toml::Value::Array(values) => values.iter().for_each(|value| texts(value, into)),
        toml::Value::Table(table) => table.values().for_each(|value| texts(value, into)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_beneath_the_folder_goes_along_and_what_lies_elsewhere_is_named() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
        fs::create_dir_all(folder.path().join("credentials")).unwrap();
        fs::create_dir_all(folder.path().join("tls")).unwrap();
        for file in ["credentials/mail", "token", "tls/key.pem", "unnamed", "gatepost.toml"] {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        let text = format!(
            "a = \"file:token\"\nb = [\"tls/key.pem\", \"tls\"]\nc.d = \"file:{}\"\ne = \"file:gone\"\nf = \"gatepost.toml\"",
            elsewhere.path().display()
        );
        let found = Named::of(&folder.path().join("gatepost.toml"), &text, true).unwrap();
        assert_eq!(found.beneath.keys().collect::<Vec<_>>(), ["credentials/mail", "tls/key.pem", "token"]);
        assert_eq!(found.left_out, BTreeSet::from([elsewhere.path().to_owned()]));
    }
}

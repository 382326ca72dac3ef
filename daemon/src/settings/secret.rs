//! Secrets: named in the configuration, never written in it.
//!
//! A configuration file is copied, backed up and pasted into bug reports; a token in it would go along. So a secret
//! is always a pointer (`file:`, `env:`, `credential:`), read when what uses it is opened, and nothing that holds one can
//! print it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer};

use super::{
    file::{FileError, read_text},
    readers::{ReadByAll, Readers, refuse_everybodys},
};

/// The variable in which systemd tells a unit where its credentials are.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The longest secret that is read, in bytes. Real tokens have a few hundred.
const MAX_SECRET_BYTES: usize = 16 * 1024;

/// The longest file with a secret in it, in bytes: a key of many lines, or a token with much white space behind it.
const MAX_SECRET_FILE_BYTES: u64 = 64 * 1024;

/// Where a secret is to be found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum SecretSource {
    /// `file:/path`, the file's content without the white space at its end.
    File(PathBuf),
    /// `env:NAME`, an environment variable.
    Env(String),
    /// `credential:NAME`, a systemd credential (`LoadCredential=` in the unit).
    Credential(String),
}

/// A secret's value. Prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a secret cannot be had. Never contains any part of one.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The value is not a pointer.
    #[error(
        "a secret is never written into the configuration: use \"file:PATH\", \"env:NAME\" or \"credential:NAME\""
    )]
    Inline,
    /// The file cannot be read.
    #[error("{}{}", said(.error), make(.error))]
    File {
        /// The file, and what is wrong with it.
        #[from]
        error: FileError,
    },
    /// The variable is not set.
    #[error("the environment variable {0} is not set")]
    Env(String),
    /// The hub does not run under systemd, or the unit loads no such credential.
    #[error(
        "no systemd credential {0}: put it into a file {0} (a regular file, no link) in the folder credentials beside the configuration, \
         or set LoadCredential={0}:PATH in the unit, and restart the hub; outside of the unit only root can read it"
    )]
    Credential(String),
    /// There is a source, but what it holds cannot be a secret.
    #[error("the secret in {0} is empty, too long, or has a line break in it")]
    Unusable(String),
}

fn said(error: &FileError) -> String {
    match error {
        FileError::Io(path, error) => format!("cannot read the secret in {}: {error}", path.display()),
        error => format!("a secret's file: {error}"),
    }
}

/// How to make a file of a secret that is not there.
fn make(error: &FileError) -> String {
    let path = match error {
        FileError::Io(path, error) if error.kind() == io::ErrorKind::NotFound => path,
        _ => return String::new(),
    };
    let folder = match path.parent().filter(|folder| !folder.exists()) {
        Some(folder) => format!("mkdir -p {}; ", folder.display()),
        None => String::new(),
    };
    format!(" (make it, end with Ctrl-D: (umask 077; {folder}cat > {}))", path.display())
}

impl TryFrom<String> for SecretSource {
    type Error = SecretError;

    fn try_from(text: String) -> Result<Self, SecretError> {
        match text.split_once(':') {
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("env", name)) if !name.is_empty() => Ok(Self::Env(name.into())),
            Some(("credential", name)) if !name.is_empty() && !name.contains('/') => {
                Ok(Self::Credential(name.into()))
            }
            _ => Err(SecretError::Inline),
        }
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Env(name) => write!(f, "env:{name}"),
            Self::Credential(name) => write!(f, "credential:{name}"),
        }
    }
}

impl SecretSource {
    /// Reads the secret.
    pub fn read(&self) -> Result<Secret, SecretError> {
        let value = self.read_whole()?;
        let value = value.trim_end();
        if value.is_empty() || value.len() > MAX_SECRET_BYTES || value.contains(['\n', '\r']) {
            return Err(SecretError::Unusable(self.to_string()));
        }
        Ok(Secret(value.to_owned()))
    }

    /// Reads all that is there: some secrets are files with many lines.
    pub fn read_whole(&self) -> Result<String, SecretError> {
        let file = |path: &Path| read_text(path, MAX_SECRET_FILE_BYTES).map_err(SecretError::from);
        match self {
            Self::File(path) => file(path),
            Self::Env(name) => std::env::var(name).map_err(|_| SecretError::Env(name.clone())),
            Self::Credential(name) => {
                let directory =
                    std::env::var_os(CREDENTIALS).ok_or_else(|| SecretError::Credential(name.clone()))?;
                // systemd makes the folder anew at each start, of what lies where the unit says.
                match file(&loaded(Path::new(&directory), name)) {
                    Err(SecretError::File { error }) if error.kind() == io::ErrorKind::NotFound => {
                        Err(SecretError::Credential(name.clone()))
                    }
                    read => read,
                }
            }
        }
    }

    /// Refuses one that everybody on this machine can read.
    pub fn refuse_everybodys(&self) -> Result<(), ReadByAll> {
        match self {
            Self::File(path) => refuse_everybodys(path),
            Self::Env(_) | Self::Credential(_) => Ok(()),
        }
    }

    /// What is not right with where it is kept, and does not forbid its use.
    pub fn warning(&self) -> Option<String> {
        let Self::File(path) = self else { return None };
        let readers = Readers::of(path).ok()?;
        let path = path.display();
        match readers {
            Readers::Group => {
                Some(format!("the group of {path} can read the secret in it: chmod 600 {path}"))
            }
            Readers::Everybody | Readers::Nobody => None,
        }
    }

    /// The same source, its file beneath this folder if its path is relative. Outside of a unit, as in a command at a shell, a
    /// credential is the file from which the packaged unit loads it: the one of its name in `credentials`, in this folder.
    #[must_use]
    pub fn beneath(self, folder: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(folder.join(path)),
            Self::Credential(name) if std::env::var_os(CREDENTIALS).is_none() => {
                let file = folder.join("credentials").join(&name);
                if file.exists() { Self::File(file) } else { Self::Credential(name) }
            }
            other => other,
        }
    }

    /// Reads a key of the configuration that may be a path as well.
    ///
    /// # Errors
    /// It is no text.
    pub fn or_path<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Self>, D::Error> {
        let text = Option::<String>::deserialize(value)?;
        Ok(text.map(|text| Self::try_from(text.clone()).unwrap_or_else(|_| Self::File(text.into()))))
    }
}

/// Where systemd has put a credential: under its name, or under the one that it has in the packaged unit, which loads a whole folder as
/// `gatepost` (<https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#LoadCredential=ID:PATH>: `ID_FILE`).
fn loaded(directory: &Path, name: &str) -> PathBuf {
    let of_folder = directory.join(format!("gatepost_{name}"));
    if of_folder.exists() { of_folder } else { directory.join(name) }
}

impl Secret {
    /// The value, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_secret_written_inline_is_refused() {
        for text in ["xoxb-123", "", "file:", "http://x", "credential:../etc"] {
            assert!(matches!(SecretSource::try_from(text.to_owned()), Err(SecretError::Inline)), "{text}");
        }
    }

    #[test]
    fn a_secret_file_is_read_without_its_last_line_break() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "s3cret\n").unwrap();
        let secret = SecretSource::File(file.path().into()).read().unwrap();
        assert_eq!(secret.expose(), "s3cret");
        assert_eq!(format!("{secret:?}"), "***");
    }

    #[test]
    fn a_secret_that_everybody_can_read_is_refused_with_the_command_that_mends_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "s3cret").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        set(folder.path(), 0o755);
        set(&path, 0o644);
        let source = SecretSource::File(path.clone());
        let error = source.refuse_everybodys().unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("chmod 600 {}", path.display())) && !error.contains("s3cret"),
            "{error}"
        );
        set(&path, 0o600);
        assert!(source.refuse_everybodys().is_ok());
        assert_eq!(source.warning(), None);
        let missing = SecretSource::File("secrets/none".into()).beneath(folder.path()).read().unwrap_err();
        let wanted =
            format!("(umask 077; mkdir -p {0}; cat > {0}/none)", folder.path().join("secrets").display());
        assert!(missing.to_string().contains(&wanted), "{missing}");
    }

    #[test]
    fn a_missing_secret_says_where_it_should_be() {
        let error = SecretSource::Env("GATEPOST_NO_SUCH_VARIABLE".into()).read().unwrap_err();
        assert!(error.to_string().contains("GATEPOST_NO_SUCH_VARIABLE"));
    }
}

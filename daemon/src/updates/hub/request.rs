//! What the hub asks of its helper: a file of a few words, which the helper does not trust.
//!
//! The hub's user can write the folder, so whoever takes over the hub can put anything there: a link to a file of root's, a pipe that
//! never ends, a file without an end. The helper opens the file beneath the folder without following links, reads [`MAX_BYTES`] of a
//! regular file, and takes only what [`Request`] says. At worst it installs a newer version that is signed as any other is.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::INTAKE;
use crate::{random, store::private_file};

/// The file's name. `gatepost-update.path` looks for it.
pub const NAME: &str = "hub.request";
/// The longest request, in bytes.
pub const MAX_BYTES: u64 = 512;
/// The longest version, in bytes.
const MAX_VERSION: usize = 40;

/// The version that is wished: three numbers, and what comes after `-` in one before a release (`1.0.0-rc.1`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Wished(String);

impl Wished {
    /// The version in a text, if it is one.
    pub fn new(text: &str) -> Option<Self> {
        let (numbers, before) =
            text.split_once('-').map_or((text, None), |(numbers, rest)| (numbers, Some(rest)));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let fits = text.len() <= MAX_VERSION
            && numbers.split('.').count() == 3
            && numbers.split('.').all(is_number)
            && before.is_none_or(|before| before.split('.').all(is_word));
        fits.then(|| Self(text.to_owned()))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As packages have it: Debian sorts `~` before everything, and a package has a revision, whichever.
    pub(super) fn of_package(&self) -> String {
        format!("{}-*", self.0.replacen('-', "~", 1))
    }
}

impl TryFrom<String> for Wished {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text).ok_or("a version is three numbers, such as 1.4.0")
    }
}

impl From<Wished> for String {
    fn from(wished: Wished) -> Self {
        wished.0
    }
}

/// A wish for an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// By which the report and the audit name it: 32 hexadecimal digits.
    id: String,
    /// The newest that there is, if none is named.
    pub version: Option<Wished>,
}

/// Why a request is not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// It could not be read.
    #[error("cannot read the request: {0}")]
    Io(#[from] io::Error),
    /// It is none.
    #[error("what lies in the place of the request is none")]
    NoRequest,
}

impl From<Errno> for NotTaken {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl Request {
    /// A new one.
    pub fn new(version: Option<Wished>) -> Self {
        Self { id: random::hex::<16>(), version }
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Puts it where the helper finds it, in the place of one that was not taken yet.
    ///
    /// # Errors
    /// The disk's.
    pub fn put(&self, intake: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(intake)?;
        private_file::write(&intake.join(NAME), &serde_json::to_vec(self)?)
    }

    /// Takes the request in a data directory, if there is one: it is gone then, whatever it is.
    ///
    /// # Errors
    /// It is none, or cannot be read.
    pub(super) fn take(data: &Path) -> Result<Option<Self>, NotTaken> {
        let Some(intake) = open_intake(data)? else { return Ok(None) };
        let opened = open_beneath(&intake, NAME);
        match opened {
            Err(Errno::NOENT) => return Ok(None),
            _ => remove(&intake)?,
        }
        // A link is ELOOP, a socket ENXIO (open(2)).
        let file = opened.map_err(|_| NotTaken::NoRequest)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return Err(NotTaken::NoRequest);
        }
        let mut bytes = vec![];
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        let request: Self = serde_json::from_slice(&bytes).map_err(|_| NotTaken::NoRequest)?;
        match request.id.len() == 32 && request.id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            true => Ok(Some(request)),
            false => Err(NotTaken::NoRequest),
        }
    }
}

/// Opens the bundle in a data directory: a regular file with one name, and how long it is.
///
/// # Errors
/// It is not there, or is something else.
pub(super) fn open_bundle(data: &Path) -> io::Result<(File, u64)> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is none");
    let intake = open_intake(data)?.ok_or_else(missing)?;
    let file = open_beneath(&intake, super::BUNDLE)?;
    let metadata = file.metadata()?;
    match metadata.is_file() && metadata.nlink() == 1 {
        true => Ok((file, metadata.len())),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no file of its own")),
    }
}

/// The data directory's parent is root's, so it is what it seems to be; what is in it may be a link.
fn open_intake(data: &Path) -> io::Result<Option<File>> {
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let open =
        |beneath: std::os::fd::BorrowedFd<'_>, path: &Path| openat(beneath, path, folder, Mode::empty());
    let opened = open(CWD, data).and_then(|data| open(std::os::fd::AsFd::as_fd(&data), Path::new(INTAKE)));
    match opened {
        Ok(intake) => Ok(Some(intake.into())),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn open_beneath(intake: &File, name: &str) -> Result<File, Errno> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::RDONLY;
    openat(intake, name, flags, Mode::empty()).map(File::from)
}

/// Whatever lies there, it lies there no more: otherwise the path unit starts the helper for it again at once. A folder with something
/// in it gets another name, and is left to the hub's user, whose it is.
fn remove(intake: &File) -> io::Result<()> {
    match unlinkat(intake, NAME, AtFlags::empty()) {
        Err(Errno::ISDIR) => match unlinkat(intake, NAME, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => {
                Ok(renameat(intake, NAME, intake, format!("{NAME}.{}", random::hex::<8>()))?)
            }
            other => Ok(other?),
        },
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    fn data() -> (tempfile::TempDir, std::path::PathBuf) {
        let data = tempfile::tempdir().unwrap();
        let intake = data.path().join(INTAKE);
        fs::create_dir(&intake).unwrap();
        (data, intake)
    }

    #[test]
    fn a_request_is_taken_once_and_as_it_was_put() {
        let (data, intake) = data();
        assert_eq!(Request::take(data.path()).unwrap(), None);
        assert_eq!(Request::take(&data.path().join("none")).unwrap(), None);
        for version in [None, Wished::new("1.4.0")] {
            let request = Request::new(version);
            request.put(&intake).unwrap();
            assert_eq!(Request::take(data.path()).unwrap(), Some(request));
            assert_eq!(Request::take(data.path()).unwrap(), None);
        }
    }

    #[test]
    fn what_is_no_request_is_taken_away_and_not_followed() {
        let (data, intake) = data();
        let elsewhere = data.path().join("elsewhere");
        Request::new(None).put(data.path()).unwrap();
        fs::rename(data.path().join(NAME), &elsewhere).unwrap();
        let place = intake.join(NAME);
        let refused = |what: &str| {
            let taken = Request::take(data.path());
            assert!(matches!(taken, Err(NotTaken::NoRequest)), "{what}: {taken:?}");
            assert!(place.symlink_metadata().is_err(), "{what} is left");
        };
        symlink(&elsewhere, &place).unwrap();
        refused("a link");
        assert!(elsewhere.exists());
        assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
        refused("a pipe");
        fs::create_dir(&place).unwrap();
        refused("a folder");
        fs::create_dir_all(place.join("full")).unwrap();
        refused("a folder that is not empty");
        let id = "0".repeat(32);
        for text in [
            String::new(),
            "{}".into(),
            format!("{{\"id\":\"{id}\",\"version\":\"1.0.0; reboot\"}}"),
            format!("{{\"id\":\"{id}\",\"version\":null,\"kind\":\"image\"}}"),
            "{\"id\":\"../../etc/passwd\",\"version\":null}".into(),
            format!("{{\"id\":\"{id}\",\"version\":null}}{}", " ".repeat(512)),
        ] {
            fs::write(&place, &text).unwrap();
            refused(&text);
        }
        // The folder itself may be a link.
        fs::remove_dir_all(&intake).unwrap();
        symlink("/", &intake).unwrap();
        assert!(matches!(Request::take(data.path()), Err(NotTaken::Io(_))));
    }

    #[test]
    fn a_bundle_is_a_file_of_its_own() {
        let (data, intake) = data();
        assert_eq!(open_bundle(data.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        let (other, bundle) = (data.path().join("other"), intake.join(super::super::BUNDLE));
        fs::write(&other, "12345").unwrap();
        fs::hard_link(&other, &bundle).unwrap();
        assert!(open_bundle(data.path()).is_err(), "it may be a file of root's");
        fs::remove_file(&bundle).unwrap();
        symlink(&other, &bundle).unwrap();
        assert!(open_bundle(data.path()).is_err());
        fs::remove_file(&bundle).unwrap();
        fs::write(&bundle, "1234").unwrap();
        assert_eq!(open_bundle(data.path()).unwrap().1, 4);
    }

    #[test]
    fn a_version_has_three_numbers_and_nothing_that_a_program_would_read_as_something_else() {
        for good in ["0.1.0", "10.20.30", "1.0.0-rc.1"] {
            assert_eq!(Wished::new(good).unwrap().as_str(), good);
        }
        assert_eq!(Wished::new("1.0.0-rc.1").unwrap().of_package(), "1.0.0~rc.1-*");
        let long = format!("1.0.{}", "0".repeat(40));
        for bad in
            ["", "1", "1.0", "1.0.0.0", "1.0.x", "1.0.0-", "1.0.0-a b", "1.0.0-*", "-1.0.0", "1.0.0\n", &long]
        {
            assert_eq!(Wished::new(bad), None, "{bad:?}");
        }
    }
}

//! The files of releases: verified before they are stored, and once more when they are read.
//!
//! They lie in `data_dir/updates`, each under the hash of its bytes, readable by the hub alone. There are few, and none is long. The
//! hub has no key that could make one.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use gatepost_link::{
    Digest,
    update::{
        image,
        package::Package as Layout,
        root::{MAX_FILE_BYTES, Root, RootFile},
        rule::PRODUCT,
    },
};

use super::{
    hub,
    package::Package,
    roots::{Roots, RootsError},
    store::Release,
};
use crate::{
    random::to_hex,
    store::{now_ms, private_file},
};

/// The longest file of a release, in bytes.
pub const MAX_FILE: usize = 4 * 1024 * 1024;
/// Files that are kept.
pub const MAX_RELEASES: usize = 16;

/// The root that was compiled in: a root's file, or nothing.
const EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/update-root"));

/// Why the hub's root cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The file cannot be read.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, io::Error),
    /// It is none.
    #[error("{} is not the file of a root that its own keys signed (gatepost-sign root new and root sign write one)", .0.display())]
    NoRoot(PathBuf),
}

/// Why a release is not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The hub does not know whose releases to take.
    #[error(
        "this hub has no root, so it cannot tell whose releases to take: set [updates] root to the file of yours, and restart the hub"
    )]
    NoRoot,
    /// The file is too long.
    #[error("a release has at most {MAX_FILE} bytes")]
    TooLong,
    /// It is none, or not one of those that are trusted.
    #[error("{0}")]
    Roots(#[from] RootsError),
    /// It is for something else.
    #[error("it is for {0}, and not for companions")]
    Product(String),
    /// Companions that look refuse it, and those that do not would run another version than the hub believes.
    #[error(
        "it was signed as version {0}, and its image says that it is {1}: sign it anew with the version of the image"
    )]
    OtherVersion(String, String),
    /// No companion would take it.
    #[error("it expired at {0}: companions do not take it any more")]
    Expired(String),
    /// There is another of its name.
    #[error(
        "there is another release {0} for {1}: a version is given once; have this one signed as another version"
    )]
    Taken(String, String),
    /// There is no room.
    #[error(
        "{MAX_RELEASES} releases are kept, and each is rolled out: roll a newer one out in the place of one of them first"
    )]
    Full,
    /// The disk.
    #[error("cannot store it in {}: {}", .0.display(), .1)]
    Disk(PathBuf, io::Error),
    /// The database.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
}

/// The folder, and whose releases are taken.
#[derive(Debug)]
pub struct Releases {
    directory: PathBuf,
    root: Option<RootFile>,
}

impl Releases {
    /// In the data directory; taken are releases of the root in this file, or else of the one that was compiled in.
    ///
    /// # Errors
    /// The root cannot be used.
    pub fn open(data_dir: &Path, root: Option<&Path>) -> Result<Self, RootError> {
        let root = match root {
            Some(path) => Some(read_root(path)?),
            None => RootFile::from_bytes(EMBEDDED).filter(|file| file.signed_by_itself().is_some()),
        };
        Ok(Self { directory: data_dir.join(hub::INTAKE), root })
    }

    /// The root of the configuration, or the one that was compiled in.
    pub fn root(&self) -> Option<&Root> {
        self.root.as_ref().map(RootFile::unverified)
    }

    /// Whose releases are taken, after these roots came with others; [`None`] if the hub takes none.
    pub fn roots(&self, seen: Vec<RootFile>) -> Option<Roots> {
        Some(Roots::new(self.root.clone()?, seen))
    }

    /// What a file is, if it is signed by whom the hub trusts, and the roots in it that are new. It takes as long as hashing the file
    /// four times.
    ///
    /// # Errors
    /// It is not taken.
    pub fn verified(
        &self,
        file: &[u8],
        known: Option<&Roots>,
        now: i64,
    ) -> Result<(Release, Vec<RootFile>), AddError> {
        let known = known.ok_or(AddError::NoRoot)?;
        if file.len() > MAX_FILE {
            return Err(AddError::TooLong);
        }
        let layout = Layout::read(file).map_err(RootsError::from)?;
        let judged = known.judge(&layout)?;
        let (root, manifest) = (judged.root, judged.verified.manifest());
        if manifest.product != PRODUCT {
            return Err(AddError::Product(manifest.product.to_string()));
        }
        match image::version(layout.image()) {
            Some(says) if says != manifest.version => {
                return Err(AddError::OtherVersion(manifest.version.to_string(), says.to_string()));
            }
            _ => {}
        }
        let seconds = u64::try_from(now / 1000).unwrap_or(0);
        let expires = match root.expires() {
            0 => manifest.expires,
            of_root => manifest.expires.min(of_root),
        };
        if seconds >= expires {
            return Err(AddError::Expired(super::utc(expires)));
        }
        let release = Release {
            seq: 0,
            board: manifest.board.to_string(),
            version: manifest.version,
            floor: manifest.floor,
            size: manifest.size,
            image: manifest.image.0,
            file: Digest::of(file).0,
            root: root.version(),
            expires,
            added_at: now_ms(),
        };
        Ok((release, judged.new))
    }

    /// Writes a file that was verified.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, release: &Release, file: &[u8]) -> Result<(), AddError> {
        let failed = |error| AddError::Disk(self.directory.clone(), error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(failed)?;
        private_file::write(&self.path(&release.file), file).map_err(failed)
    }

    /// A release in memory, verified once more by what is known now.
    ///
    /// # Errors
    /// Why it cannot be offered.
    pub fn load(&self, release: &Release, known: Option<&Roots>) -> Result<Package, String> {
        let file = self.read(release).map_err(|error| error.to_string())?;
        let known = known.ok_or("this hub has no root any more ([updates] root)")?;
        Package::verified(file, known, release.seq).map_err(|error| error.to_string())
    }

    /// The bytes of a release's file.
    ///
    /// # Errors
    /// The disk's, or somebody changed it.
    fn read(&self, release: &Release) -> io::Result<Vec<u8>> {
        let path = self.path(&release.file);
        if fs::metadata(&path)?.len() > MAX_FILE as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is longer than a release"));
        }
        fs::read(path)
    }

    /// Whether a release's file is there.
    pub fn has(&self, release: &Release) -> bool {
        self.path(&release.file).is_file()
    }

    /// Removes the files of all but these, if there are others.
    pub fn keep(&self, kept: &[Release]) {
        let names: HashSet<_> = kept.iter().map(|release| self.path(&release.file)).collect();
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if !names.contains(&path)
                && !hub::keeps(&path)
                && let Err(error) = fs::remove_file(&path)
            {
                tracing::warn!(file = %path.display(), %error, "cannot remove what no release needs");
            }
        }
    }

    fn path(&self, file: &[u8; 32]) -> PathBuf {
        self.directory.join(format!("{}.gpu", to_hex(file)))
    }
}

/// The root in a file, signed by its own keys.
fn read_root(path: &Path) -> Result<RootFile, RootError> {
    let failed = |error| RootError::Read(path.to_owned(), error);
    let none = || RootError::NoRoot(path.to_owned());
    if fs::metadata(path).map_err(failed)?.len() > MAX_FILE_BYTES as u64 {
        return Err(none());
    }
    let file = RootFile::from_bytes(&fs::read(path).map_err(failed)?).ok_or_else(none)?;
    if file.signed_by_itself().is_some() { Ok(file) } else { Err(none()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use gatepost_link::update::{
        Label,
        image::{FLAT_MAGIC, FLAT_VERSION_AT},
    };

    use super::{
        super::testing::{Fixture, root_file},
        *,
    };

    const NOW: i64 = 1_790_000_000_000;

    /// What a file is for a hub that has seen no root but its own.
    fn verified(releases: &Releases, file: &[u8]) -> Result<Release, AddError> {
        let known = releases.roots(vec![]);
        releases.verified(file, known.as_ref(), NOW).map(|(release, _)| release)
    }

    fn releases(folder: &Path) -> Releases {
        let file = folder.join("root");
        fs::write(&file, root_file(1).to_bytes(&mut [0; MAX_FILE_BYTES])).unwrap();
        Releases::open(folder, Some(&file)).unwrap()
    }

    #[test]
    fn a_release_is_stored_only_if_the_root_vouches_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let releases = releases(folder.path());
        let fixture = || Fixture::new("1.1.0", 10_000);
        let release = verified(&releases, &fixture().file()).unwrap();
        assert_eq!((release.board.as_str(), release.version.to_string()), ("esp32c3", "1.1.0".into()));
        assert_eq!(verified(&releases, &fixture().with_roots(3).file()).unwrap().root, 3);
        let said = |file: &[u8]| verified(&releases, file).unwrap_err().to_string();
        let foreign = fixture().signed_by(9);
        assert_eq!(said(&foreign), "it is not signed by the keys that are trusted");
        assert_eq!(said(b"ELF"), "this is not a release of firmware, or it is damaged");
        assert!(said(&vec![0; MAX_FILE + 1]).contains("4194304 bytes"));
        let other = fixture().with(|manifest| manifest.product = Label::new("toaster").unwrap());
        assert_eq!(said(&other.file()), "it is for toaster, and not for companions");
        let another = |image: &mut [u8]| {
            image[..FLAT_MAGIC.len()].copy_from_slice(&FLAT_MAGIC);
            image[FLAT_VERSION_AT..FLAT_VERSION_AT + 6].copy_from_slice(&[1, 0, 0, 0, 9, 0]);
        };
        let says = said(&fixture().with_image(another).file());
        assert!(
            says.starts_with("it was signed as version 1.1.0, and its image says that it is 1.0.9"),
            "{says}"
        );
        let old = fixture().with(|manifest| manifest.expires = 1_700_000_000);
        assert!(said(&old.file()).starts_with("it expired at 2023-11-14"));
    }

    #[test]
    fn a_hub_without_a_root_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let without = Releases { directory: folder.path().into(), root: None };
        let said = verified(&without, &Fixture::new("1.1.0", 10).file()).unwrap_err().to_string();
        assert!(said.contains("set [updates] root"), "{said}");
        let file = folder.path().join("root");
        assert!(matches!(Releases::open(folder.path(), Some(&file)), Err(RootError::Read(..))));
        fs::write(&file, "not a root").unwrap();
        assert!(matches!(Releases::open(folder.path(), Some(&file)), Err(RootError::NoRoot(_))));
    }

    #[test]
    fn files_are_the_hubs_alone_and_go_when_no_release_needs_them() {
        let folder = tempfile::tempdir().unwrap();
        let releases = releases(folder.path());
        let (one, two) = (Fixture::new("1.1.0", 10_000).file(), Fixture::new("1.2.0", 9_000).file());
        let stored: Vec<Release> = [&one, &two]
            .map(|file| {
                let release = verified(&releases, file).unwrap();
                releases.write(&release, file).unwrap();
                release
            })
            .into();
        let mode = fs::metadata(releases.path(&stored[0].file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(releases.read(&stored[0]).unwrap(), one);
        releases.keep(&stored[1..]);
        assert!(!releases.has(&stored[0]) && releases.has(&stored[1]));
        assert!(releases.read(&stored[0]).is_err());
    }
}

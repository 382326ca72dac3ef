//! The roots that the hub knows: that of its configuration, and those that came with releases and follow it.
//!
//! A root replaces the one before it: keys that it does not name are void, for companions that have it. So the hub keeps the latest that
//! it has verified, and takes nothing that only an older one vouches for. All roots of a file are judged, also those that the hub needs
//! no more: a companion that needs one cannot come past a damaged one. Whether the root before the hub's own signed it, the hub cannot
//! tell; it compares it with what it has.

use gatepost_link::update::{
    package::{Package as Layout, PackageError},
    root::{Root, RootFile},
    signed::Verified,
};

/// Why a release is not taken by the roots that are known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// It is no release, or its manifest is signed by nobody who is trusted.
    #[error("{0}")]
    Package(#[from] PackageError),
    /// It was signed by a root that is void.
    #[error(
        "it is signed by keys of root {0}, and root {1} has replaced that: companions that have root {1} do not take it. Have it signed by \
         the keys of root {1}"
    )]
    Replaced(u32, u32),
    /// A root in it is none that a companion takes.
    #[error(
        "the root {0} in it is damaged, or does not follow the one before it: companions cannot come past it. Get the release from those \
         who sign it, with the roots as they were signed"
    )]
    Broken(u32),
}

/// What the roots say of a release.
#[derive(Debug)]
pub struct Judged {
    /// The first of the roots whose keys signed it.
    pub root: Root,
    /// What was signed.
    pub verified: Verified,
    /// Roots that came with it, and that the hub has not known.
    pub new: Vec<RootFile>,
}

/// Roots that follow each other. There is at least one.
#[derive(Debug, Clone)]
pub struct Roots(Vec<RootFile>);

impl Roots {
    /// The configured root, signed by itself, and those of `seen` that follow it; others are of another family, or from before it.
    pub fn new(configured: RootFile, seen: impl IntoIterator<Item = RootFile>) -> Self {
        let mut roots = Self(vec![configured]);
        roots.append(seen);
        roots
    }

    fn append(&mut self, files: impl IntoIterator<Item = RootFile>) {
        for file in files {
            if file.after(self.latest()).is_some() {
                self.0.push(file);
            }
        }
    }

    /// The one of the configuration.
    pub fn first(&self) -> &Root {
        self.0[0].unverified()
    }

    /// The one by which releases are taken.
    pub fn latest(&self) -> &Root {
        self.0[self.0.len() - 1].unverified()
    }

    /// Their files, with their signatures.
    pub fn files(&self) -> &[RootFile] {
        &self.0
    }

    /// Judges a release, and all roots in its file.
    ///
    /// # Errors
    /// It is not taken.
    pub fn judge(&self, release: &Layout<'_>) -> Result<Judged, RootsError> {
        // The first whose keys signed it: a companion that has that one needs none of the others.
        let by_first = release.verified(self.first());
        let (last, by_latest) = match (release.verified(self.latest()), &by_first) {
            (Err(PackageError::Signature), Ok((root, _))) => {
                return Err(RootsError::Replaced(root.version(), self.latest().version()));
            }
            (judged, _) => judged?,
        };
        if let Some(version) = self.broken(release) {
            return Err(RootsError::Broken(version));
        }
        let (root, verified) = by_first.unwrap_or((last, by_latest));
        let mut all = self.clone();
        all.append(release.roots());
        Ok(Judged { root, verified, new: all.0.split_off(self.0.len()) })
    }

    /// The first root in the file that does not follow the one before it, or is not the one that the hub knows.
    fn broken(&self, release: &Layout<'_>) -> Option<u32> {
        let mut before: Option<Root> = None;
        for file in release.roots() {
            let version = file.unverified().version();
            let before_it =
                before.as_ref().or_else(|| self.of(version.checked_sub(1)?).map(RootFile::unverified));
            let follows = match before_it {
                Some(before) => file.after(before),
                None if version <= self.first().version() => file.signed_by_itself(),
                None => None,
            };
            let is_known = self.of(version).is_none_or(|known| is_same(known, &file));
            if follows.is_none() || !is_known {
                return Some(version);
            }
            before = Some(file.unverified().clone());
        }
        None
    }

    fn of(&self, version: u32) -> Option<&RootFile> {
        self.0.iter().find(|file| file.unverified().version() == version)
    }
}

/// Whether both are one root. One of them may have signatures that the other does not have yet.
fn is_same(one: &RootFile, other: &RootFile) -> bool {
    let within = |one: &RootFile, other: &RootFile| {
        one.signatures().iter().all(|signature| other.signatures().contains(signature))
    };
    one.unverified() == other.unverified() && (within(one, other) || within(other, one))
}

#[cfg(test)]
mod tests {
    use gatepost_link::update::root::MAX_FILE_BYTES;

    use super::{
        super::testing::{Fixture, root_file},
        *,
    };

    fn roots(configured: u32, seen: impl IntoIterator<Item = u32>) -> Roots {
        Roots::new(root_file(configured), seen.into_iter().map(root_file))
    }

    fn judge(roots: &Roots, file: &[u8]) -> Result<(u32, Vec<u32>), RootsError> {
        let judged = roots.judge(&Layout::read(file).unwrap())?;
        let new = judged.new.iter().map(|file| file.unverified().version()).collect();
        Ok((judged.root.version(), new))
    }

    #[test]
    fn what_only_an_older_root_vouches_for_is_not_taken_any_more() {
        let old = Fixture::new("1.1.0", 5_000);
        let new = Fixture::new("1.2.0", 5_000).with_roots(3);
        let before = roots(1, []);
        assert_eq!(judge(&before, &old.file()), Ok((1, vec![])));
        assert_eq!(judge(&before, &new.file()), Ok((3, vec![2, 3])));
        let after = roots(1, [2, 3]);
        assert_eq!(after.latest().version(), 3);
        assert_eq!(judge(&after, &old.file()), Err(RootsError::Replaced(1, 3)));
        assert_eq!(judge(&after, &new.file()), Ok((3, vec![])));
        // The roots between may be left out of it.
        assert_eq!(judge(&after, &old.signed_by(103)), Ok((3, vec![])));
        assert_eq!(judge(&after, &old.signed_by(9)), Err(PackageError::Signature.into()));
        assert_eq!(roots(1, [3]).latest().version(), 1, "none is skipped");
        assert_eq!(roots(3, [1, 2]).latest().version(), 3);
    }

    #[test]
    fn every_root_in_a_file_is_judged_also_those_that_the_hub_needs_no_more() {
        let file = Fixture::new("1.1.0", 5_000).with_roots(3).file();
        let length = root_file(2).to_bytes(&mut [0; MAX_FILE_BYTES]).len();
        let (second, third) = (5..5 + length, 5 + length..5 + 2 * length);
        for (configured, range, version) in [
            (1, second.clone(), 2),
            (1, third.clone(), 3),
            (2, second, 2),
            (2, third.clone(), 3),
            (3, third, 3),
        ] {
            let roots = roots(configured, []);
            assert!(judge(&roots, &file).is_ok());
            for at in range {
                let mut changed = file.clone();
                changed[at] ^= 0x10;
                let Ok(layout) = Layout::read(&changed) else { continue };
                let judged = roots.judge(&layout);
                assert!(
                    judged.is_err(),
                    "byte {at} of root {version}, at a hub with root {configured}: {judged:?}"
                );
            }
        }
        // By the keys of both roots, so that a damaged one between is not missed.
        let mut changed = Fixture::new("1.1.0", 5_000).with_roots(2).signed_by(101);
        changed[4 + length] ^= 0x10;
        assert_eq!(judge(&roots(1, []), &changed), Err(RootsError::Broken(2)));
        assert_eq!(
            judge(&roots(1, [2]), &Fixture::new("1.1.0", 5).with_roots(4).file()),
            Ok((4, vec![3, 4]))
        );
    }
}

//! The roots of a release: a device goes from the one that it knows to the last.

use gatepost_link::update::{
    package::MAX_ROOTS,
    root::{Root, RootFile},
};

use crate::roots;

/// Roots that follow one another, each signed by enough keys of itself and, behind the first, of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain(Vec<RootFile>);

impl Chain {
    /// Checks roots in any order.
    ///
    /// # Errors
    ///
    /// There is none, or too many; one is missing between the others, or one is not signed by enough keys.
    pub fn new(mut files: Vec<RootFile>) -> Result<Self, ChainError> {
        files.sort_by_key(|file| file.unverified().version());
        if files.is_empty() || files.len() > MAX_ROOTS {
            return Err(ChainError::Count { count: files.len() });
        }
        for (at, file) in files.iter().enumerate() {
            let version = file.unverified().version();
            let before = at.checked_sub(1).map(|at| files[at].unverified());
            let next = before.is_none_or(|before| before.version().checked_add(1) == Some(version));
            if !next {
                return Err(ChainError::Missing { before: version.saturating_sub(1), version });
            }
            if file.signed_by_itself().is_none() {
                return Err(ChainError::Unsigned { version, of: version });
            }
            if let Some(before) = before.filter(|before| file.after(before).is_none()) {
                return Err(ChainError::Unsigned { version, of: before.version() });
            }
        }
        Ok(Self(files))
    }

    /// The last root, whose keys sign releases.
    pub fn last(&self) -> &Root {
        self.0.last().expect("a chain has a root").unverified()
    }

    /// The version of the first root.
    pub(super) fn first(&self) -> u32 {
        self.0[0].unverified().version()
    }

    /// How many there are, and their files one behind the other.
    pub(super) fn to_bytes(&self) -> (u8, Vec<u8>) {
        let count = u8::try_from(self.0.len()).expect("a chain has at most 32 roots");
        (count, self.0.iter().flat_map(roots::to_bytes).collect())
    }
}

/// Why roots do not lead from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// There is none, or too many.
    #[error("a release has 1 to {MAX_ROOTS} roots, not {count}")]
    Count {
        /// How many were given.
        count: usize,
    },
    /// One is missing, or there twice.
    #[error(
        "root version {version} does not follow the one before it: give --root for each version once, {before} too"
    )]
    Missing {
        /// The version that should be there.
        before: u32,
        /// The version that is there.
        version: u32,
    },
    /// Too few have signed it.
    #[error(
        "root version {version} is not signed by enough root keys of version {of}: `gatepost-sign root show` says who is missing"
    )]
    Unsigned {
        /// Its version.
        version: u32,
        /// The root whose keys have not signed it.
        of: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        minisign::Secret,
        roots::{Change, first, next, sign},
    };

    fn secret(seed: u8) -> Secret {
        Secret::from_seed([seed; 32])
    }

    #[test]
    fn roots_lead_from_one_to_the_next() {
        let keys = [1, 2].map(|seed| secret(seed).public().key);
        let one = first((2, &keys), (1, &[secret(9).public().key]), 0).unwrap();
        let two = next(&one, &Change::default(), &Change::default(), None).unwrap();
        let three = next(&two, &Change::default(), &Change::default(), None).unwrap();
        let signed = |root: &Root, before: Option<&Root>, seeds: &[u8]| {
            let file = RootFile::new(root.clone(), &[]).unwrap();
            seeds.iter().fold(file, |file, seed| sign(&file, before, &secret(*seed)).unwrap().0)
        };
        let files = [
            signed(&one, None, &[1, 2]),
            signed(&two, Some(&one), &[1, 2]),
            signed(&three, Some(&two), &[1, 2]),
        ];
        let [first, second, third] = &files;
        let of = |files: &[&RootFile]| {
            Chain::new(files.iter().map(|file| (*file).clone()).collect()).map(|chain| chain.last().version())
        };
        assert_eq!(of(&[third, first, second]), Ok(3), "in any order");
        assert_eq!(of(&[third]), Ok(3));
        assert_eq!(of(&[]), Err(ChainError::Count { count: 0 }));
        assert_eq!(of(&[first; 33]), Err(ChainError::Count { count: 33 }));
        assert_eq!(of(&[first, third]), Err(ChainError::Missing { before: 2, version: 3 }));
        assert_eq!(of(&[first, first]), Err(ChainError::Missing { before: 0, version: 1 }));
        let half = signed(&two, Some(&one), &[1]);
        assert_eq!(of(&[first, &half]), Err(ChainError::Unsigned { version: 2, of: 2 }));
        let alone = signed(&two, None, &[1, 2]);
        assert_eq!(of(&[first, &alone]), Err(ChainError::Unsigned { version: 2, of: 1 }));
    }
}

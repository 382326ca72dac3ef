//! Roots: who may sign, from one version to the next.

use gatepost_link::{
    decision::{PublicKey, SignatureBytes},
    update::{
        root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Role, Root, RootFile, Signer},
        signed::{MAX_SIGNATURES, holds},
    },
};

use crate::minisign::{Public, Secret};

/// Keys of one purpose that are added and removed, and how many must sign from then on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// New keys.
    pub add: Vec<PublicKey>,
    /// Keys that sign no more.
    pub remove: Vec<PublicKey>,
    /// How many must sign; as before if it is not given.
    pub threshold: Option<u8>,
}

impl Change {
    fn of<const N: usize>(&self, kind: Kind, old: &Role<N>) -> Result<Role<N>, RootError> {
        if let Some(key) = self.remove.iter().find(|key| !old.keys().contains(key)) {
            return Err(RootError::NotThere { kind, key: Public::of(*key).to_string() });
        }
        let kept = old.keys().iter().filter(|key| !self.remove.contains(key));
        let keys: Vec<PublicKey> = kept.chain(&self.add).copied().collect();
        role(kind, self.threshold.unwrap_or(old.threshold()), &keys)
    }
}

/// What keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They sign roots.
    Root,
    /// They sign releases.
    Release,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Release => "release",
        })
    }
}

/// The first root, of version 1. `expires` is in seconds since 1970; 0 is never.
///
/// # Errors
///
/// There are no keys or too many, one of them twice, or fewer than must sign; or more must sign than a release has place for.
pub fn first(
    (threshold, root): (u8, &[PublicKey]),
    (release_threshold, release): (u8, &[PublicKey]),
    expires: u64,
) -> Result<Root, RootError> {
    let root = role(Kind::Root, threshold, root)?;
    Ok(Root::new(1, expires, root, role(Kind::Release, release_threshold, release)?))
}

/// The root after `old`. It expires as that does if `expires` is not given.
///
/// # Errors
///
/// As of [`first`], and if a key is removed that is not there.
pub fn next(old: &Root, root: &Change, release: &Change, expires: Option<u64>) -> Result<Root, RootError> {
    let version = old.version().checked_add(1).ok_or(RootError::LastVersion)?;
    let (root, release) = (root.of(Kind::Root, old.root())?, release.of(Kind::Release, old.release())?);
    Ok(Root::new(version, expires.unwrap_or(old.expires()), root, release))
}

fn role<const N: usize>(kind: Kind, threshold: u8, keys: &[PublicKey]) -> Result<Role<N>, RootError> {
    if kind == Kind::Release && usize::from(threshold) > MAX_SIGNATURES {
        return Err(RootError::ReleaseThreshold);
    }
    let count = keys.len();
    Role::new(threshold, keys).ok_or(RootError::Keys { kind, count, threshold, most: N })
}

/// Signs a root with a key of it, of the root before, or of both, and says as which.
///
/// # Errors
///
/// The key is in neither, or `before` is not the root before.
pub fn sign(
    file: &RootFile,
    before: Option<&Root>,
    secret: &Secret,
) -> Result<(RootFile, Vec<Signer>), RootError> {
    let (root, key) = (file.unverified(), secret.public());
    if let Some(before) = before.filter(|before| before.version().checked_add(1) != Some(root.version())) {
        return Err(RootError::NotBefore { given: before.version(), version: root.version() });
    }
    let place = |of: &Root| {
        let place = of.root().keys().iter().position(|known| *known == key.key);
        place.map(|place| u8::try_from(place).expect("a root has at most five keys"))
    };
    let signers: Vec<Signer> = [before.and_then(place).map(Signer::Before), place(root).map(Signer::This)]
        .into_iter()
        .flatten()
        .collect();
    if signers.is_empty() {
        let hint = if before.is_none() && root.version() > 1 {
            "; give --before if it is a key of the root before"
        } else {
            ""
        };
        return Err(RootError::UnknownKey { key: key.to_string(), version: root.version(), hint });
    }
    let signature = secret.sign(root.to_bytes(&mut [0; MAX_ROOT_BYTES]));
    let others = file.signatures().iter().filter(|(signer, _)| !signers.contains(signer));
    let all: Vec<(Signer, SignatureBytes)> =
        others.copied().chain(signers.iter().map(|signer| (*signer, signature))).collect();
    let file = RootFile::new(root.clone(), &all).ok_or(RootError::TooManySignatures)?;
    Ok((file, signers))
}

/// The bytes of a root's file.
pub fn to_bytes(file: &RootFile) -> Vec<u8> {
    file.to_bytes(&mut [0; MAX_FILE_BYTES]).to_vec()
}

/// For each root key of this root, or of the root before, whether it signed this file.
pub fn signed_by(file: &RootFile, before: Option<&Root>) -> Vec<(PublicKey, bool)> {
    let mut buffer = [0; MAX_ROOT_BYTES];
    let bytes = file.unverified().to_bytes(&mut buffer);
    let keys = before.unwrap_or(file.unverified()).root().keys();
    let signed = |number: usize, key: &PublicKey| {
        file.signatures().iter().any(|(signer, signature)| match (signer, before) {
            (Signer::Before(of), Some(_)) | (Signer::This(of), None) => {
                usize::from(*of) == number && holds(*key, bytes, signature)
            }
            _ => false,
        })
    };
    keys.iter().enumerate().map(|(number, key)| (*key, signed(number, key))).collect()
}

/// Why there is no root, or none that is signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// Keys and threshold do not fit each other.
    #[error(
        "{count} {kind} keys of which {threshold} must sign make no root: give 1 to {most} different ones, and a threshold from 1 to their count"
    )]
    Keys {
        /// What they are for.
        kind: Kind,
        /// How many were given.
        count: usize,
        /// How many must sign.
        threshold: u8,
        /// How many there may be.
        most: usize,
    },
    /// No release could ever be signed.
    #[error("a release has place for {MAX_SIGNATURES} signatures: give a release threshold of at most that")]
    ReleaseThreshold,
    /// A key is removed that is not there.
    #[error("the old root has no {kind} key {key}: `gatepost-sign root show` lists those that it has")]
    NotThere {
        /// What it would be for.
        kind: Kind,
        /// The key.
        key: String,
    },
    /// There is no number left.
    #[error("no version follows this root's")]
    LastVersion,
    /// The file is no root.
    #[error("this is no root of companion firmware, or it is damaged")]
    NoRoot,
    /// The root that was given is not the one before.
    #[error("version {given} is not the one before version {version}: give the root that it follows")]
    NotBefore {
        /// The version of the root that was given.
        given: u32,
        /// The version that is to be signed.
        version: u32,
    },
    /// The key may not sign this root.
    #[error("{key} is no root key of version {version}{hint}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The version that is to be signed.
        version: u32,
        /// What else to try.
        hint: &'static str,
    },
    /// There is no place left: some of the signatures are of no key.
    #[error("the root's file has no place for another signature: write it anew and sign that")]
    TooManySignatures,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(seed: u8) -> Secret {
        Secret::from_seed([seed; 32])
    }

    fn keys(seeds: &[u8]) -> Vec<PublicKey> {
        seeds.iter().map(|seed| secret(*seed).public().key).collect()
    }

    #[test]
    fn a_root_of_three_keys_is_replaced_by_two_of_them() {
        let old = first((2, &keys(&[1, 2, 3])), (1, &keys(&[9])), 0).unwrap();
        let change = Change { add: keys(&[4]), remove: keys(&[1]), threshold: None };
        let new = next(&old, &change, &Change::default(), None).unwrap();
        assert_eq!((new.version(), new.root().keys(), new.root().threshold()), (2, &keys(&[2, 3, 4])[..], 2));
        let mut file = RootFile::new(new, &[]).unwrap();
        let mut signed = |seed| {
            let (next, signers) = sign(&file, Some(&old), &secret(seed)).unwrap();
            file = next;
            (signers, file.after(&old).is_some(), file.signed_by_itself().is_some())
        };
        assert_eq!(signed(1), (vec![Signer::Before(0)], false, false));
        assert_eq!(signed(4), (vec![Signer::This(2)], false, false));
        let both = vec![Signer::Before(2), Signer::This(1)];
        assert_eq!(signed(3), (both.clone(), true, true));
        assert_eq!(signed(3), (both, true, true), "again, and it stands there once");
        assert_eq!(file.signatures().len(), 4);
        let of = |before: Option<&Root>| {
            signed_by(&file, before).into_iter().map(|(_, signed)| signed).collect::<Vec<_>>()
        };
        assert_eq!((of(Some(&old)), of(None)), (vec![true, false, true], vec![false, true, true]));
    }

    #[test]
    fn keys_of_others_sign_no_root() {
        let old = first((1, &keys(&[1])), (1, &keys(&[9])), 0).unwrap();
        let new = next(&old, &Change::default(), &Change::default(), Some(7)).unwrap();
        let file = RootFile::new(new.clone(), &[]).unwrap();
        for seed in [2, 9] {
            let error = sign(&file, Some(&old), &secret(seed)).unwrap_err();
            assert!(matches!(error, RootError::UnknownKey { hint: "", .. }), "{error}");
        }
        let error = sign(&file, None, &secret(2)).unwrap_err().to_string();
        assert!(error.contains("--before"), "{error}");
        let error = sign(&file, Some(&new), &secret(1)).unwrap_err();
        assert_eq!(error, RootError::NotBefore { given: 2, version: 2 });
    }

    #[test]
    fn roots_that_nobody_could_use_are_not_made() {
        let make = |threshold, root: &[u8], release_threshold, release: &[u8]| {
            first((threshold, &keys(root)), (release_threshold, &keys(release)), 0).map(|_| ())
        };
        assert_eq!(make(2, &[1, 2, 3], 2, &[8, 9]), Ok(()));
        assert!(matches!(make(2, &[1], 1, &[9]), Err(RootError::Keys { kind: Kind::Root, .. })));
        assert!(matches!(make(0, &[1], 1, &[9]), Err(RootError::Keys { .. })));
        assert!(matches!(make(1, &[1, 1], 1, &[9]), Err(RootError::Keys { count: 2, .. })));
        assert!(matches!(make(1, &[1, 2, 3, 4, 5, 6], 1, &[9]), Err(RootError::Keys { most: 5, .. })));
        assert!(matches!(make(1, &[1], 1, &[]), Err(RootError::Keys { kind: Kind::Release, .. })));
        assert_eq!(make(1, &[1], 3, &[7, 8, 9]), Err(RootError::ReleaseThreshold));
        let old = first((1, &keys(&[1])), (1, &keys(&[9])), 0).unwrap();
        let remove = |seed| Change { remove: keys(&[seed]), ..Change::default() };
        let lost = next(&old, &remove(1), &Change::default(), None);
        assert!(matches!(lost, Err(RootError::Keys { count: 0, .. })), "{lost:?}");
        let other = next(&old, &Change::default(), &remove(8), None);
        assert!(matches!(other, Err(RootError::NotThere { kind: Kind::Release, .. })), "{other:?}");
    }
}

//! Who may sign: the keys that sign releases, and those that sign the next root.

use super::{
    bytes::{Reader, Writer},
    signed::signed_by,
};
use crate::decision::{PublicKey, SignatureBytes};

/// Separates the signatures of roots from everything else that a key may ever sign.
pub const DOMAIN: &[u8] = b"gatepost/root/1";
/// Most keys that sign roots.
pub const MAX_ROOT_KEYS: usize = 5;
/// Most keys that sign releases.
pub const MAX_RELEASE_KEYS: usize = 4;
/// Length of the longest root, with its domain.
pub const MAX_ROOT_BYTES: usize =
    DOMAIN.len() + 4 + 8 + 1 + 1 + MAX_ROOT_KEYS * 32 + 1 + 1 + MAX_RELEASE_KEYS * 32;
/// Most signatures in a [`RootFile`]: all keys of two roots.
pub const MAX_SIGNATURES: usize = 2 * MAX_ROOT_KEYS;
/// Length of the longest [`RootFile`].
pub const MAX_FILE_BYTES: usize = 2 + MAX_ROOT_BYTES + 1 + MAX_SIGNATURES * (1 + 1 + 64);

/// Keys for one purpose, and how many of them must sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role<const N: usize> {
    threshold: u8,
    keys: heapless::Vec<PublicKey, N>,
}

impl<const N: usize> Role<N> {
    /// Keys of which `threshold` must sign; [`None`] if there are none, too many, one of them twice, or fewer than must sign.
    pub fn new(threshold: u8, keys: &[PublicKey]) -> Option<Self> {
        let keys: heapless::Vec<PublicKey, N> = heapless::Vec::from_slice(keys).ok()?;
        let distinct = keys.iter().enumerate().all(|(at, key)| !keys[..at].contains(key));
        let enough = (1..=keys.len()).contains(&usize::from(threshold));
        (distinct && enough).then_some(Self { threshold, keys })
    }

    /// How many of the keys must sign.
    pub fn threshold(&self) -> u8 {
        self.threshold
    }

    /// The keys, by their numbers.
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (threshold, count) = (reader.u8()?, reader.u8()?);
        let mut keys: heapless::Vec<PublicKey, N> = heapless::Vec::new();
        for _ in 0..count {
            keys.push(PublicKey(reader.array()?)).ok()?;
        }
        Self::new(threshold, &keys)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.put(&[self.threshold, self.keys.len() as u8]);
        self.keys.iter().for_each(|key| writer.put(&key.0));
    }
}

/// Who may sign, from one version of it to the next.
///
/// Its bytes: domain, version (4), expiry (8), threshold (1), count (1) and keys (32 each) for roots, and the same for releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    version: u32,
    expires: u64,
    root: Role<MAX_ROOT_KEYS>,
    release: Role<MAX_RELEASE_KEYS>,
}

impl Root {
    /// A root. `expires` is in seconds since 1970, UTC; 0 is never.
    pub fn new(
        version: u32,
        expires: u64,
        root: Role<MAX_ROOT_KEYS>,
        release: Role<MAX_RELEASE_KEYS>,
    ) -> Self {
        Self { version, expires, root, release }
    }

    /// Reads one that fills `bytes` exactly, with its domain.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes.strip_prefix(DOMAIN)?);
        let root = Self {
            version: reader.u32()?,
            expires: reader.u64()?,
            root: Role::read(&mut reader)?,
            release: Role::read(&mut reader)?,
        };
        reader.end().map(|()| root)
    }

    /// Writes the signed bytes into `buffer`; those that it has.
    pub fn to_bytes<'b>(&self, buffer: &'b mut [u8; MAX_ROOT_BYTES]) -> &'b [u8] {
        let mut writer = Writer::new(buffer);
        writer.put(DOMAIN);
        writer.put(&self.version.to_be_bytes());
        writer.put(&self.expires.to_be_bytes());
        self.root.write(&mut writer);
        self.release.write(&mut writer);
        let length = writer.length();
        &buffer[..length]
    }

    /// Its number; the next root has the next one.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// From when on releases are not taken by it, in seconds since 1970, UTC; 0 is never.
    pub fn expires(&self) -> u64 {
        self.expires
    }

    /// Whether it has expired at this time.
    pub fn is_expired(&self, utc: u64) -> bool {
        self.expires != 0 && utc >= self.expires
    }

    /// The keys that sign roots.
    pub fn root(&self) -> &Role<MAX_ROOT_KEYS> {
        &self.root
    }

    /// The keys that sign releases.
    pub fn release(&self) -> &Role<MAX_RELEASE_KEYS> {
        &self.release
    }
}

/// Of which root a key is that signed a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signer {
    /// A root key of the root before, by its number.
    Before(u8),
    /// A root key of this root, by its number.
    This(u8),
}

/// A root with its signatures: nobody has checked them yet.
///
/// Its bytes: the root's length (2), the root, the count of signatures (1), and for each whose key it is (1: 0 of the root before, 1
/// of this one), the key's number (1) and the signature (64).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootFile {
    root: Root,
    signatures: heapless::Vec<(Signer, SignatureBytes), MAX_SIGNATURES>,
}

impl RootFile {
    /// A root with these signatures over [`Root::to_bytes`]; [`None`] if there are more than [`MAX_SIGNATURES`].
    pub fn new(root: Root, signatures: &[(Signer, SignatureBytes)]) -> Option<Self> {
        Some(Self { root, signatures: heapless::Vec::from_slice(signatures).ok()? })
    }

    /// Reads one that fills `bytes` exactly.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let file = Self::read(&mut reader)?;
        reader.end().map(|()| file)
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let length = reader.u16()?;
        let root = Root::from_bytes(reader.take(length.into())?)?;
        let mut signatures = heapless::Vec::new();
        for _ in 0..reader.u8()? {
            let (of, key) = (reader.u8()?, reader.u8()?);
            let signer = match of {
                0 => Signer::Before(key),
                1 => Signer::This(key),
                _ => return None,
            };
            signatures.push((signer, SignatureBytes(reader.array()?))).ok()?;
        }
        Some(Self { root, signatures })
    }

    /// Writes it into `buffer`; the bytes that it has.
    pub fn to_bytes<'b>(&self, buffer: &'b mut [u8; MAX_FILE_BYTES]) -> &'b [u8] {
        let mut root = [0; MAX_ROOT_BYTES];
        let root = self.root.to_bytes(&mut root);
        let mut writer = Writer::new(buffer);
        writer.put(&(root.len() as u16).to_be_bytes());
        writer.put(root);
        writer.put(&[self.signatures.len() as u8]);
        for (signer, signature) in &self.signatures {
            match signer {
                Signer::Before(key) => writer.put(&[0, *key]),
                Signer::This(key) => writer.put(&[1, *key]),
            }
            writer.put(&signature.0);
        }
        let length = writer.length();
        &buffer[..length]
    }

    /// The root, though nobody may have signed it: for a program that shows or signs it, and for the first one.
    pub fn unverified(&self) -> &Root {
        &self.root
    }

    /// The signatures.
    pub fn signatures(&self) -> &[(Signer, SignatureBytes)] {
        &self.signatures
    }

    /// The root, if its own keys signed it, as many as it wants: a first one, that somebody decided to trust.
    pub fn signed_by_itself(&self) -> Option<&Root> {
        let own = self.signatures.iter().filter_map(|(signer, signature)| match signer {
            Signer::This(key) => Some((*key, signature)),
            Signer::Before(_) => None,
        });
        self.enough_of(&self.root, own).then_some(&self.root)
    }

    /// The root, if it is the next after `before`, and as many keys of both as each of them wants have signed it.
    pub fn after(&self, before: &Root) -> Option<&Root> {
        let earlier = self.signatures.iter().filter_map(|(signer, signature)| match signer {
            Signer::Before(key) => Some((*key, signature)),
            Signer::This(_) => None,
        });
        let next = before.version.checked_add(1) == Some(self.root.version);
        (next && self.enough_of(before, earlier)).then(|| self.signed_by_itself()).flatten()
    }

    fn enough_of<'s>(&self, of: &Root, signatures: impl Iterator<Item = (u8, &'s SignatureBytes)>) -> bool {
        let mut buffer = [0; MAX_ROOT_BYTES];
        signed_by(of.root.keys(), of.root.threshold(), self.root.to_bytes(&mut buffer), signatures)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::update::testing::{key, public, root, sign};

    /// A root signed by these keys of the root before and of its own, by their seeds.
    fn file(root: &Root, before: &[(u8, u8)], this: &[(u8, u8)]) -> RootFile {
        let mut buffer = [0; MAX_ROOT_BYTES];
        let bytes = root.to_bytes(&mut buffer);
        let before = before.iter().map(|(number, seed)| (Signer::Before(*number), sign(&key(*seed), bytes)));
        let this = this.iter().map(|(number, seed)| (Signer::This(*number), sign(&key(*seed), bytes)));
        RootFile::new(root.clone(), &before.chain(this).collect::<Vec<_>>()).unwrap()
    }

    fn two_of_three(version: u32, seeds: [u8; 3]) -> Root {
        let keys = seeds.map(public);
        Root::new(version, 0, Role::new(2, &keys).unwrap(), Role::new(1, &[public(9)]).unwrap())
    }

    #[test]
    fn the_next_root_is_signed_by_enough_keys_of_both() {
        let (old, new) = (two_of_three(4, [1, 2, 3]), two_of_three(5, [3, 4, 5]));
        let taken = |before: &[_], this: &[_]| file(&new, before, this).after(&old).is_some();
        assert!(taken(&[(0, 1), (2, 3)], &[(0, 3), (1, 4)]));
        assert!(taken(&[(0, 1), (1, 2), (2, 3)], &[(0, 3), (1, 4), (2, 5)]));
        for (before, this) in [
            (&[(0, 1)][..], &[(0, 3), (1, 4)][..]),
            (&[(0, 1), (0, 1)], &[(0, 3), (1, 4)]),
            (&[(0, 1), (2, 3)], &[(0, 3)]),
            (&[(0, 1), (2, 3)], &[(0, 3), (0, 3)]),
            (&[(0, 1), (2, 4)], &[(0, 3), (1, 4)]),
            (&[(0, 1), (7, 3)], &[(0, 3), (1, 4)]),
            (&[], &[(0, 3), (1, 4)]),
            (&[(0, 1), (2, 3)], &[]),
        ] {
            assert!(!taken(before, this), "{before:?} {this:?}");
        }
    }

    #[test]
    fn roots_come_in_their_order() {
        let old = two_of_three(4, [1, 2, 3]);
        for version in [0, 3, 4, 6, u32::MAX] {
            let new = two_of_three(version, [1, 2, 3]);
            let file = file(&new, &[(0, 1), (1, 2)], &[(0, 1), (1, 2)]);
            assert!(file.signed_by_itself().is_some() && file.after(&old).is_none(), "{version}");
        }
        let last = two_of_three(u32::MAX, [1, 2, 3]);
        let first = two_of_three(0, [1, 2, 3]);
        assert_eq!(file(&first, &[(0, 1), (1, 2)], &[(0, 1), (1, 2)]).after(&last), None);
    }

    #[test]
    fn a_root_has_distinct_keys_and_as_many_as_must_sign() {
        let role = |threshold, seeds: &[u8]| {
            Role::<MAX_ROOT_KEYS>::new(threshold, &seeds.iter().map(|seed| public(*seed)).collect::<Vec<_>>())
        };
        assert!(role(1, &[1]).is_some() && role(5, &[1, 2, 3, 4, 5]).is_some());
        assert!(
            [role(0, &[1]), role(2, &[1]), role(1, &[]), role(1, &[1, 1]), role(1, &[1, 2, 3, 4, 5, 6])]
                == [const { None }; 5]
        );
    }

    #[test]
    fn one_travels_as_its_bytes_and_nothing_beside_them() {
        let keys = [1, 2, 3, 4, 5].map(public);
        let longest = Root::new(7, 9, Role::new(3, &keys).unwrap(), Role::new(2, &keys[..4]).unwrap());
        let mut buffer = [0; MAX_ROOT_BYTES];
        let bytes = longest.to_bytes(&mut buffer).to_vec();
        assert_eq!((bytes.len(), MAX_ROOT_BYTES), (319, 319));
        assert_eq!(Root::from_bytes(&bytes), Some(longest.clone()));
        assert_eq!(Root::from_bytes(&[&bytes[..], &[0]].concat()), None);
        assert!((0..bytes.len()).all(|length| Root::from_bytes(&bytes[..length]).is_none()));

        let numbers: Vec<(u8, u8)> = (0..5).map(|number| (number, number + 1)).collect();
        let file = file(&longest, &numbers, &numbers);
        let mut buffer = [0; MAX_FILE_BYTES];
        let bytes = file.to_bytes(&mut buffer).to_vec();
        assert_eq!((bytes.len(), MAX_FILE_BYTES), (982, 982));
        assert_eq!(RootFile::from_bytes(&bytes), Some(file));
        assert!((0..bytes.len()).all(|length| RootFile::from_bytes(&bytes[..length]).is_none()));
    }

    #[test]
    fn a_root_expires_or_never_does() {
        let role = root(1, &[1], &[9]);
        let expiring = Root::new(1, 100, role.root().clone(), role.release().clone());
        assert!(!expiring.is_expired(99) && expiring.is_expired(100) && !role.is_expired(u64::MAX));
    }
}

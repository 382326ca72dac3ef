//! All of a release in one file, as it is signed, stored and added to a hub: `.gpu`.

use core::fmt;

use super::{
    HASH_BYTES,
    bytes::Reader,
    manifest::Manifest,
    root::{Root, RootFile},
    rule::{self, Unfit},
    signed::{Signed, Verified},
};
use crate::Digest;

/// The first bytes of the file; the last is the version of its layout.
pub const MAGIC: &[u8] = b"GPU1";
/// Most roots in a file: a device that slept for years takes them one after the other.
pub const MAX_ROOTS: usize = 32;

/// A release: `GPU1`, the count of roots (1 byte) and the roots in their order, each a [`RootFile`]; a [`Signed`]; the list of the
/// blocks' hashes; the image, up to the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package<'a> {
    roots: &'a [u8],
    signed: &'a [u8],
    list: &'a [u8],
    image: &'a [u8],
}

/// Why a file is not a release, or not one that may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageError {
    /// It does not begin as one, breaks off, or has bytes left over.
    Malformed,
    /// Its roots do not follow one another, or do not lead to the root that is known or on from it; or its manifest is not signed by enough
    /// keys of the last.
    Signature,
    /// A block's hash, the list's or the image's is another one than the manifest says.
    Hash,
    /// Its manifest makes no sense.
    Unfit(Unfit),
}

impl fmt::Display for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("this is not a release of firmware, or it is damaged"),
            Self::Signature => f.write_str("it is not signed by the keys that are trusted"),
            Self::Hash => f.write_str("its image is not the one that was signed"),
            Self::Unfit(unfit) => unfit.fmt(f),
        }
    }
}

impl core::error::Error for PackageError {}

impl<'a> Package<'a> {
    /// Reads a file. Nothing of it is verified yet.
    pub fn read(file: &'a [u8]) -> Result<Self, PackageError> {
        Self::parts(file).ok_or(PackageError::Malformed)
    }

    fn parts(file: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(file.strip_prefix(MAGIC)?);
        let count = reader.u8().filter(|count| usize::from(*count) <= MAX_ROOTS)?;
        let begin = reader.0;
        for _ in 0..count {
            RootFile::read(&mut reader)?;
        }
        let roots = &begin[..begin.len() - reader.0.len()];
        let begin = reader.0;
        let manifest = Manifest::read(&mut Reader(begin))?;
        Signed::read(&mut reader)?;
        let signed = &begin[..begin.len() - reader.0.len()];
        let list = reader.take(manifest.list_bytes())?;
        let image = reader.take(usize::try_from(manifest.size).ok()?)?;
        reader.end().map(|()| Self { roots, signed, list, image })
    }

    /// The roots, in their order.
    pub fn roots(&self) -> impl Iterator<Item = RootFile> + 'a {
        let mut reader = Reader(self.roots);
        core::iter::from_fn(move || (!reader.0.is_empty()).then(|| RootFile::read(&mut reader)).flatten())
    }

    /// The manifest with its signatures, as they travel.
    pub fn signed(&self) -> &'a [u8] {
        self.signed
    }

    /// The list of the blocks' hashes.
    pub fn list(&self) -> &'a [u8] {
        self.list
    }

    /// The image.
    pub fn image(&self) -> &'a [u8] {
        self.image
    }

    /// The manifest as it stands there, though nobody may have signed it.
    pub fn unverified(&self) -> Manifest {
        Manifest::read(&mut Reader(self.signed)).expect("it was read before")
    }

    /// The last root that follows from `known` by the roots of this file, and the manifest that its keys signed, if the image is the one
    /// that it names.
    ///
    /// The roots before `known` must hold as well: other devices know older ones, and none of them comes past one that does not.
    pub fn verified(&self, known: &Root) -> Result<(Root, Verified), PackageError> {
        if !self.roots_lead_on(known) {
            return Err(PackageError::Signature);
        }
        let root = self.roots().fold(known.clone(), |root, next| next.after(&root).cloned().unwrap_or(root));
        let signed = Signed::from_bytes(self.signed).ok_or(PackageError::Malformed)?;
        let verified = signed.verified(&root).ok_or(PackageError::Signature)?;
        let manifest = verified.manifest();
        rule::well_formed(manifest).map_err(PackageError::Unfit)?;
        let is_whole = Digest::of(self.image) == manifest.image
            && Digest::of(self.list) == manifest.blocks
            && self
                .image
                .chunks(manifest.block as usize)
                .zip(self.list.chunks(HASH_BYTES))
                .all(|(block, hash)| Digest::of(block).0 == *hash);
        if is_whole { Ok((root, verified)) } else { Err(PackageError::Hash) }
    }
}

impl Package<'_> {
    /// Whether each root follows the one before it, and the one of the version that is known is the known one.
    fn roots_lead_on(&self, known: &Root) -> bool {
        let mut before: Option<Root> = None;
        self.roots().all(|file| {
            let root = match &before {
                Some(before) => file.after(before),
                None => file.signed_by_itself(),
            };
            let holds = root.is_some_and(|root| root.version() != known.version() || root == known);
            before = Some(file.unverified().clone());
            holds
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use super::*;
    use crate::{
        decision::SignatureBytes,
        update::{
            list as list_of,
            root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Signer},
            signed::MAX_SIGNED_BYTES,
            testing::{key, manifest, root, sign},
        },
    };

    fn root_file(root: &Root, before: u8, this: u8) -> Vec<u8> {
        let mut buffer = [0; MAX_ROOT_BYTES];
        let bytes = root.to_bytes(&mut buffer);
        let signatures =
            [(Signer::Before(0), sign(&key(before), bytes)), (Signer::This(0), sign(&key(this), bytes))];
        let mut buffer = [0; MAX_FILE_BYTES];
        RootFile::new(root.clone(), &signatures).unwrap().to_bytes(&mut buffer).to_vec()
    }

    fn of_image(image: &[u8]) -> (Manifest, Vec<u8>) {
        let list: Vec<u8> = list_of(image).collect();
        let size = image.len() as u32;
        (Manifest { size, image: Digest::of(image), blocks: Digest::of(&list), ..manifest() }, list)
    }

    fn file(
        roots: &[Vec<u8>],
        manifest: &Manifest,
        signature: SignatureBytes,
        list: &[u8],
        image: &[u8],
    ) -> Vec<u8> {
        let mut buffer = [0; MAX_SIGNED_BYTES];
        let signed = Signed::new(*manifest, &[(0, signature)]).unwrap();
        let signed = signed.to_bytes(&mut buffer);
        [MAGIC, &[roots.len() as u8], &roots.concat(), signed, list, image].concat()
    }

    #[test]
    fn a_release_is_verified_by_the_root_that_is_known_and_those_that_follow_it() {
        let image: Vec<u8> = (0..10_000_u32).map(|at| (at * 7) as u8).collect();
        let (manifest, list) = of_image(&image);
        let (first, second, third) = (root(1, &[1], &[7]), root(2, &[2], &[8]), root(3, &[3], &[9]));
        let roots = [root_file(&second, 1, 2), root_file(&third, 2, 3)];
        let release = file(&roots, &manifest, sign(&key(9), &manifest.to_bytes()), &list, &image);
        let package = Package::read(&release).unwrap();
        for known in [&first, &second, &third] {
            let (root, verified) = package.verified(known).unwrap();
            assert_eq!((&root, verified.manifest()), (&third, &manifest));
        }
        assert_eq!(
            package.verified(&root(1, &[4], &[7])),
            Err(PackageError::Signature),
            "another family of roots"
        );
        let foreign = root(2, &[4], &[8]);
        assert_eq!(package.verified(&foreign), Err(PackageError::Signature), "another second root");
        let later = root(4, &[4], &[9]);
        assert_eq!(package.verified(&later).unwrap().0, later, "it knows them all");
        assert_eq!((package.list(), package.image()), (&list[..], &image[..]));
        assert_eq!(package.roots().count(), 2);

        // One changed byte anywhere makes it no release, or not a signed one.
        for at in (0..release.len()).step_by(97).chain(0..700) {
            let mut changed = release.clone();
            changed[at] ^= 0x10;
            let verified = Package::read(&changed).and_then(|package| package.verified(&first));
            assert!(verified.is_err(), "byte {at}");
        }
        for length in (0..release.len()).step_by(101) {
            assert_eq!(Package::read(&release[..length]), Err(PackageError::Malformed));
        }
        let longer = [&release[..], &[0]].concat();
        assert_eq!(Package::read(&longer), Err(PackageError::Malformed));
    }

    #[test]
    fn all_roots_of_a_release_must_hold_whichever_of_them_is_known() {
        let (manifest, list) = of_image(&[5; 5_000]);
        let known = [root(1, &[1], &[7]), root(2, &[2], &[8]), root(3, &[3], &[9])];
        let mut buffer = [0; MAX_FILE_BYTES];
        let own = (Signer::This(0), sign(&key(1), known[0].to_bytes(&mut [0; MAX_ROOT_BYTES])));
        let first = RootFile::new(known[0].clone(), &[own]).unwrap().to_bytes(&mut buffer).to_vec();
        let roots = [first, root_file(&known[1], 1, 2), root_file(&known[2], 2, 3)];
        let release = file(&roots, &manifest, sign(&key(9), &manifest.to_bytes()), &list, &[5; 5_000]);
        let end = 5 + roots.concat().len();
        for known in &known {
            assert!(Package::read(&release).unwrap().verified(known).is_ok());
            for at in 5..end {
                let mut changed = release.clone();
                changed[at] ^= 0x10;
                let verified = Package::read(&changed).and_then(|package| package.verified(known));
                assert!(verified.is_err(), "byte {at}, root {}", known.version());
            }
        }
        // One left out, and two in another order.
        let [first, second, third] = &roots;
        for roots in [vec![first, third], vec![second, first, third], vec![first, first, second, third]] {
            let roots: Vec<Vec<u8>> = roots.into_iter().cloned().collect();
            let release = file(&roots, &manifest, sign(&key(9), &manifest.to_bytes()), &list, &[5; 5_000]);
            for known in &known {
                let verified = Package::read(&release).unwrap().verified(known);
                assert_eq!(verified, Err(PackageError::Signature), "root {}", known.version());
            }
        }
    }

    #[test]
    fn what_was_signed_must_be_whole_and_make_sense() {
        let image = vec![5; 5_000];
        let (manifest, list) = of_image(&image);
        let known = root(1, &[1], &[9]);
        let signed = |manifest: &Manifest, list: &[u8], image: &[u8]| {
            let release = file(&[], manifest, sign(&key(9), &manifest.to_bytes()), list, image);
            Package::read(&release).and_then(|package| package.verified(&known)).map(|_| ())
        };
        assert_eq!(signed(&manifest, &list, &image), Ok(()));
        let other = vec![6; 5_000];
        assert_eq!(signed(&manifest, &list, &other), Err(PackageError::Hash));
        let lists = of_image(&other);
        assert_eq!(
            signed(&Manifest { blocks: lists.0.blocks, ..manifest }, &lists.1, &image),
            Err(PackageError::Hash)
        );
        let block = Manifest { block: 8_192, ..manifest };
        assert_eq!(signed(&block, &list[..32], &image), Err(PackageError::Unfit(Unfit::Malformed)));
    }
}

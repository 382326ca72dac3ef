//! Releases: an image that is signed for a board, in one file with the roots that lead to its keys.
//!
//! Nothing is signed that a device would refuse. [`Release::new`] looks at all of it before a key is asked for, and by the rule that
//! devices judge by ([`gatepost_link::update::rule`]).

mod chain;
mod error;
#[cfg(test)]
mod tests;

use gatepost_link::{
    Digest,
    decision::{PublicKey, SignatureBytes},
    update::{
        BLOCK_BYTES, Manifest, Root, Signed, Version,
        package::{MAGIC, Package, PackageError},
        rule::{self, Device, PRODUCT},
        signed::{MAX_SIGNATURES, MAX_SIGNED_BYTES, holds},
    },
};

pub use self::{
    chain::{Chain, ChainError},
    error::{ReleaseError, Warning},
};
use crate::{
    image::{Board, SLOT_BYTES},
    minisign::Secret,
};

/// From how far ahead an expiry is warned of: three years, in seconds.
const LONG: u64 = 3 * 366 * 24 * 60 * 60;

/// No version is higher.
const HIGHEST: Version = Version { major: u16::MAX, minor: u16::MAX, patch: u16::MAX };

/// What is to be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan<'a> {
    /// The board that the image is for.
    pub board: Board,
    /// Its version.
    pub version: Version,
    /// A device that runs it takes nothing below this version afterwards.
    pub floor: Version,
    /// From then on it is not taken: seconds since 1970, UTC.
    pub expires: u64,
    /// The image, as it goes into a slot.
    pub image: &'a [u8],
}

impl Plan<'_> {
    /// What is signed: the manifest, and the list of the blocks' hashes that it names.
    pub fn manifest(&self) -> (Manifest, Vec<u8>) {
        let list: Vec<u8> = gatepost_link::update::list(self.image).collect();
        let manifest = Manifest {
            product: PRODUCT,
            board: self.board.label(),
            version: self.version,
            floor: self.floor,
            // A larger one is refused in every check.
            size: u32::try_from(self.image.len()).unwrap_or(u32::MAX),
            image: Digest::of(self.image),
            block: BLOCK_BYTES as u32,
            blocks: Digest::of(&list),
            expires: self.expires,
        };
        (manifest, list)
    }
}

/// A release that a device would take once it is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release<'a> {
    manifest: Manifest,
    list: Vec<u8>,
    image: &'a [u8],
    chain: Chain,
    signatures: Vec<(u8, SignatureBytes)>,
}

impl<'a> Release<'a> {
    /// Looks at all that a device would look at, at this time in seconds since 1970.
    ///
    /// # Errors
    ///
    /// No device would take it.
    pub fn new(plan: &Plan<'a>, chain: Chain, now: u64) -> Result<Self, ReleaseError> {
        let found = plan.board.check(plan.image)?;
        if found != plan.version {
            return Err(ReleaseError::OtherVersion { found, version: plan.version });
        }
        if plan.version == Version::default() {
            return Err(ReleaseError::NoVersion);
        }
        if plan.floor > plan.version {
            return Err(ReleaseError::Floor { floor: plan.floor, version: plan.version });
        }
        if plan.expires <= now {
            return Err(ReleaseError::Expired { expires: plan.expires, now });
        }
        let root = chain.last();
        if root.is_expired(now) {
            return Err(ReleaseError::RootExpired { version: root.version(), expires: root.expires() });
        }
        let (manifest, list) = plan.manifest();
        let (running, floor) = (Version::default(), Version::default());
        let device = Device { board: manifest.board, running, floor, slot: SLOT_BYTES, built: 0 };
        rule::admit(&manifest, root, &device, now)?;
        Ok(Self { manifest, list, image: plan.image, chain, signatures: Vec::new() })
    }

    /// Reads one that others have signed already, to sign it too by the last root in it.
    ///
    /// # Errors
    ///
    /// As of [`Release::new`]; it is no release, its image is not the one that was signed, or a signature is not of the root's
    /// keys.
    pub fn read(file: &'a [u8], now: u64) -> Result<Self, ReleaseError> {
        let package = Package::read(file)?;
        let manifest = package.unverified();
        let Manifest { version, floor, expires, .. } = manifest;
        let board = Board::of(&manifest.board).ok_or(ReleaseError::OtherBoard)?;
        let plan = Plan { board, version, floor, expires, image: package.image() };
        let mut release = Self::new(&plan, Chain::new(package.roots().collect())?, now)?;
        if release.manifest != manifest || release.list != package.list() {
            return Err(PackageError::Hash.into());
        }
        let signed = Signed::from_bytes(package.signed()).ok_or(PackageError::Malformed)?;
        let (keys, bytes) = (release.root().release().keys(), manifest.to_bytes());
        let hold = |(number, signature): &(u8, SignatureBytes)| {
            keys.get(usize::from(*number)).is_some_and(|key| holds(*key, &bytes, signature))
        };
        if !signed.signatures().iter().all(hold) {
            return Err(ReleaseError::OtherSignature);
        }
        release.signatures = signed.signatures().to_vec();
        Ok(release)
    }

    /// What is signed.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The root whose keys sign it.
    pub fn root(&self) -> &Root {
        self.chain.last()
    }

    /// How many signatures are still missing.
    pub fn missing(&self) -> usize {
        usize::from(self.root().release().threshold()).saturating_sub(self.signatures.len())
    }

    /// What a person should know before signing.
    pub fn warnings(&self, now: u64) -> Vec<Warning> {
        let (root, expires) = (self.root(), self.manifest.expires);
        let long = expires > now.saturating_add(LONG);
        let root_first = root.expires() != 0 && root.expires() < expires;
        let first = self.chain.first();
        [
            long.then_some(Warning::Long { expires }),
            root_first
                .then_some(Warning::RootExpiresFirst { version: root.version(), expires: root.expires() }),
            (first > 1).then_some(Warning::OldDevices { first }),
            (self.manifest.version == HIGHEST).then_some(Warning::Last),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Adds the signature of a key; the same once more changes nothing.
    ///
    /// # Errors
    ///
    /// The key is no release key of the root, or there are as many signatures as a release has place for.
    pub fn sign(&mut self, secret: &Secret) -> Result<(), ReleaseError> {
        let (root, public) = (self.root(), secret.public());
        let number =
            root.release().keys().iter().position(|key| *key == public.key).ok_or_else(|| {
                ReleaseError::UnknownKey { key: public.to_string(), version: root.version() }
            })?;
        let number = u8::try_from(number).expect("a root has at most four release keys");
        if self.signatures.iter().any(|(of, _)| *of == number) {
            return Ok(());
        }
        if self.signatures.len() == MAX_SIGNATURES {
            return Err(ReleaseError::TooManySignatures);
        }
        self.signatures.push((number, secret.sign(&self.manifest.to_bytes())));
        Ok(())
    }

    /// The `.gpu` file; the same inputs and keys, in the same order, give the same bytes.
    ///
    /// # Errors
    ///
    /// Nobody has signed it yet.
    pub fn to_file(&self) -> Result<Vec<u8>, ReleaseError> {
        let signed = Signed::new(self.manifest, &self.signatures).ok_or(ReleaseError::Unsigned)?;
        let mut buffer = [0; MAX_SIGNED_BYTES];
        let (count, roots) = self.chain.to_bytes();
        Ok([MAGIC, &[count], &roots, signed.to_bytes(&mut buffer), &self.list, self.image].concat())
    }
}

/// The release keys of this root that signed a release.
pub fn signers(package: &Package<'_>, root: &Root) -> Vec<PublicKey> {
    let (bytes, keys) = (package.unverified().to_bytes(), root.release().keys());
    let signed = Signed::from_bytes(package.signed());
    let signatures = signed.iter().flat_map(|signed| signed.signatures());
    let signer = signatures.filter_map(|(number, signature)| {
        keys.get(usize::from(*number)).filter(|key| holds(**key, &bytes, signature))
    });
    signer.copied().collect()
}

//! Releases for the tests, with keys that everybody knows.

use ed25519_dalek::{Signer as _, SigningKey};
use gatepost_link::{
    Digest,
    decision::{PublicKey, SignatureBytes},
    update::{
        ImageId, Label, Manifest, Signed, Version, image_id,
        package::MAGIC,
        root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Role, Root, RootFile, Signer},
        rule::PRODUCT,
        signed::MAX_SIGNED_BYTES,
    },
};

use super::{package::Package, roots::Roots};

/// A release for `esp32c3`, and the roots before it.
pub(crate) struct Fixture {
    image: Vec<u8>,
    manifest: Manifest,
    roots: Vec<RootFile>,
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn sign(seed: u8, bytes: &[u8]) -> SignatureBytes {
    SignatureBytes(key(seed).sign(bytes).to_bytes())
}

/// The root of this version: one key signs roots, whose seed is the version, and one signs releases.
fn root(version: u32) -> Root {
    let seed = u8::try_from(version).unwrap();
    let role = |seed: u8| PublicKey(key(seed).verifying_key().to_bytes());
    Root::new(version, 0, Role::new(1, &[role(seed)]).unwrap(), Role::new(1, &[role(100 + seed)]).unwrap())
}

/// The file of the root of this version.
pub(crate) fn root_file(version: u32) -> RootFile {
    let (root, seed) = (root(version), u8::try_from(version).unwrap());
    let mut buffer = [0; MAX_ROOT_BYTES];
    let bytes = root.to_bytes(&mut buffer).to_vec();
    let mut signatures = vec![(Signer::This(0), sign(seed, &bytes))];
    if version > 1 {
        signatures.push((Signer::Before(0), sign(seed - 1, &bytes)));
    }
    RootFile::new(root, &signatures).unwrap()
}

impl Fixture {
    /// A release of this version whose image has so many bytes, signed by root 1.
    pub(crate) fn new(version: &str, size: usize) -> Self {
        let image: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
        let version = Version::new(version).unwrap();
        let manifest = Manifest {
            product: PRODUCT,
            board: Label::new("esp32c3").unwrap(),
            version,
            floor: Version::new("1.0.0").unwrap(),
            size: u32::try_from(size).unwrap(),
            image: Digest::of(&image),
            block: 4_096,
            blocks: Digest::of(&list(&image)),
            expires: 4_000_000_000,
        };
        Self { image, manifest, roots: vec![] }
    }

    /// The same with something else signed.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Manifest)) -> Self {
        change(&mut self.manifest);
        self
    }

    /// The same with another image of as many bytes.
    pub(crate) fn with_image(mut self, change: impl FnOnce(&mut [u8])) -> Self {
        change(&mut self.image);
        self.manifest.image = Digest::of(&self.image);
        self.manifest.blocks = Digest::of(&list(&self.image));
        self
    }

    /// The same signed by the root of this version, with those from the second on.
    pub(crate) fn with_roots(self, last: u32) -> Self {
        Self { roots: (2..=last).map(root_file).collect(), ..self }
    }

    /// Its file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let last = self.roots.last().map_or(1, |root| root.unverified().version());
        self.signed_by(100 + u8::try_from(last).unwrap())
    }

    /// Its file, signed by the key of this seed.
    pub(crate) fn signed_by(&self, seed: u8) -> Vec<u8> {
        let signature = sign(seed, &self.manifest.to_bytes());
        let mut buffer = [0; MAX_SIGNED_BYTES];
        let signed = Signed::new(self.manifest, &[(0, signature)]).unwrap();
        let signed = signed.to_bytes(&mut buffer);
        let roots = self.root_files().concat();
        let count = u8::try_from(self.roots.len()).unwrap();
        [MAGIC, &[count], &roots, signed, &list(&self.image), &self.image].concat()
    }

    /// The same, read; `release`: its row.
    pub(crate) fn package(&self, release: i64) -> Package {
        Package::verified(self.file(), &Roots::new(root_file(1), []), release).unwrap()
    }

    pub(crate) fn root_files(&self) -> Vec<Vec<u8>> {
        self.roots.iter().map(|root| root.to_bytes(&mut [0; MAX_FILE_BYTES]).to_vec()).collect()
    }

    pub(crate) fn list(&self) -> Vec<u8> {
        list(&self.image)
    }

    pub(crate) fn image(&self) -> &[u8] {
        &self.image
    }

    pub(crate) fn image_id(&self) -> ImageId {
        image_id(&self.manifest.image)
    }
}

fn list(image: &[u8]) -> Vec<u8> {
    gatepost_link::update::list(image).collect()
}

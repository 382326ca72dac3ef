//! A manifest with its signatures, as it travels.

use ed25519_dalek::{Signature, VerifyingKey};

use super::{
    ImageId,
    bytes::{Reader, Writer},
    image_id,
    manifest::{DOMAIN, MANIFEST_BYTES, Manifest},
    root::Root,
};
use crate::decision::{PublicKey, SignatureBytes};

/// Most signatures on a manifest.
pub const MAX_SIGNATURES: usize = 2;
/// Length of the longest signed manifest.
pub const MAX_SIGNED_BYTES: usize = MANIFEST_BYTES + 1 + MAX_SIGNATURES * (1 + 64);

/// A manifest that nobody has checked yet, so nothing of it but its signatures can be read.
///
/// Its bytes: the manifest without its domain, the count of signatures, and for each the number of the release key in the root
/// (1 byte) and the signature (64 bytes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    manifest: Manifest,
    signatures: heapless::Vec<(u8, SignatureBytes), MAX_SIGNATURES>,
}

impl Signed {
    /// A manifest with signatures over [`Manifest::to_bytes`], each with the number of its key; [`None`] if there is none, or more than
    /// [`MAX_SIGNATURES`].
    pub fn new(manifest: Manifest, signatures: &[(u8, SignatureBytes)]) -> Option<Self> {
        let signatures = heapless::Vec::from_slice(signatures).ok().filter(|all| !all.is_empty())?;
        Some(Self { manifest, signatures })
    }

    /// Reads one that came from outside and fills `bytes` exactly.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let signed = Self::read(&mut reader)?;
        reader.end().map(|()| signed)
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let manifest = Manifest::read(reader)?;
        let mut signatures = heapless::Vec::new();
        for _ in 0..reader.u8()? {
            signatures.push((reader.u8()?, SignatureBytes(reader.array()?))).ok()?;
        }
        (!signatures.is_empty()).then_some(Self { manifest, signatures })
    }

    /// Writes it into `buffer`; how many bytes it has.
    pub fn to_bytes<'b>(&self, buffer: &'b mut [u8; MAX_SIGNED_BYTES]) -> &'b [u8] {
        let mut writer = Writer::new(buffer);
        writer.put(&self.manifest.to_bytes()[DOMAIN.len()..]);
        writer.put(&[self.signatures.len() as u8]);
        for (key, signature) in &self.signatures {
            writer.put(&[*key]);
            writer.put(&signature.0);
        }
        let length = writer.length();
        &buffer[..length]
    }

    /// The signatures, each with the number of its key.
    pub fn signatures(&self) -> &[(u8, SignatureBytes)] {
        &self.signatures
    }

    /// Which image it says that it is of. Anybody can say so: it names a release to whoever offered it, and nothing else.
    pub fn claimed_image(&self) -> ImageId {
        image_id(&self.manifest.image)
    }

    /// The manifest, if enough release keys of this root signed it.
    pub fn verified(&self, root: &Root) -> Option<Verified> {
        let signatures = self.signatures.iter().map(|(key, signature)| (*key, signature));
        signed_by(root.release().keys(), root.release().threshold(), &self.manifest.to_bytes(), signatures)
            .then_some(Verified(self.manifest))
    }
}

/// Whether at least `threshold` different keys signed; a signature that does not hold, or names no key, counts nothing.
pub(super) fn signed_by<'s>(
    keys: &[PublicKey],
    threshold: u8,
    bytes: &[u8],
    signatures: impl Iterator<Item = (u8, &'s SignatureBytes)>,
) -> bool {
    let mut counted = 0_u32;
    for (number, signature) in signatures {
        let Some(key) = keys.get(usize::from(number)) else { continue };
        let bit = 1_u32 << number;
        if counted & bit == 0 && holds(*key, bytes, signature) {
            counted |= bit;
        }
    }
    threshold > 0 && counted.count_ones() >= u32::from(threshold)
}

/// Whether this key signed these bytes. Strict: no weak key, and one signature of each message and key.
pub fn holds(key: PublicKey, bytes: &[u8], signature: &SignatureBytes) -> bool {
    let key = VerifyingKey::from_bytes(&key.0);
    key.is_ok_and(|key| key.verify_strict(bytes, &Signature::from_bytes(&signature.0)).is_ok())
}

/// A manifest whose signatures were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified(Manifest);

impl Verified {
    /// What the release is.
    pub fn manifest(&self) -> &Manifest {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Digest,
        update::{
            label::Label,
            testing::{key, manifest, root, sign},
        },
    };

    #[test]
    fn a_manifest_is_read_only_with_the_signature_of_the_right_key_over_all_of_it() {
        let (signed, signature) = (manifest(), sign(&key(9), &manifest().to_bytes()));
        let root = root(1, &[1], &[9]);
        let with = |manifest, key| Signed::new(manifest, &[(key, signature)]).unwrap().verified(&root);
        assert_eq!(with(signed, 0).unwrap().manifest(), &signed);
        let later = super::super::Version { patch: 1, ..signed.version };
        let label = Label::new("other").unwrap();
        for other in [
            Manifest { product: label, ..signed },
            Manifest { board: label, ..signed },
            Manifest { version: later, ..signed },
            Manifest { floor: later, ..signed },
            Manifest { size: 1, ..signed },
            Manifest { image: Digest([9; 32]), ..signed },
            Manifest { block: 1, ..signed },
            Manifest { blocks: Digest([9; 32]), ..signed },
            Manifest { expires: u64::MAX, ..signed },
        ] {
            assert_eq!(with(other, 0), None, "{other:?}");
        }
        assert_eq!(with(signed, 1), None, "the root has no second release key");
        assert_eq!(
            Signed::new(signed, &[(0, signature)]).unwrap().verified(&super::super::testing::root(
                1,
                &[9],
                &[1]
            )),
            None
        );
    }

    #[test]
    fn two_signatures_of_one_key_are_one() {
        let bytes = manifest().to_bytes();
        let root = root(1, &[1], &[8, 9]).with_release_threshold(2);
        let (one, other) = (sign(&key(8), &bytes), sign(&key(9), &bytes));
        let verified = |signatures: &[(u8, SignatureBytes)]| {
            Signed::new(manifest(), signatures).unwrap().verified(&root).is_some()
        };
        assert!(verified(&[(0, one), (1, other)]) && verified(&[(1, other), (0, one)]));
        assert!(
            !verified(&[(0, one)]) && !verified(&[(0, one), (0, one)]) && !verified(&[(0, one), (1, one)])
        );
        assert_eq!(Signed::new(manifest(), &[(0, one); 3]), None);
        assert_eq!(Signed::new(manifest(), &[]), None);
    }

    #[test]
    fn one_travels_as_its_bytes_and_nothing_beside_them() {
        let signed =
            Signed::new(manifest(), &[(0, SignatureBytes([7; 64])), (3, SignatureBytes([8; 64]))]).unwrap();
        let mut buffer = [0; MAX_SIGNED_BYTES];
        let bytes = signed.to_bytes(&mut buffer).to_vec();
        assert_eq!((bytes.len(), MANIFEST_BYTES), (MAX_SIGNED_BYTES, 124));
        assert_eq!(Signed::from_bytes(&bytes), Some(signed));
        assert_eq!(Signed::from_bytes(&[&bytes[..], &[0]].concat()), None);
        assert!((0..bytes.len()).all(|length| Signed::from_bytes(&bytes[..length]).is_none()));
    }
}

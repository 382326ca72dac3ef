//! The signed description of new firmware.
//!
//! A release is signed away from the hub: the hub stores and passes on what it cannot make. The signed bytes are of one
//! length and one layout, and a device in the field checks them by what it knew when it left, so this layout never
//! changes; another one would have another domain. The hashes of the blocks, which let a device check while it writes, are a
//! list of its own beside the image: here stands that list's hash.
//!
//! How images are fetched and how a slot is tried out comes with updates; until then a device takes no notice.

use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::{
    Digest,
    decision::{PublicKey, SignatureBytes},
};

/// Separates the signatures of releases from everything else that a key may ever sign.
pub const DOMAIN: &[u8] = b"gatepost/manifest/1";

/// Length of a [`Label`], in bytes.
pub const LABEL_BYTES: usize = 16;

/// A short name in ASCII, filled up with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label(pub [u8; LABEL_BYTES]);

impl Label {
    /// The label of a name; [`None`] if it is empty, too long, or has anything but visible ASCII in it.
    pub fn new(name: &str) -> Option<Self> {
        let mut label = [0; LABEL_BYTES];
        let fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        label.get_mut(..name.len()).filter(|_| fits)?.copy_from_slice(name.as_bytes());
        Some(Self(label))
    }

    /// The name; [`None`] if it is not one that [`Label::new`] makes.
    pub fn name(&self) -> Option<&str> {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(LABEL_BYTES);
        let (name, rest) = self.0.split_at(length);
        let name = core::str::from_utf8(name).ok()?;
        (Self::new(name)? == *self && rest.iter().all(|byte| *byte == 0)).then_some(name)
    }
}

/// The name, or that it is none.
impl core::fmt::Debug for Label {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name().unwrap_or("(no label)"))
    }
}

/// A firmware's version; the order is that of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// Changes when something is taken away.
    pub major: u16,
    /// Changes when something is added.
    pub minor: u16,
    /// Changes when something is mended.
    pub patch: u16,
}

/// What a release is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What it is for, such as `companion`.
    pub product: Label,
    /// The board, such as `esp32c3`.
    pub board: Label,
    /// Its version.
    pub version: Version,
    /// A device that took it takes nothing below this version afterwards.
    pub floor: Version,
    /// The image's length in bytes.
    pub size: u32,
    /// SHA-256 of the image.
    pub image: Digest,
    /// Bytes of one block; only the last may be shorter.
    pub block: u32,
    /// SHA-256 of the list of the blocks' hashes: SHA-256 of each block, one after the other.
    pub blocks: Digest,
    /// From then on it is not taken any more: seconds since 1970, UTC.
    pub expires: u64,
}

/// Length of the signed bytes.
const SIGNED_BYTES: usize = DOMAIN.len() + 2 * LABEL_BYTES + 2 * 6 + 4 + 32 + 4 + 32 + 8;

impl Manifest {
    /// The bytes under the signature: the fields in their order, behind the domain. Numbers are big-endian.
    pub fn to_bytes(&self) -> [u8; SIGNED_BYTES] {
        let version = |version: Version| {
            let [a, b] = version.major.to_be_bytes();
            let [c, d] = version.minor.to_be_bytes();
            let [e, f] = version.patch.to_be_bytes();
            [a, b, c, d, e, f]
        };
        let mut bytes = [0; SIGNED_BYTES];
        let mut rest = &mut bytes[..];
        for field in [
            DOMAIN,
            &self.product.0,
            &self.board.0,
            &version(self.version),
            &version(self.floor),
            &self.size.to_be_bytes(),
            &self.image.0,
            &self.block.to_be_bytes(),
            &self.blocks.0,
            &self.expires.to_be_bytes(),
        ] {
            let (head, tail) = rest.split_at_mut(field.len());
            head.copy_from_slice(field);
            rest = tail;
        }
        bytes
    }
}

/// A manifest as it travels: nobody has looked at the signature yet, so nothing of it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    manifest: Manifest,
    signature: SignatureBytes,
}

impl Signed {
    /// A manifest with the signature over [`Manifest::to_bytes`].
    pub fn new(manifest: Manifest, signature: SignatureBytes) -> Self {
        Self { manifest, signature }
    }

    /// The manifest, if this key signed it.
    pub fn verified(&self, key: PublicKey) -> Option<Verified> {
        let key = VerifyingKey::from_bytes(&key.0).ok()?;
        let signature = Signature::from_bytes(&self.signature.0);
        key.verify_strict(&self.manifest.to_bytes(), &signature).ok()?;
        Some(Verified(self.manifest))
    }
}

/// A manifest whose signature was checked.
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
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            product: Label::new("companion").unwrap(),
            board: Label::new("esp32c3").unwrap(),
            version: Version { major: 1, minor: 4, patch: 0 },
            floor: Version { major: 1, minor: 2, patch: 0 },
            size: 900_000,
            image: Digest([1; 32]),
            block: 4_096,
            blocks: Digest([2; 32]),
            expires: 1_800_000_000,
        }
    }

    fn sign(manifest: &Manifest, key: &SigningKey) -> SignatureBytes {
        SignatureBytes(key.sign(&manifest.to_bytes()).to_bytes())
    }

    #[test]
    fn a_manifest_is_read_only_with_the_signature_of_the_right_key_over_all_of_it() {
        let key = SigningKey::from_bytes(&[9; 32]);
        let public = PublicKey(key.verifying_key().to_bytes());
        let (signed, signature) = (manifest(), sign(&manifest(), &key));
        assert_eq!(Signed::new(signed, signature).verified(public).unwrap().manifest(), &signed);
        let later = Version { patch: 1, ..signed.version };
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
            assert_eq!(Signed::new(other, signature).verified(public), None, "{other:?}");
        }
        assert_eq!(Signed::new(signed, signature).verified(PublicKey([7; 32])), None);
    }

    #[test]
    fn the_signed_bytes_are_laid_out_as_documented() {
        let bytes = manifest().to_bytes();
        assert_eq!(&bytes[..19], b"gatepost/manifest/1");
        assert_eq!(&bytes[19..51], b"companion\0\0\0\0\0\0\0esp32c3\0\0\0\0\0\0\0\0\0");
        assert_eq!(&bytes[51..63], &[0, 1, 0, 4, 0, 0, 0, 1, 0, 2, 0, 0], "version and floor");
        assert_eq!(&bytes[63..67], &[0, 0x0d, 0xbb, 0xa0], "size");
        assert_eq!(&bytes[99..103], &[0, 0, 0x10, 0], "block");
        assert_eq!(bytes.len(), 143);
    }

    #[test]
    fn labels_are_short_visible_names() {
        assert_eq!(Label::new("esp32c3").unwrap().name(), Some("esp32c3"));
        assert_eq!(Label::new("0123456789abcdef").unwrap().name(), Some("0123456789abcdef"));
        for name in ["", "0123456789abcdefg", "a b", "ä", "a\0"] {
            assert_eq!(Label::new(name), None, "{name:?}");
        }
        assert_eq!(Label([0xff; LABEL_BYTES]).name(), None);
        assert_eq!(Label(*b"a\0b\0\0\0\0\0\0\0\0\0\0\0\0\0").name(), None);
    }
}

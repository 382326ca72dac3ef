//! What a release is: the bytes under its signatures.

use serde::{Deserialize, Serialize};

use super::{
    bytes::{Reader, Writer},
    label::{LABEL_BYTES, Label, Version},
};
use crate::Digest;

/// Separates the signatures of releases from everything else that a key may ever sign.
pub const DOMAIN: &[u8] = b"gatepost/manifest/1";
/// Length of a manifest without its domain, as it travels.
pub const MANIFEST_BYTES: usize = 2 * LABEL_BYTES + 2 * 6 + 4 + 32 + 4 + 32 + 8;
/// Length of the signed bytes.
pub const SIGNED_BYTES: usize = DOMAIN.len() + MANIFEST_BYTES;

/// What a release is.
///
/// The hashes of the blocks, which let a device check while it writes, are a list of its own beside the image: here stands that
/// list's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What it is for, such as `companion`.
    pub product: Label,
    /// The board, such as `esp32c3`.
    pub board: Label,
    /// Its version.
    pub version: Version,
    /// A device that runs it takes nothing below this version afterwards.
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

impl Manifest {
    /// The bytes under the signatures: the fields in their order, behind the domain.
    pub fn to_bytes(&self) -> [u8; SIGNED_BYTES] {
        let mut bytes = [0; SIGNED_BYTES];
        let mut writer = Writer::new(&mut bytes);
        for field in [
            DOMAIN,
            &self.product.0,
            &self.board.0,
            &self.version.to_bytes(),
            &self.floor.to_bytes(),
            &self.size.to_be_bytes(),
            &self.image.0,
            &self.block.to_be_bytes(),
            &self.blocks.0,
            &self.expires.to_be_bytes(),
        ] {
            writer.put(field);
        }
        bytes
    }

    /// Reads the fields, without the domain.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            product: Label(reader.array()?),
            board: Label(reader.array()?),
            version: Version::from_bytes(reader.array()?),
            floor: Version::from_bytes(reader.array()?),
            size: reader.u32()?,
            image: Digest(reader.array()?),
            block: reader.u32()?,
            blocks: Digest(reader.array()?),
            expires: reader.u64()?,
        })
    }

    /// Bytes of the list of the blocks' hashes.
    pub fn list_bytes(&self) -> usize {
        let blocks = self.size.div_ceil(self.block.max(1)) as usize;
        blocks.saturating_mul(super::HASH_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::testing::manifest;

    #[test]
    fn the_signed_bytes_are_laid_out_as_documented() {
        let bytes = manifest().to_bytes();
        assert_eq!(&bytes[..19], b"gatepost/manifest/1");
        assert_eq!(&bytes[19..51], b"companion\0\0\0\0\0\0\0esp32c3\0\0\0\0\0\0\0\0\0");
        assert_eq!(&bytes[51..63], &[0, 1, 0, 4, 0, 0, 0, 1, 0, 2, 0, 0], "version and floor");
        assert_eq!(&bytes[63..67], &[0, 0x0d, 0xbb, 0xa0], "size");
        assert_eq!(&bytes[99..103], &[0, 0, 0x10, 0], "block");
        assert_eq!(bytes.len(), 143);
        assert_eq!(Manifest::read(&mut Reader(&bytes[DOMAIN.len()..])), Some(manifest()));
        assert_eq!(Manifest::read(&mut Reader(&bytes[DOMAIN.len()..142])), None);
    }

    #[test]
    fn a_list_has_a_hash_for_each_block() {
        let of = |size, block| Manifest { size, block, ..manifest() }.list_bytes();
        assert_eq!([of(0, 4096), of(1, 4096), of(4096, 4096), of(4097, 4096)], [0, 32, 32, 64]);
        assert_eq!(of(7, 0), 7 * 32, "a block of nothing is refused elsewhere and divides by nothing here");
    }
}

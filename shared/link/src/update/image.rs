//! The version that an image itself carries. What runs reports that one and not the manifest's, so a release whose two versions differ
//! is never known to be installed: it would be offered for ever, or leave a device with a floor above what it runs.
//!
//! ```text
//! ESP-IDF    0xE9 at 0; at 32, behind the headers of the image and of its first segment, the description: 0xABCD5432 u32 | 12 bytes |
//!            version, text, filled up with zeros, 32 bytes
//! GPFLAT     "GPFLAT\0\x01" at 0; the version at 12, 3×u16: an emulated board's (`firmware/core/src/slots/flat.rs`)
//! ```
//!
//! Numbers are little-endian. Espressif's are `esp_app_desc_t` and its place:
//! <https://docs.espressif.com/projects/esp-idf/en/stable/esp32c3/api-reference/system/app_image_format.html>.

use core::str;

use super::Version;

/// How many of an image's first bytes have its version.
pub const HEAD_BYTES: usize = 80;
/// The first byte of an image of ESP-IDF's.
pub const ESP_MAGIC: u8 = 0xe9;
/// Where its application's description begins.
pub const DESCRIPTION_AT: usize = 24 + 8;
/// How that begins.
pub const DESCRIPTION: [u8; 4] = 0xabcd_5432_u32.to_le_bytes();
/// Where its version stands in it, and how many bytes that has.
pub const DESCRIPTION_VERSION_AT: usize = 16;
/// Bytes of the version's text.
pub const DESCRIPTION_VERSION_BYTES: usize = 32;
/// The first bytes of an emulated board's image; the last is the version of its layout.
pub const FLAT_MAGIC: [u8; 8] = *b"GPFLAT\0\x01";
/// Where the version stands in it.
pub const FLAT_VERSION_AT: usize = 12;

/// The version of the image that begins so; [`None`] if it does not say one, or says it in another form than releases do.
pub fn version(head: &[u8]) -> Option<Version> {
    if head.starts_with(&FLAT_MAGIC) {
        let bytes = head.get(FLAT_VERSION_AT..)?.first_chunk::<6>()?;
        let [major, minor, patch] = [0, 2, 4].map(|at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        return Some(Version { major, minor, patch });
    }
    let description = head.get(DESCRIPTION_AT..).filter(|_| head.first() == Some(&ESP_MAGIC))?;
    let text = description.strip_prefix(&DESCRIPTION)?.get(DESCRIPTION_VERSION_AT - DESCRIPTION.len()..)?;
    let text = text.first_chunk::<DESCRIPTION_VERSION_BYTES>()?;
    let end = text.iter().position(|byte| *byte == 0)?;
    Version::new(str::from_utf8(&text[..end]).ok()?)
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use super::*;

    fn esp(version: &str) -> Vec<u8> {
        let mut head = vec![0; HEAD_BYTES];
        head[0] = ESP_MAGIC;
        head[32..36].copy_from_slice(&[0x32, 0x54, 0xcd, 0xab]);
        head[48..48 + version.len()].copy_from_slice(version.as_bytes());
        head
    }

    fn flat() -> Vec<u8> {
        let mut head = vec![0; HEAD_BYTES];
        head[..8].copy_from_slice(b"GPFLAT\0\x01");
        head[12..18].copy_from_slice(&[1, 0, 4, 0, 0x2c, 1]);
        head
    }

    #[test]
    fn an_image_says_its_version() {
        let wanted = Version { major: 1, minor: 4, patch: 300 };
        assert_eq!(version(&esp("1.4.300")), Some(wanted));
        assert_eq!(version(&flat()), Some(wanted));
        assert_eq!(version(&flat()[..18]), Some(wanted), "all that is needed of it");
    }

    #[test]
    fn what_is_no_image_or_says_another_thing_has_no_version() {
        for text in ["", "v1.4.0", "1.4.0-rc1", "1.4", "1.4.0\n", "1.4.0123456789012345678901234567"] {
            assert_eq!(version(&esp(text)), None, "{text:?}");
        }
        assert_eq!(version(&[]), None);
        for whole in [esp("1.4.0"), flat()] {
            let needed = if whole[0] == ESP_MAGIC { HEAD_BYTES } else { 18 };
            assert!((0..needed).all(|length| version(&whole[..length]).is_none()));
        }
        for at in [0, 32, 35] {
            let mut other = esp("1.4.0");
            other[at] ^= 1;
            assert_eq!(version(&other), None, "{at}");
        }
        let mut other = esp("1.4.0");
        other[49] = 0xff;
        assert_eq!(version(&other), None, "no text");
    }
}

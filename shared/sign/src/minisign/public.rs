//! Public keys.

use std::fmt;

use gatepost_link::{Digest, decision::PublicKey};

use super::lines;

/// Ed25519, in keys.
pub(super) const ALGORITHM: &[u8] = b"Ed";

/// The number by which a signature names its key. It proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyId(pub [u8; 8]);

/// Sixteen digits, the last byte first, as minisign shows it.
impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", u64::from_le_bytes(self.0))
    }
}

/// A public key with its number.
///
/// Minisign draws the number at random. Here it is made of the key, the first 8 bytes of its SHA-256: a root stores keys without
/// their numbers, and shows them as the text that was handed over when they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Public {
    /// Its number.
    pub id: KeyId,
    /// The key.
    pub key: PublicKey,
}

impl Public {
    /// A key with the number that is made of it.
    pub fn of(key: PublicKey) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = Digest::of(&key.0).0;
        Self { id: KeyId([a, b, c, d, e, f, g, h]), key }
    }

    /// The contents of a `.pub` file.
    pub fn to_file(&self) -> String {
        lines::two(&format!("minisign public key {}", self.id), &self.bytes())
    }

    /// Reads a `.pub` file, or its second line alone.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn read(text: &str) -> Result<Self, NoPublicKey> {
        let bytes: Option<[u8; 42]> = lines::second(text).or_else(|| lines::base64(text));
        let bytes = bytes.filter(|bytes| bytes.starts_with(ALGORITHM)).ok_or(NoPublicKey)?;
        let (mut id, mut key) = ([0; 8], [0; 32]);
        id.copy_from_slice(&bytes[2..10]);
        key.copy_from_slice(&bytes[10..]);
        let point = ed25519_dalek::VerifyingKey::from_bytes(&key).map_err(|_| NoPublicKey)?;
        // Anybody can sign with a weak key.
        if point.is_weak() {
            return Err(NoPublicKey);
        }
        Ok(Self { id: KeyId(id), key: PublicKey(key) })
    }

    fn bytes(&self) -> Vec<u8> {
        [ALGORITHM, &self.id.0, &self.key.0].concat()
    }
}

/// The text that is handed over: the second line of a `.pub` file.
impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lines::to_base64(&self.bytes()))
    }
}

/// A text is no public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no public key of minisign's: give the .pub file that was written beside the secret key")]
pub struct NoPublicKey;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minisign::Secret;

    #[test]
    fn a_key_is_read_from_its_file_and_from_its_line() {
        let public = Secret::from_seed([1; 32]).public();
        assert_eq!(Public::read(&public.to_file()), Ok(public));
        assert_eq!(Public::read(&public.to_string()), Ok(public));
        assert_eq!(Public::of(public.key), public);
        let crlf = public.to_file().replace('\n', "\r\n");
        assert_eq!(Public::read(&crlf), Ok(public));
    }

    #[test]
    fn another_program_reads_it() {
        let public = Secret::from_seed([1; 32]).public();
        let read = minisign::PublicKeyBox::from_string(&public.to_file()).unwrap().into_public_key().unwrap();
        assert_eq!(read.keynum(), &public.id.0);
        assert!(read.to_bytes().ends_with(&public.key.0));
    }

    #[test]
    fn other_texts_are_no_keys() {
        let public = Secret::from_seed([1; 32]).public();
        let weak = Public { id: public.id, key: PublicKey([0; 32]) };
        let mut texts = vec![String::new(), "x".to_owned(), weak.to_file(), public.to_file() + "more\n"];
        texts.push(public.to_file().replace("untrusted", "trusted"));
        texts.push(lines::two("c", &[b"ED", &[0; 40][..]].concat()));
        texts.push(lines::two("c", &[b"Ed", &[0; 41][..]].concat()));
        for text in texts {
            assert_eq!(Public::read(&text), Err(NoPublicKey), "{text:?}");
        }
    }
}

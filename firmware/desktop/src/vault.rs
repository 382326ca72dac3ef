//! Seals a companion's files with a passphrase.
//!
//! Argon2id derives a key from the passphrase, and XChaCha20-Poly1305 seals each file with it, under a fresh random nonce and
//! with the file's name as associated data. The parameters are in a file of their own, with a sealed value that
//! distinguishes a wrong passphrase from a damaged file. The counter is not secret and is not sealed.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::{
    Key, KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};
use serde::{Deserialize, Serialize};

/// Characters of the shortest passphrase for new keys.
pub const MIN_PASSPHRASE: usize = 8;
/// Bytes of the longest passphrase.
pub const MAX_PASSPHRASE: usize = 1_024;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;
/// Bytes of the tag after the ciphertext.
const TAG_BYTES: usize = 16;
/// Binds the ciphertext to this program and this format.
const DOMAIN: &[u8] = b"gatepost/companion-store/1/";
/// The name under which the check value is sealed.
const CHECK: &str = "vault";
/// The version of the format.
const FORMAT: u8 = 1;
/// RFC 9106, section 4: the second recommended option, for where memory is scarce. KiB, passes, lanes.
const COST: Cost = Cost { memory: 64 * 1_024, passes: 3, lanes: 4 };
/// The highest cost that a file may ask for: a damaged one must not use all memory or run forever.
const MAX_COST: Cost = Cost { memory: 1_024 * 1_024, passes: 16, lanes: 16 };

/// What it costs to try a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Cost {
    /// KiB.
    memory: u32,
    passes: u32,
    lanes: u32,
}

/// How the key is made of the passphrase, and the proof that it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    format: u8,
    cost: Cost,
    salt: [u8; 16],
    nonce: [u8; NONCE_BYTES],
    check: [u8; TAG_BYTES],
}

/// Opens and seals with the key of one passphrase.
#[derive(Clone)]
pub(crate) struct Vault(XChaCha20Poly1305);

/// Why a vault could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VaultError {
    /// It was made with another passphrase.
    Passphrase,
    /// It was made by another program, or is damaged.
    Header,
}

impl Vault {
    /// A new vault, and what must be kept of it.
    pub(crate) fn new(passphrase: &str) -> (Self, Header) {
        let (salt, nonce) = (random::<16>(), random::<NONCE_BYTES>());
        let vault = Self::derived(passphrase, &salt, COST).expect("a cost of our own is in its bounds");
        let sealed = vault.sealed(CHECK, &[], nonce);
        let check = sealed[NONCE_BYTES..].try_into().expect("nothing and a tag");
        (vault, Header { format: FORMAT, cost: COST, salt, nonce, check })
    }

    /// The vault of this header.
    pub(crate) fn open(header: &Header, passphrase: &str) -> Result<Self, VaultError> {
        let Header { format, cost, salt, nonce, check } = header;
        let Cost { memory, passes, lanes } = *cost;
        let within = memory <= MAX_COST.memory && passes <= MAX_COST.passes && lanes <= MAX_COST.lanes;
        if *format != FORMAT || !within {
            return Err(VaultError::Header);
        }
        let vault = Self::derived(passphrase, salt, *cost).ok_or(VaultError::Header)?;
        match vault.unseal(CHECK, &[&nonce[..], check].concat()) {
            Some(_) => Ok(vault),
            None => Err(VaultError::Passphrase),
        }
    }

    fn derived(passphrase: &str, salt: &[u8; 16], Cost { memory, passes, lanes }: Cost) -> Option<Self> {
        let mut key = Key::default();
        let length = key.len();
        let params = Params::new(memory, passes, lanes, Some(length)).ok()?;
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon.hash_password_into(passphrase.as_bytes(), salt, &mut key).ok()?;
        Some(Self(XChaCha20Poly1305::new(&key)))
    }

    /// Seals what belongs into the file of this name.
    pub(crate) fn seal(&self, name: &str, plain: &[u8]) -> Vec<u8> {
        self.sealed(name, plain, random())
    }

    fn sealed(&self, name: &str, plain: &[u8], nonce: [u8; NONCE_BYTES]) -> Vec<u8> {
        let aad = [DOMAIN, name.as_bytes()].concat();
        let sealed = self.0.encrypt(XNonce::from_slice(&nonce), Payload { msg: plain, aad: &aad });
        [&nonce[..], &sealed.expect("a few bytes are within the cipher's bounds")].concat()
    }

    /// What was sealed for the file of this name; [`None`] if it was not sealed so.
    pub(crate) fn unseal(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
        let aad = [DOMAIN, name.as_bytes()].concat();
        self.0.decrypt(XNonce::from_slice(nonce), Payload { msg: sealed, aad: &aad }).ok()
    }
}

/// Hides the key.
impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault(***)")
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has random bytes for its programs");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cheap, so that the tests of what is sealed are.
    fn cheap(passphrase: &str) -> Vault {
        Vault::derived(passphrase, &[7; 16], Cost { memory: 64, passes: 1, lanes: 1 }).unwrap()
    }

    #[test]
    fn a_vault_opens_with_its_passphrase_and_with_no_other() {
        let (vault, header) = Vault::new("correct horse");
        let sealed = vault.seal("keys", b"secret");
        let again = Vault::open(&header, "correct horse").unwrap();
        assert_eq!(again.unseal("keys", &sealed).as_deref(), Some(&b"secret"[..]));
        for wrong in ["", "correct hors", "Correct horse", "correct horse "] {
            assert_eq!(Vault::open(&header, wrong).unwrap_err(), VaultError::Passphrase, "{wrong:?}");
        }
        let (_, other) = Vault::new("correct horse");
        assert_ne!((header.salt, header.nonce), (other.salt, other.nonce));
    }

    #[test]
    fn what_is_sealed_is_hidden_whole_and_of_one_file() {
        let vault = cheap("p");
        let sealed = vault.seal("keys", b"secret");
        assert_eq!(sealed.len(), 6 + NONCE_BYTES + TAG_BYTES);
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        assert_ne!(sealed, vault.seal("keys", b"secret"), "a nonce is used once");
        assert_eq!(vault.unseal("bond", &sealed), None, "moved to another file");
        assert_eq!(cheap("q").unseal("keys", &sealed), None);
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(vault.unseal("keys", &damaged), None, "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert_eq!(vault.unseal("keys", &sealed[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn a_header_that_asks_for_too_much_is_refused_before_it_is_tried() {
        let (_, header) = Vault::new("correct horse");
        let huge = Cost { memory: u32::MAX, ..COST };
        let long = Cost { passes: u32::MAX, ..COST };
        let none = Cost { memory: 0, passes: 0, lanes: 0 };
        for cost in [huge, long, none] {
            let header = Header { cost, ..header.clone() };
            assert_eq!(Vault::open(&header, "correct horse").unwrap_err(), VaultError::Header);
        }
        let newer = Header { format: 2, ..header };
        assert_eq!(Vault::open(&newer, "correct horse").unwrap_err(), VaultError::Header);
    }
}

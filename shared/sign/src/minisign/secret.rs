//! Secret keys, as minisign keeps them in a file.

use std::fmt;

use blake2::{Blake2b, Digest as _, digest::consts::U32};
use ed25519_dalek::{Signer as _, SigningKey};
use gatepost_link::decision::{PublicKey, SignatureBytes};
use zeroize::Zeroizing;

use super::{
    lines,
    public::{ALGORITHM, KeyId, Public},
    scrypt::Cost,
};

/// Bytes of the longest password, as in minisign.
pub const MAX_PASSWORD: usize = 1024;
/// scrypt, and BLAKE2b for the checksum.
const SCRYPT: &[u8] = b"Sc";
const NO_PASSWORD: &[u8] = &[0, 0];
const CHECKSUM: &[u8] = b"B2";
/// Number, seed and public key, checksum: what the password seals.
const SEALED: usize = 8 + 64 + 32;
/// All of the file's second line.
const BYTES: usize = 2 + 2 + 2 + 32 + 8 + 8 + SEALED;

/// A key that signs.
pub struct Secret {
    id: KeyId,
    key: SigningKey,
}

impl Secret {
    /// A new key from the system's randomness.
    ///
    /// # Errors
    ///
    /// The system gives none.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(|_| KeyError::Randomness)?;
        Ok(Self::from_seed(*seed))
    }

    /// The key of a seed of 32 bytes.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        let key = SigningKey::from_bytes(&seed);
        Self { id: Public::of(PublicKey(key.verifying_key().to_bytes())).id, key }
    }

    /// Its public key.
    pub fn public(&self) -> Public {
        Public { id: self.id, key: PublicKey(self.key.verifying_key().to_bytes()) }
    }

    /// Its signature over these bytes: the same every time.
    pub fn sign(&self, bytes: &[u8]) -> SignatureBytes {
        SignatureBytes(self.key.sign(bytes).to_bytes())
    }

    /// The contents of its file, sealed by a password that costs this much to try, or by nothing.
    ///
    /// # Errors
    ///
    /// The password is empty or too long, or the system gives no randomness for its salt.
    pub fn to_file(&self, password: Option<(&str, Cost)>) -> Result<Zeroizing<String>, KeyError> {
        let pair = Zeroizing::new(self.key.to_keypair_bytes());
        let mut sealed = Zeroizing::new([0; SEALED]);
        sealed[..8].copy_from_slice(&self.id.0);
        sealed[8..72].copy_from_slice(&*pair);
        let sum = checksum(&sealed[..72]);
        sealed[72..].copy_from_slice(&sum);
        let (kind, salt, [operations, memory]) = match password {
            None => (NO_PASSWORD, [0; 32], [[0; 8]; 2]),
            Some((password, cost)) => {
                let mut salt = [0; 32];
                getrandom::fill(&mut salt).map_err(|_| KeyError::Randomness)?;
                apply(password, cost, &salt, &mut sealed)?;
                (SCRYPT, salt, cost.to_bytes())
            }
        };
        let all = [ALGORITHM, kind, CHECKSUM, &salt, &operations, &memory, &sealed[..]];
        let all = Zeroizing::new(all.concat());
        let comment =
            if password.is_some() { "minisign encrypted secret key" } else { "minisign secret key" };
        Ok(Zeroizing::new(lines::two(comment, &all)))
    }
}

/// The public key alone.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secret").field(&self.public()).finish()
    }
}

/// The file of a secret key, not opened yet.
pub struct SecretFile {
    cost: Option<Cost>,
    salt: [u8; 32],
    sealed: Zeroizing<[u8; SEALED]>,
}

impl SecretFile {
    /// Reads the contents of a key's file.
    ///
    /// # Errors
    ///
    /// It is no secret key of minisign's.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let bytes: Option<[u8; BYTES]> = lines::second(text);
        let bytes = Zeroizing::new(bytes.ok_or(KeyError::NoKey)?);
        let (operations, memory) = (field(&bytes[..], 38), field(&bytes[..], 46));
        let cost = match (&bytes[..2], &bytes[2..4], &bytes[4..6]) {
            (ALGORITHM, SCRYPT, CHECKSUM) => Some(Cost::from_bytes(operations, memory)),
            (ALGORITHM, NO_PASSWORD, CHECKSUM) => None,
            _ => return Err(KeyError::NoKey),
        };
        Ok(Self { cost, salt: field(&bytes[..], 6), sealed: Zeroizing::new(field(&bytes[..], 54)) })
    }

    /// Whether a password opens it.
    pub fn has_password(&self) -> bool {
        self.cost.is_some()
    }

    /// The key. The password is ignored if there is none on the file.
    ///
    /// # Errors
    ///
    /// There is no password or a wrong one, the file is damaged, or it asks for more memory or time than minisign's own.
    pub fn open(&self, password: Option<&str>) -> Result<Secret, KeyError> {
        let mut sealed = self.sealed.clone();
        if let Some(cost) = self.cost {
            apply(password.ok_or(KeyError::Password)?, cost, &self.salt, &mut sealed)?;
        }
        let sum = &sealed[72..];
        // Minisign itself writes zeros where there is no password, and never looks.
        let whole = checksum(&sealed[..72]) == *sum || (!self.has_password() && *sum == [0; 32]);
        if !whole {
            return Err(if self.has_password() { KeyError::WrongPassword } else { KeyError::Damaged });
        }
        let pair = Zeroizing::new(field(&sealed[..], 8));
        let key = SigningKey::from_keypair_bytes(&pair).map_err(|_| KeyError::Damaged)?;
        Ok(Secret { id: KeyId(field(&sealed[..], 0)), key })
    }
}

/// Nothing of the key.
impl fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretFile").field("has_password", &self.has_password()).finish_non_exhaustive()
    }
}

/// The `N` bytes that begin there.
fn field<const N: usize>(bytes: &[u8], begin: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[begin..][..N]);
    field
}

fn checksum(id_and_pair: &[u8]) -> [u8; 32] {
    Blake2b::<U32>::new().chain_update(ALGORITHM).chain_update(id_and_pair).finalize().into()
}

/// Seals or opens.
fn apply(password: &str, cost: Cost, salt: &[u8; 32], sealed: &mut [u8; SEALED]) -> Result<(), KeyError> {
    if password.is_empty() || password.len() > MAX_PASSWORD {
        return Err(KeyError::PasswordLength);
    }
    let mut stream = Zeroizing::new([0; SEALED]);
    cost.derive(password.as_bytes(), salt, &mut *stream)?;
    sealed.iter_mut().zip(stream.iter()).for_each(|(byte, key)| *byte ^= key);
    Ok(())
}

/// Why there is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The file is not a secret key.
    #[error("this is no secret key of minisign's: give the .key file that `gatepost-sign key new` wrote")]
    NoKey,
    /// A password is needed.
    #[error("the key has a password: type it at a terminal, or give --password-file")]
    Password,
    /// It does not open the file.
    #[error(
        "the password is wrong, or the key's file is damaged: try again, or take the file from your copy"
    )]
    WrongPassword,
    /// Its checksum is another.
    #[error("the key's file is damaged: take it from your copy")]
    Damaged,
    /// It has no bytes, or more than [`MAX_PASSWORD`].
    #[error("a password has 1 to {MAX_PASSWORD} bytes")]
    PasswordLength,
    /// The file asks for more memory or time than minisign's own do.
    #[error(
        "opening the key would take more memory or time than minisign's keys do: somebody changed its file"
    )]
    Cost,
    /// The machine has less memory.
    #[error(
        "trying the password takes {mib} MiB of memory, and this machine has less: take another, or a key made with less --memory"
    )]
    Memory {
        /// How much, in MiB.
        mib: usize,
    },
    /// There is no randomness.
    #[error("the system gives no randomness: make keys on a machine that does")]
    Randomness,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: Cost = Cost::of_memory(16).expect("it is in the table");

    #[test]
    fn a_key_opens_with_its_password_and_with_no_other() {
        let secret = Secret::from_seed([1; 32]);
        let file = secret.to_file(Some(("correct horse", CHEAP))).unwrap();
        let read = SecretFile::read(&file).unwrap();
        assert!(read.has_password());
        assert_eq!(read.open(Some("correct horse")).unwrap().public(), secret.public());
        assert_eq!(read.open(Some("correct horsf")).unwrap_err(), KeyError::WrongPassword);
        assert_eq!(read.open(Some("")).unwrap_err(), KeyError::PasswordLength);
        assert_eq!(read.open(None).unwrap_err(), KeyError::Password);
        assert_ne!(file, secret.to_file(Some(("correct horse", CHEAP))).unwrap(), "each has its salt");
    }

    #[test]
    fn another_program_reads_keys_with_and_without_password() {
        let secret = Secret::from_seed([1; 32]);
        let text = secret.to_file(Some(("pass", CHEAP))).unwrap().to_string();
        let key = minisign::SecretKeyBox::from(text).into_secret_key(Some("pass".to_owned())).unwrap();
        assert_eq!(key.keynum(), secret.public().id.0);
        let text = secret.to_file(None).unwrap().to_string();
        let key = minisign::SecretKeyBox::from(text).into_unencrypted_secret_key().unwrap();
        assert_eq!(
            minisign::PublicKey::from_secret_key(&key).unwrap().to_bytes()[10..],
            secret.public().key.0
        );
    }

    #[test]
    fn keys_of_another_program_are_read() {
        let pair = minisign::KeyPair::generate_encrypted_keypair(Some("pass".to_owned())).unwrap();
        let text = pair.sk.to_box(None).unwrap().into_string();
        let secret = SecretFile::read(&text).unwrap().open(Some("pass")).unwrap();
        let public = Public::read(&pair.pk.to_box().unwrap().into_string()).unwrap();
        assert_eq!(secret.public(), public, "with the number that was drawn");
    }

    #[test]
    fn damaged_files_are_refused() {
        let secret = Secret::from_seed([1; 32]);
        let good = secret.to_file(None).unwrap();
        let bytes: [u8; BYTES] = lines::second(&good).unwrap();
        let changed = |at: usize| {
            let mut changed = bytes;
            changed[at] ^= 1;
            SecretFile::read(&lines::two("c", &changed)).and_then(|file| file.open(None)).map(|_| ())
        };
        assert!((0..6).all(|at| changed(at) == Err(KeyError::NoKey)));
        assert!((54..BYTES).all(|at| changed(at) == Err(KeyError::Damaged)));
        let mut unsummed = bytes;
        unsummed[126..].fill(0);
        let read = |bytes: &[u8]| SecretFile::read(&lines::two("c", bytes)).unwrap().open(None);
        assert_eq!(read(&unsummed).unwrap().public(), secret.public(), "as minisign writes it");
        unsummed[70] ^= 1;
        assert_eq!(read(&unsummed).unwrap_err(), KeyError::Damaged, "the public key is another");
        for text in ["", "untrusted comment: x\n", &good[..good.len() - 3], &secret.public().to_file()] {
            assert_eq!(SecretFile::read(text).unwrap_err(), KeyError::NoKey, "{text}");
        }
        let mut greedy = bytes;
        greedy[2..4].copy_from_slice(SCRYPT);
        greedy[38..54].fill(0xff);
        let greedy = SecretFile::read(&lines::two("c", &greedy)).unwrap();
        assert_eq!(greedy.open(Some("x")).unwrap_err(), KeyError::Cost);
    }

    #[test]
    fn a_key_is_never_shown() {
        let secret = Secret::from_seed([0x5a; 32]);
        let file = SecretFile::read(&secret.to_file(None).unwrap()).unwrap();
        let shown = format!("{secret:?} {file:?}");
        assert!(!shown.contains("90, 90") && !shown.contains("5a5a"), "{shown}");
    }
}

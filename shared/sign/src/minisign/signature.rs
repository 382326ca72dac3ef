//! Signatures of files, in files of their own: `.minisig`.

use blake2::{Blake2b512, Digest as _};
use ed25519_dalek::{Signature, VerifyingKey};

use super::{
    Public, Secret,
    lines::{self, UNTRUSTED},
    public::KeyId,
};

/// Ed25519 over a file's BLAKE2b hash.
const HASHED: &[u8] = b"ED";
/// Ed25519 over the file itself, as minisign once did.
const PLAIN: &[u8] = b"Ed";
const TRUSTED: &str = "trusted comment: ";
/// Bytes of the longest comment, which minisign still reads.
const MAX_COMMENT: usize = 1024;

/// The signature of a file, with a comment that is signed too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSignature {
    id: KeyId,
    /// Over the hash of the file.
    file: [u8; 64],
    comment: String,
    /// Over `file` and the comment.
    both: [u8; 64],
}

impl FileSignature {
    /// Signs a file.
    ///
    /// # Errors
    ///
    /// The comment is not one line of at most 1,024 bytes.
    pub fn new(secret: &Secret, file: &[u8], comment: &str) -> Result<Self, SignatureError> {
        if comment.len() > MAX_COMMENT || comment.chars().any(char::is_control) {
            return Err(SignatureError::Comment);
        }
        let signature = secret.sign(&hash(file)).0;
        let both = secret.sign(&[&signature[..], comment.as_bytes()].concat()).0;
        Ok(Self { id: secret.public().id, file: signature, comment: comment.to_owned(), both })
    }

    /// The contents of the `.minisig` file.
    pub fn to_file(&self) -> String {
        let first = lines::two(
            &format!("signature by gatepost-sign, key {}", self.id),
            &[HASHED, &self.id.0, &self.file].concat(),
        );
        format!("{first}{TRUSTED}{}\n{}\n", self.comment, lines::to_base64(&self.both))
    }

    /// Reads a `.minisig` file.
    ///
    /// # Errors
    ///
    /// It is none, or of the kind that minisign made before 0.10.
    pub fn read(text: &str) -> Result<Self, SignatureError> {
        let found = Self::parts(text).ok_or(SignatureError::NoSignature)?;
        found.ok_or(SignatureError::Plain)
    }

    fn parts(text: &str) -> Option<Option<Self>> {
        let mut lines = text.lines();
        lines.next()?.strip_prefix(UNTRUSTED)?;
        let bytes: [u8; 74] = lines::base64(lines.next()?)?;
        let comment = lines.next()?.strip_prefix(TRUSTED)?.to_owned();
        let both = lines::base64(lines.next()?)?;
        let fits = lines.next().is_none() && comment.len() <= MAX_COMMENT;
        let (mut id, mut file) = ([0; 8], [0; 64]);
        id.copy_from_slice(&bytes[2..10]);
        file.copy_from_slice(&bytes[10..]);
        match &bytes[..2] {
            HASHED if fits => Some(Some(Self { id: KeyId(id), file, comment, both })),
            PLAIN if fits => Some(None),
            _ => None,
        }
    }

    /// The signed comment, if this key signed the file and it.
    ///
    /// # Errors
    ///
    /// Another key did, or the file or the comment is another one.
    pub fn verify(&self, public: &Public, file: &[u8]) -> Result<&str, SignatureError> {
        if self.id != public.id {
            return Err(SignatureError::OtherKey { signed: self.id, given: public.id });
        }
        let key = VerifyingKey::from_bytes(&public.key.0).map_err(|_| SignatureError::Wrong)?;
        let holds = |bytes: &[u8], signature| {
            key.verify_strict(bytes, &Signature::from_bytes(signature)).map_err(|_| SignatureError::Wrong)
        };
        holds(&hash(file), &self.file)?;
        holds(&[&self.file[..], self.comment.as_bytes()].concat(), &self.both)?;
        Ok(&self.comment)
    }
}

fn hash(file: &[u8]) -> [u8; 64] {
    Blake2b512::digest(file).into()
}

/// Why a signature does not hold, or is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// It is not one.
    #[error("this is no signature of minisign's: give the .minisig file")]
    NoSignature,
    /// It is over the file itself and not over its hash.
    #[error("the signature is of minisign's old kind, which is not taken here: let it be signed again")]
    Plain,
    /// It names another key.
    #[error("key {signed} signed it, not {given}: give that key's .pub file if you trust it")]
    OtherKey {
        /// The key that it names.
        signed: KeyId,
        /// The key that was given.
        given: KeyId,
    },
    /// It does not hold.
    #[error("the file or its signed comment is not what was signed: do not use it")]
    Wrong,
    /// The comment cannot be written.
    #[error("a comment is one line of at most {MAX_COMMENT} bytes")]
    Comment,
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_file_is_what_was_signed_or_it_is_refused() {
        let (secret, other) = (Secret::from_seed([1; 32]), Secret::from_seed([2; 32]).public());
        let text = FileSignature::new(&secret, b"sums", "file:SHA256SUMS").unwrap().to_file();
        let signature = FileSignature::read(&text).unwrap();
        assert_eq!(signature.verify(&secret.public(), b"sums"), Ok("file:SHA256SUMS"));
        assert_eq!(signature.verify(&secret.public(), b"sumt"), Err(SignatureError::Wrong));
        assert!(matches!(signature.verify(&other, b"sums"), Err(SignatureError::OtherKey { .. })));
        let posing = Public { id: secret.public().id, ..other };
        assert_eq!(signature.verify(&posing, b"sums"), Err(SignatureError::Wrong));
        let comment = FileSignature::read(&text.replace("file:", "fine:")).unwrap();
        assert_eq!(comment.verify(&secret.public(), b"sums"), Err(SignatureError::Wrong));
        assert_eq!(text, FileSignature::new(&secret, b"sums", "file:SHA256SUMS").unwrap().to_file());
    }

    #[test]
    fn another_program_verifies_it_and_the_other_way_round() {
        let secret = Secret::from_seed([1; 32]);
        let text = FileSignature::new(&secret, b"sums", "file:SHA256SUMS").unwrap().to_file();
        let public = minisign::PublicKeyBox::from_string(&secret.public().to_file()).unwrap();
        let public = public.into_public_key().unwrap();
        let signature = minisign::SignatureBox::from_string(&text).unwrap();
        minisign::verify(&public, &signature, Cursor::new(b"sums"), true, false, false).unwrap();

        let pair = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
        let theirs = minisign::sign(None, &pair.sk, Cursor::new(b"sums"), Some("c"), None).unwrap();
        let public = Public::read(&pair.pk.to_box().unwrap().into_string()).unwrap();
        let read = FileSignature::read(&theirs.into_string()).unwrap();
        assert_eq!(read.verify(&public, b"sums"), Ok("c"));
    }

    #[test]
    fn other_texts_are_no_signatures() {
        let secret = Secret::from_seed([1; 32]);
        let text = FileSignature::new(&secret, b"sums", "c").unwrap().to_file();
        let lines: Vec<&str> = text.lines().collect();
        for broken in
            ["", lines[0], &lines[..3].join("\n"), &text.replace("trusted", "t"), &(text.clone() + "x\n")]
        {
            assert_eq!(FileSignature::read(broken), Err(SignatureError::NoSignature), "{broken}");
        }
        let plain = lines::to_base64(&[b"Ed", &[0; 72][..]].concat());
        assert_eq!(FileSignature::read(&text.replace(lines[1], &plain)), Err(SignatureError::Plain));
        for comment in ["a\nb", "a\rb", &"x".repeat(1025)] {
            assert_eq!(FileSignature::new(&secret, b"", comment), Err(SignatureError::Comment));
        }
    }
}

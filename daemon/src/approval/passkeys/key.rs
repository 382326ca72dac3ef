//! A passkey's public key, as browsers give it: SubjectPublicKeyInfo in DER (RFC 5280, 4.1), of one of the three algorithms that the page
//! asks for. The form of each is fixed but for the key's own bytes, so it is compared and not parsed.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};

/// Before a point of P-256 that is not compressed (RFC 5480, 2).
pub(super) const P256: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
/// Before a key of Ed25519 (RFC 8410, 4).
const ED25519_KEY: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
/// `rsaEncryption` with its empty parameters (RFC 3279, 2.3.1), between two lengths.
const RSA: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";

/// The bytes that verify, and how.
pub(super) struct Key<'a> {
    by: &'static dyn VerificationAlgorithm,
    bytes: &'a [u8],
}

impl<'a> Key<'a> {
    /// Reads a key of this algorithm (<https://www.iana.org/assignments/cose/cose.xhtml#algorithms>); nothing if it is none.
    pub(super) fn read(spki: &'a [u8], algorithm: i64) -> Option<Self> {
        let (by, bytes): (&'static dyn VerificationAlgorithm, _) = match algorithm {
            -7 => (
                &ECDSA_P256_SHA256_ASN1,
                spki.strip_prefix(P256).filter(|key| key.len() == 65 && key[0] == 4)?,
            ),
            -8 => (&ED25519, spki.strip_prefix(ED25519_KEY).filter(|key| key.len() == 32)?),
            -257 => {
                let bits = long(spki, 0x30)?.strip_prefix(RSA)?;
                (&RSA_PKCS1_2048_8192_SHA256, long(bits, 0x03)?.strip_prefix(&[0])?)
            }
            _ => return None,
        };
        Some(Self { by, bytes })
    }

    /// Whether this is its signature.
    pub(super) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.by, self.bytes).verify(message, signature).is_ok()
    }
}

/// What is in a DER value of this tag whose length has two bytes, if that is all there is. An RSA key that is long enough is one.
fn long(der: &[u8], tag: u8) -> Option<&[u8]> {
    let [first, 0x82, high, low, content @ ..] = der else { return None };
    (*first == tag && content.len() == usize::from(u16::from_be_bytes([*high, *low]))).then_some(content)
}

//! A person's verdict on one document, signed by the companion.
//!
//! The signature covers everything that may be questioned later: which hub asked, which device answered, about which
//! request and which exact document, with which verdict, in which session, and the device's counter. The counter only
//! grows and is reserved before the card opens, so a decision counts once even if the device loses power.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::{Digest, RequestId, session::SessionHash};

/// Separates decision signatures from everything else that the key may sign.
pub const DOMAIN: &[u8] = b"gatepost/decision/1";

/// What the person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Verdict {
    /// Send exactly what was shown.
    Approve = 1,
    /// Do not send it.
    Deny = 2,
}

/// A public Ed25519 key, of a hub or of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

/// Everything that a decision's signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// The hub that asked.
    pub hub: PublicKey,
    /// The device that answers.
    pub device: PublicKey,
    /// The request decided on.
    pub request: RequestId,
    /// SHA-256 of the document's bytes as the device received and showed them.
    pub document: Digest,
    /// What the person decided.
    pub verdict: Verdict,
    /// The device's counter: greater than that of any decision before.
    pub counter: u64,
    /// The session in which the decision is given.
    pub session: SessionHash,
}

/// Number of signed bytes: domain, two keys, request, document, verdict, counter, session.
const SIGNED_BYTES: usize = DOMAIN.len() + 32 + 32 + 16 + 32 + 1 + 8 + 32;

impl Statement {
    /// The bytes under the signature; the counter is big-endian.
    pub fn to_bytes(&self) -> [u8; SIGNED_BYTES] {
        let mut bytes = [0; SIGNED_BYTES];
        let mut rest = &mut bytes[..];
        for field in [
            DOMAIN,
            &self.hub.0,
            &self.device.0,
            &self.request.0,
            &self.document.0,
            &[self.verdict as u8],
            &self.counter.to_be_bytes(),
            &self.session.0,
        ] {
            let (head, tail) = rest.split_at_mut(field.len());
            head.copy_from_slice(field);
            rest = tail;
        }
        bytes
    }

    /// Signs the statement with the device's key.
    pub fn sign(&self, key: &SigningKey) -> Decision {
        Decision {
            request: self.request,
            verdict: self.verdict,
            counter: self.counter,
            signature: SignatureBytes(key.sign(&self.to_bytes()).to_bytes()),
        }
    }

    /// Whether `signature` is the device's own over exactly this statement.
    pub fn verify(&self, signature: &SignatureBytes) -> bool {
        VerifyingKey::from_bytes(&self.device.0)
            .and_then(|key| key.verify_strict(&self.to_bytes(), &Signature::from_bytes(&signature.0)))
            .is_ok()
    }
}

/// A decision as it is sent: the parts of a [`Statement`] that the hub does not know, and the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The request decided on.
    pub request: RequestId,
    /// What the person decided.
    pub verdict: Verdict,
    /// The device's counter.
    pub counter: u64,
    /// Over the [`Statement`].
    pub signature: SignatureBytes,
}

/// An Ed25519 signature. Serialised as two halves, because serde's arrays end at 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureBytes(pub [u8; 64]);

impl Serialize for SignatureBytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (r, s) = self.0.split_at(32);
        let halves: ([u8; 32], [u8; 32]) =
            (r.try_into().expect("half of 64 bytes"), s.try_into().expect("half of 64 bytes"));
        halves.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SignatureBytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (r, s) = <([u8; 32], [u8; 32])>::deserialize(deserializer)?;
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&r);
        bytes[32..].copy_from_slice(&s);
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(key: &SigningKey) -> Statement {
        Statement {
            hub: PublicKey([1; 32]),
            device: PublicKey(key.verifying_key().to_bytes()),
            request: RequestId([2; 16]),
            document: Digest([3; 32]),
            verdict: Verdict::Deny,
            counter: 7,
            session: SessionHash([4; 32]),
        }
    }

    #[test]
    fn a_signature_verifies_its_own_statement() {
        let key = SigningKey::from_bytes(&[9; 32]);
        let statement = statement(&key);
        assert!(statement.verify(&statement.sign(&key).signature));
    }

    #[test]
    fn a_signature_fails_when_any_field_is_another() {
        let key = SigningKey::from_bytes(&[9; 32]);
        let signed = statement(&key);
        let signature = signed.sign(&key).signature;
        let others = [
            Statement { hub: PublicKey([8; 32]), ..signed },
            Statement { request: RequestId([8; 16]), ..signed },
            Statement { document: Digest([8; 32]), ..signed },
            Statement { verdict: Verdict::Approve, ..signed },
            Statement { counter: 8, ..signed },
            Statement { session: SessionHash([8; 32]), ..signed },
            Statement {
                device: PublicKey(SigningKey::from_bytes(&[8; 32]).verifying_key().to_bytes()),
                ..signed
            },
        ];
        for other in others {
            assert!(!other.verify(&signature), "{other:?}");
        }
    }

    #[test]
    fn the_signed_bytes_are_laid_out_as_documented() {
        let bytes = statement(&SigningKey::from_bytes(&[9; 32])).to_bytes();
        assert_eq!(&bytes[..19], b"gatepost/decision/1");
        assert_eq!(bytes[19], 1, "the hub's key follows the domain");
        assert_eq!(&bytes[19 + 64 + 16 + 32..][..9], &[2, 0, 0, 0, 0, 0, 0, 0, 7], "verdict, counter");
        assert_eq!(bytes.len(), 172);
    }
}

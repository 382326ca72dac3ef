//! What a passkey's signature over a decision is about.
//!
//! A passkey signs a challenge and knows nothing of documents. So the challenge is the SHA-256 of all that a device's signature covers
//! too: the hub, the key, the request, the document as the page has shown it, and the verdict. In the place of a counter, which not
//! every passkey has, stands a number that the hub gave out for this once.

use gatepost_link::{
    Digest, RequestId,
    decision::{PublicKey, Verdict},
};

use super::PasskeyId;

/// Before the statement, so that nothing else that is signed can pass for one.
const DOMAIN: &[u8] = b"gatepost/decision/web/1";
/// Bytes of the number that is given out once.
pub const NONCE: usize = 16;

/// All that the signature is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// The hub that asks.
    pub hub: PublicKey,
    /// The passkey that decides.
    pub passkey: PasskeyId,
    /// The request.
    pub request: RequestId,
    /// The document that was shown.
    pub document: Digest,
    /// The decision.
    pub verdict: Verdict,
    /// The number that is good once.
    pub nonce: [u8; NONCE],
}

impl Statement {
    /// The bytes of which the challenge is the SHA-256. Every field has one length, so no two statements have the same.
    pub fn to_bytes(&self) -> Vec<u8> {
        let verdict = [self.verdict as u8];
        [DOMAIN, &self.hub.0, &self.passkey, &self.request.0, &self.document.0, &verdict, &self.nonce]
            .concat()
    }

    /// What the passkey is asked to sign.
    pub fn challenge(&self) -> [u8; 32] {
        Digest::of(&self.to_bytes()).0
    }
}

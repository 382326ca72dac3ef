//! A passkey: what a browser and its authenticator answer, for a hub at `http://localhost` or elsewhere.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatepost_link::Digest;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};

/// Before a point of P-256, in SubjectPublicKeyInfo (RFC 5480, 2).
const P256: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
/// A person was there, and was verified.
const SEEN: u8 = 5;
/// A key follows that was made just now.
const ATTESTED: u8 = 1 << 6;

/// Bytes as the page writes them.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A passkey, and the browser that asks it.
pub struct Authenticator {
    pair: EcdsaKeyPair,
    /// The id of its credential.
    pub credential: Vec<u8>,
    /// Where the page is that asks.
    pub origin: String,
    /// The name that it belongs to.
    pub rp_id: String,
    /// What it says of who used it.
    pub flags: u8,
    /// Of its last use.
    pub counter: u32,
}

impl Authenticator {
    /// One that belongs to `localhost`, asked by a page at this origin.
    ///
    /// # Panics
    /// There is no randomness.
    #[must_use]
    pub fn at(origin: &str) -> Self {
        let (random, by) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(by, &random).expect("randomness");
        let pair = EcdsaKeyPair::from_pkcs8(by, pkcs8.as_ref(), &random).expect("a key");
        let credential = Digest::of(pair.public_key().as_ref()).0.to_vec();
        let (origin, rp_id) = (origin.to_owned(), "localhost".to_owned());
        Self { pair, credential, origin, rp_id, flags: SEEN, counter: 0 }
    }

    fn client_data(&self, kind: &str, challenge: &[u8]) -> Vec<u8> {
        let (challenge, origin) = (base64(challenge), &self.origin);
        json!({"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": false})
            .to_string()
            .into_bytes()
    }

    fn head(&self, flags: u8) -> Vec<u8> {
        let site = Digest::of(self.rp_id.as_bytes()).0;
        [&site[..], &[self.flags | flags], &self.counter.to_be_bytes()].concat()
    }

    /// What the page hands in of a new passkey, but for its name and the token.
    #[must_use]
    pub fn made(&self, challenge: &[u8]) -> Value {
        let length = u16::try_from(self.credential.len()).unwrap_or_default().to_be_bytes();
        let attested = [&self.head(ATTESTED)[..], &[0; 16], &length, &self.credential].concat();
        json!({
            "credential": base64(&self.credential),
            "client_data": base64(&self.client_data("webauthn.create", challenge)),
            "authenticator_data": base64(&attested),
            "public_key": base64(&[P256, self.pair.public_key().as_ref()].concat()),
            "algorithm": -7,
        })
    }

    /// What the page hands in of a use: its counter rises with it.
    ///
    /// # Panics
    /// There is no randomness.
    pub fn sign(&mut self, challenge: &[u8]) -> Value {
        self.counter += 1;
        let (client_data, head) = (self.client_data("webauthn.get", challenge), self.head(0));
        let signed = [&head[..], &Digest::of(&client_data).0].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &signed).expect("randomness");
        json!({
            "credential": base64(&self.credential), "client_data": base64(&client_data),
            "authenticator_data": base64(&head), "signature": base64(signature.as_ref()),
        })
    }
}

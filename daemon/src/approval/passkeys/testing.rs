//! A passkey for tests: what a browser and its authenticator would answer.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatepost_link::Digest;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::json;

use super::{
    New, TokenHash,
    assertion::{Assertion, PublicKey, Site},
};

pub(in crate::approval) const ORIGIN: &str = "http://localhost:8787";
const RP_ID: &str = "localhost";
/// A person was there, and was verified.
pub(in crate::approval) const SEEN: u8 = 5;

pub(in crate::approval) fn sites() -> Vec<Site> {
    vec![Site { origin: ORIGIN.into(), rp_id: RP_ID.into() }]
}

pub(in crate::approval) struct Authenticator {
    pub(in crate::approval) pair: EcdsaKeyPair,
    pub(in crate::approval) credential: Vec<u8>,
    pub(in crate::approval) origin: &'static str,
    pub(in crate::approval) flags: u8,
}

impl Authenticator {
    pub(in crate::approval) fn new(n: u8) -> Self {
        let random = SystemRandom::new();
        let by = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(by, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(by, pkcs8.as_ref(), &random).unwrap();
        Self { pair, credential: vec![n; 16], origin: ORIGIN, flags: SEEN }
    }

    pub(in crate::approval) fn new_passkey(&self, name: &str, token: TokenHash) -> New {
        let spki = [super::key::P256, self.pair.public_key().as_ref()].concat();
        let key = PublicKey { spki, algorithm: -7, rp_id: RP_ID.into() };
        New { name: name.into(), credential: self.credential.clone(), key, counter: 0, token }
    }

    pub(in crate::approval) fn sign(&self, challenge: &[u8], counter: u32) -> Assertion {
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        let client = json!({"type": "webauthn.get", "challenge": challenge, "origin": self.origin});
        let client_data = client.to_string().into_bytes();
        let site = Digest::of(RP_ID.as_bytes()).0;
        let authenticator_data = [&site[..], &[self.flags], &counter.to_be_bytes()].concat();
        let signed = [&authenticator_data, &Digest::of(&client_data).0[..]].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &signed).unwrap().as_ref().to_vec();
        Assertion { client_data, authenticator_data, signature }
    }
}

//! What both sides of a handshake have, which the Noise specification calls a symmetric state (5.2): here one that can be copied,
//! so that the last step can be tried again and again. The algorithms are snow's.

use gatepost_link::seal::{SealSecret, TAG};
use snow::{
    params::{CipherChoice, DHChoice, HashChoice},
    resolvers::{CryptoResolver as _, DefaultResolver},
    types::{Cipher, Hash},
};

/// One byte longer than a hash, so it is hashed.
const NAME: &[u8] = b"Noise_XX_25519_ChaChaPoly_BLAKE2s";
/// What snow wants room for, whatever the hash.
const LONGEST_HASH: usize = 64;

/// A handshake so far.
#[derive(Clone)]
pub(crate) struct Symmetric {
    hash: [u8; 32],
    chaining: [u8; 32],
    key: [u8; 32],
    number: u64,
}

impl Symmetric {
    pub(crate) fn begin(prologue: &[u8]) -> Self {
        let hash = hashed(&[NAME]);
        let mut own = Self { hash, chaining: hash, key: [0; 32], number: 0 };
        own.mix_hash(prologue);
        own
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        self.hash
    }

    pub(crate) fn mix_hash(&mut self, data: &[u8]) {
        self.hash = hashed(&[&self.hash, data]);
    }

    pub(crate) fn mix_key(&mut self, secret: &[u8]) {
        [self.chaining, self.key] = derived(&self.chaining, secret);
        self.number = 0;
    }

    /// Seals, and mixes in what came of it.
    pub(crate) fn seal(&mut self, text: &[u8]) -> Vec<u8> {
        let sealed = encrypted(&self.key, self.number, &self.hash, text);
        self.number += 1;
        self.mix_hash(&sealed);
        sealed
    }

    /// Opens what the other side sealed; nothing, if it did not.
    pub(crate) fn open(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let mut text = vec![0; sealed.len()];
        let length = cipher(&self.key).decrypt(self.number, &self.hash, sealed, &mut text).ok()?;
        text.truncate(length);
        self.number += 1;
        self.mix_hash(sealed);
        Some(text)
    }

    /// The message of this number from the side that began, once the handshake is over.
    pub(crate) fn in_session(&self, number: u64, text: &[u8]) -> Vec<u8> {
        let [key, _] = derived(&self.chaining, &[]);
        encrypted(&key, number, &[], text)
    }
}

/// What a secret and a public key make together.
pub(crate) fn exchange(own: &SealSecret, theirs: &[u8]) -> Option<[u8; 32]> {
    let mut exchange = DefaultResolver.resolve_dh(&DHChoice::Curve25519)?;
    exchange.set(&own.0);
    let mut shared = [0; 32];
    exchange.dh(theirs, &mut shared).ok()?;
    Some(shared)
}

fn encrypted(key: &[u8; 32], number: u64, with: &[u8], text: &[u8]) -> Vec<u8> {
    let mut sealed = vec![0; text.len() + TAG];
    let length = cipher(key).encrypt(number, with, text, &mut sealed);
    sealed.truncate(length);
    sealed
}

fn hashed(parts: &[&[u8]]) -> [u8; 32] {
    let (mut hash, mut out) = (hash(), [0; LONGEST_HASH]);
    parts.iter().for_each(|part| hash.input(part));
    hash.result(&mut out);
    std::array::from_fn(|at| out[at])
}

/// HKDF with two outputs (4.3).
fn derived(chaining: &[u8; 32], secret: &[u8]) -> [[u8; 32]; 2] {
    let (mut one, mut two) = ([0; LONGEST_HASH], [0; LONGEST_HASH]);
    hash().hkdf(chaining, secret, 2, &mut one, &mut two, &mut []);
    [one, two].map(|out| std::array::from_fn(|at| out[at]))
}

fn hash() -> Box<dyn Hash> {
    DefaultResolver.resolve_hash(&HashChoice::Blake2s).expect("snow is built with it")
}

fn cipher(key: &[u8; 32]) -> Box<dyn Cipher> {
    let mut cipher =
        DefaultResolver.resolve_cipher(&CipherChoice::ChaChaPoly).expect("snow is built with it");
    cipher.set(key);
    cipher
}

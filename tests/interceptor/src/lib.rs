//! Somebody who stands between a device and its hub while they are paired, plays a device to the hub, and looks for keys or a
//! nonce with which both show the same number. For tests.
//!
//! The project's own `Candidate` cannot do that: it says what it has committed itself to, and nothing else. So the device's side of
//! the handshake is here a second time, written from what is public of it (the opening of `gatepost_link::pairing`, and the
//! Noise specification, <https://noiseprotocol.org/noise.html>, chapters 5 and 7.5), and stops before its last step: from
//! there one try costs some microseconds, so that a million of them, enough for six digits, take seconds.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod noise;

use gatepost_link::{
    decision::PublicKey,
    envelope::VERSION,
    pairing::{FIRST, SECOND, THIRD},
    seal::{Random, SealSecret, TAG},
};
use sha2::{Digest as _, Sha256};

use noise::Symmetric;

const PROLOGUE: &[u8] = b"gatepost/pairing/1";
const CODE: &[u8] = b"gatepost/code/1";
/// Digits of the number that people compare.
pub const DIGITS: u32 = 6;

/// The system's randomness.
#[derive(Debug, Clone, Copy)]
pub struct System;

impl Random for System {
    fn fill(&mut self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has random bytes for its programs");
    }
}

/// Random bytes.
pub fn drawn<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    System.fill(&mut bytes);
    bytes
}

/// Keys of his.
pub fn keys() -> (PublicKey, SealSecret) {
    (PublicKey(drawn()), SealSecret(drawn()))
}

/// What he says in place of what he has committed himself to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Another nonce.
    Nonce,
    /// Another signing key.
    Key,
}

/// A device that has begun to be paired.
pub struct Forger {
    sign: [u8; 32],
    seal: SealSecret,
    nonce: [u8; 32],
    ephemeral: SealSecret,
    noise: Symmetric,
    first: [u8; FIRST],
}

impl Forger {
    /// Begins, and commits himself as a device has to.
    pub fn start((sign, seal): (PublicKey, SealSecret)) -> Self {
        let (nonce, ephemeral): ([u8; 32], _) = (drawn(), SealSecret(drawn()));
        let commitment = Sha256::digest([seal.public().0, sign.0, nonce].concat());
        let mut first = [0; FIRST];
        first[..32].copy_from_slice(&ephemeral.public().0);
        first[32..].copy_from_slice(&commitment);
        let mut noise = Symmetric::begin(&[PROLOGUE, &[VERSION]].concat());
        noise.mix_hash(&first[..32]);
        noise.mix_hash(&first[32..]);
        Self { sign: sign.0, seal, nonce, ephemeral, noise, first }
    }

    /// What to say to the hub first.
    pub fn first(&self) -> &[u8; FIRST] {
        &self.first
    }

    /// Takes the hub's answer, if it is one to him.
    pub fn second(mut self, message: &[u8]) -> Option<Answered> {
        let message: &[u8; SECOND] = message.try_into().ok()?;
        let (theirs, rest) = message.split_at(32);
        let (sealed, told) = rest.split_at(32 + TAG);
        self.noise.mix_hash(theirs);
        self.noise.mix_key(&noise::exchange(&self.ephemeral, theirs)?);
        let hub_seal: [u8; 32] = self.noise.open(sealed)?.try_into().ok()?;
        self.noise.mix_key(&noise::exchange(&self.ephemeral, &hub_seal)?);
        let told = self.noise.open(told)?;
        let (hub_nonce, hub_sign) = told.split_at_checked(32)?;
        let device_seal = self.seal.public().0;
        let said = self.noise.seal(&device_seal);
        self.noise.mix_key(&noise::exchange(&self.seal, theirs)?);
        Some(Answered {
            hub: [hub_sign.try_into().ok()?, hub_seal, hub_nonce.try_into().ok()?],
            device: [self.sign, device_seal, self.nonce],
            noise: self.noise,
            said,
        })
    }
}

/// The same, once the hub has answered: he knows all that the number depends on.
pub struct Answered {
    /// The hub's signing key, its key for sessions, and its nonce.
    hub: [[u8; 32]; 3],
    /// The same of the device that he is.
    device: [[u8; 32]; 3],
    /// Up to the third message's last field.
    noise: Symmetric,
    /// The third message's first field.
    said: Vec<u8>,
}

impl Answered {
    /// What he has committed himself to.
    pub fn third(&self) -> Third {
        self.saying(&self.device)
    }

    /// Looks for what makes the hub's number the `wanted` one, as long as he `may`; the best that he found, and how many he tried.
    /// Best is what has the most digits of it, counted from the last one.
    pub fn grind(&self, ground: Ground, wanted: u32, may: impl Fn(u64) -> bool) -> (Third, u64) {
        let (mut best, mut tries) = (self.other(ground, 0), 1_u64);
        while fitting(best.code, wanted) < DIGITS && may(tries) {
            let next = self.other(ground, tries);
            if fitting(next.code, wanted) > fitting(best.code, wanted) {
                best = next;
            }
            tries += 1;
        }
        (best, tries)
    }

    /// What he has not committed himself to: one for each number.
    fn other(&self, ground: Ground, number: u64) -> Third {
        let mut device = self.device;
        let field = match ground {
            Ground::Nonce => &mut device[2],
            Ground::Key => &mut device[0],
        };
        field[31] ^= 1;
        field.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, other)| *byte ^= other);
        self.saying(&device)
    }

    fn saying(&self, device: &[[u8; 32]; 3]) -> Third {
        let mut noise = self.noise.clone();
        let told = noise.seal(&[device[0], device[2]].concat());
        let mut message = [0; THIRD];
        message[..32 + TAG].copy_from_slice(&self.said);
        message[32 + TAG..].copy_from_slice(&told);
        let mut hash = Sha256::new_with_prefix(CODE);
        hash.update(noise.hash());
        for (hub, device) in self.hub.iter().zip(device) {
            hash.update(hub);
            hash.update(device);
        }
        let code = hash.finalize().iter().fold(0, |rest, byte| (rest * 256 + u32::from(*byte)) % 1_000_000);
        Third { message, code, noise }
    }
}

/// A third message, and what the hub shows if it takes it.
pub struct Third {
    /// The message.
    pub message: [u8; THIRD],
    /// The number.
    pub code: u32,
    noise: Symmetric,
}

impl Third {
    /// What he says to the hub in the session behind it, as his message of this number.
    pub fn sealed(&self, number: u64, text: &[u8]) -> Vec<u8> {
        self.noise.in_session(number, text)
    }
}

/// How many digits of two numbers are the same, counted from the last one.
pub fn fitting(one: u32, other: u32) -> u32 {
    let same = |digits: &u32| one % 10_u32.pow(*digits) == other % 10_u32.pow(*digits);
    (1..=DIGITS).take_while(same).last().unwrap_or(0)
}

#[cfg(test)]
mod tests;

//! Pairing: how a hub and a device come to know each other's keys over a broker that neither of them trusts.
//!
//! `Noise_XX_25519_ChaChaPoly_BLAKE2s`, begun by the device. A man in the middle can impersonate each side to the other; then
//! the two handshakes differ, and with them the six digits that both sides show. A person compares them.
//!
//! Six digits are few: an attacker who could try keys and nonces would find two equal numbers within a second. So the
//! device commits itself to its keys and its nonce in the first message, before it knows the hub's nonce, and reveals them
//! in the third, after the hub has revealed its own. Neither side can choose anything once it knows the inputs of the
//! number: an attacker has one attempt with one chance in a million, while a person is watching. For the same reason every
//! message has a fixed length, without room for bytes that could be varied.

use heapless::String;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use snow::HandshakeState;

use crate::{
    Digest,
    decision::PublicKey,
    envelope::VERSION,
    seal::{self, Random, SealError, SealKey, SealSecret, Side, TAG},
    session::Session,
};

const PATTERN: &str = "Noise_XX_25519_ChaChaPoly_BLAKE2s";
const DOMAIN: &[u8] = b"gatepost/pairing/1";
const CODE_DOMAIN: &[u8] = b"gatepost/code/1";

/// Bytes of the first message: an ephemeral key and the commitment.
pub const FIRST: usize = 32 + 32;
/// Bytes of the second message: an ephemeral key, the hub's sealed static key, its nonce and its signing key.
pub const SECOND: usize = 32 + 32 + TAG + 64 + TAG;
/// Bytes of the third message: the device's sealed static key, its signing key and its nonce.
pub const THIRD: usize = 32 + TAG + 64 + TAG;

/// How long both sides show the number and wait for a person, in milliseconds.
pub const CONFIRM: u64 = 60_000;
/// The user name at the broker of a device that is not paired yet. Its password is empty.
pub const PAIRING_USER: &str = "pairing";
/// Bytes of the longest user name and of the longest password that a hub gives a device for its broker.
pub const MAX_LOGIN: usize = 64;

/// A message of a device that is being paired, after the version byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up<'a> {
    /// The handshake's first message.
    First {
        /// The message.
        noise: &'a [u8],
    },
    /// The handshake's third message.
    Third {
        /// The message.
        noise: &'a [u8],
    },
    /// A sealed [`FromDevice`].
    Sealed {
        /// Its number.
        number: u64,
        /// The frame, sealed.
        bytes: &'a [u8],
    },
}

/// What a hub says while it pairs, behind the version byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down<'a> {
    /// The handshake's second message.
    Second {
        /// The message.
        noise: &'a [u8],
    },
    /// A sealed [`FromHub`].
    Sealed {
        /// Its number.
        number: u64,
        /// The frame, sealed.
        bytes: &'a [u8],
    },
}

/// What a hub says once both have the number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromHub {
    /// The person at the hub said yes. Said again until the device answers.
    Paired {
        /// The device's own user name at the broker.
        user: String<MAX_LOGIN>,
        /// Its password.
        password: String<MAX_LOGIN>,
    },
    /// The device is registered: it may come with its own login.
    Done,
    /// The person at the hub said no, or nothing in time.
    Declined,
}

/// What a device says once both have the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromDevice {
    /// What the device is. Said before anybody is asked.
    About {
        /// It is a program, and not a device with buttons of its own.
        program: bool,
    },
    /// The person at the device said yes, and what the hub gave it is in its flash.
    Kept,
    /// The person at the device said no, or nothing in time.
    Declined,
}

/// Why two are not paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairingError {
    /// A message that is none of this handshake. The true one may still come.
    Message(SealError),
    /// The device's keys are not those that it committed itself to: somebody stands between. The attempt is over.
    Commitment,
}

impl core::fmt::Display for PairingError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Message(error) => write!(f, "not a message of this pairing: {error}"),
            Self::Commitment => f.write_str(
                "the device's keys are not those that it began with: somebody stands between; pair again elsewhere",
            ),
        }
    }
}

impl core::error::Error for PairingError {}

impl From<SealError> for PairingError {
    fn from(error: SealError) -> Self {
        Self::Message(error)
    }
}

/// The number that both sides show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(u32);

impl Code {
    /// The number, below 1,000,000.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Six digits.
impl core::fmt::Display for Code {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:06}", self.0)
    }
}

/// What both sides have after the handshake. The peer is who it says only if a person found the same code on both sides.
#[derive(Debug)]
pub struct Agreed {
    /// The peer's signing key.
    pub sign: PublicKey,
    /// The peer's key for sessions.
    pub seal: SealKey,
    /// What both show.
    pub code: Code,
    /// In which the rest of the pairing is said.
    pub session: Session,
}

/// One side's keys and nonce.
#[derive(Clone, Copy)]
struct Party {
    sign: PublicKey,
    seal: SealKey,
    nonce: [u8; 32],
}

impl Party {
    fn commitment(&self) -> Digest {
        let mut hash = Sha256::new();
        [&self.seal.0, &self.sign.0, &self.nonce].into_iter().for_each(|field| hash.update(field));
        Digest(hash.finalize().into())
    }
}

/// SHA-256 over the domain, the handshake's hash, both signing keys, both static keys and both nonces, modulo a million.
/// The hub's come first.
fn code(handshake: &[u8; 32], hub: &Party, device: &Party) -> Code {
    let mut hash = Sha256::new_with_prefix(CODE_DOMAIN);
    for field in
        [handshake, &hub.sign.0, &device.sign.0, &hub.seal.0, &device.seal.0, &hub.nonce, &device.nonce]
    {
        hash.update(field);
    }
    let digest: [u8; 32] = hash.finalize().into();
    Code(digest.iter().fold(0, |rest, byte| (rest * 256 + u32::from(*byte)) % 1_000_000))
}

fn begin(own: &SealSecret, initiator: bool, drawn: [u8; 32]) -> HandshakeState {
    let mut prologue = [VERSION; DOMAIN.len() + 1];
    prologue[..DOMAIN.len()].copy_from_slice(DOMAIN);
    Side { pattern: PATTERN, prologue: &prologue, own, peer: None, initiator }.begin(drawn)
}

/// The peer's static key, which a handshake's message brought.
fn peer_seal(noise: &HandshakeState) -> Result<SealKey, SealError> {
    let key = noise.get_remote_static().and_then(|key| key.try_into().ok());
    key.map(SealKey).ok_or(SealError::Forged)
}

fn joined(first: &[u8; 32], second: &[u8; 32]) -> [u8; 64] {
    core::array::from_fn(|at| if at < 32 { first[at] } else { second[at - 32] })
}

fn parted(both: [u8; 64]) -> ([u8; 32], [u8; 32]) {
    (core::array::from_fn(|at| both[at]), core::array::from_fn(|at| both[32 + at]))
}

/// A device that wants to be paired.
pub struct Candidate {
    /// Gone once the hub's answer came.
    noise: Option<HandshakeState>,
    own: Party,
    first: [u8; FIRST],
}

impl Candidate {
    /// Begins a pairing for the device with these keys.
    pub fn start(sign: PublicKey, seal: &SealSecret, random: &mut impl Random) -> Self {
        let own = Party { sign, seal: seal.public(), nonce: seal::draw(random) };
        let mut noise = begin(seal, true, seal::draw(random));
        let first =
            seal::write(&mut noise, &own.commitment().0).expect("the first message of a fresh handshake");
        Self { noise: Some(noise), own, first }
    }

    /// What to say to the hub, and to say again while it does not answer.
    pub fn first(&self) -> &[u8; FIRST] {
        &self.first
    }

    /// Takes the hub's answer; what to say to it then. Anything else changes nothing.
    pub fn second(&mut self, message: &[u8]) -> Result<([u8; THIRD], Agreed), PairingError> {
        let noise = self.noise.as_mut().ok_or(SealError::UsedUp)?;
        let (nonce, sign) = parted(seal::read(noise, message, SECOND)?);
        let hub = Party { sign: PublicKey(sign), seal: peer_seal(noise)?, nonce };
        let third = seal::write(noise, &joined(&self.own.sign.0, &self.own.nonce))?;
        let noise = self.noise.take().ok_or(SealError::UsedUp)?;
        let code = code(&seal::hash(&noise), &hub, &self.own);
        Ok((third, Agreed { sign: hub.sign, seal: hub.seal, code, session: Session::new(noise)? }))
    }
}

/// A hub that pairs.
pub struct Host {
    own: Party,
    secret: SealSecret,
    drawn: [u8; 32],
    first: [u8; FIRST],
    commitment: Digest,
    second: [u8; SECOND],
    agreed: bool,
}

impl Host {
    /// Answers a device's first message for the hub with these keys.
    pub fn answer(
        sign: PublicKey,
        seal: &SealSecret,
        first: &[u8],
        random: &mut impl Random,
    ) -> Result<Self, PairingError> {
        let first = first.try_into().map_err(|_| SealError::Length)?;
        let own = Party { sign, seal: seal.public(), nonce: seal::draw(random) };
        let (secret, drawn) = (seal.clone(), seal::draw(random));
        let (noise, commitment, second) = answered(&own, &secret, drawn, &first)?;
        drop(noise);
        Ok(Self { own, secret, drawn, first, commitment, second, agreed: false })
    }

    /// What to say to the device, and to say again where it begins again in the same words.
    pub fn second(&self) -> &[u8; SECOND] {
        &self.second
    }

    /// Takes the device's keys. Anything but its third message changes nothing.
    pub fn third(&mut self, message: &[u8]) -> Result<Agreed, PairingError> {
        let (noise, device) = self.told(message)?;
        if device.commitment() != self.commitment {
            return Err(PairingError::Commitment);
        }
        self.agreed = true;
        self.agree(noise, &device)
    }

    /// What the device says that it is. Snow's handshake does not survive a damaged third message, so each has its own.
    fn told(&self, message: &[u8]) -> Result<(HandshakeState, Party), PairingError> {
        if self.agreed {
            return Err(SealError::UsedUp.into());
        }
        let (mut noise, ..) = answered(&self.own, &self.secret, self.drawn, &self.first)?;
        let (sign, nonce) = parted(seal::read(&mut noise, message, THIRD)?);
        let device = Party { sign: PublicKey(sign), seal: peer_seal(&noise)?, nonce };
        Ok((noise, device))
    }

    fn agree(&self, noise: HandshakeState, device: &Party) -> Result<Agreed, PairingError> {
        let code = code(&seal::hash(&noise), &self.own, device);
        Ok(Agreed { sign: device.sign, seal: device.seal, code, session: Session::new(noise)? })
    }
}

/// The hub's handshake up to its own message, and what the device committed itself to.
fn answered(
    own: &Party,
    secret: &SealSecret,
    drawn: [u8; 32],
    first: &[u8; FIRST],
) -> Result<(HandshakeState, Digest, [u8; SECOND]), SealError> {
    let mut noise = begin(secret, false, drawn);
    let commitment = Digest(seal::read(&mut noise, first, FIRST)?);
    let second = seal::write(&mut noise, &joined(&own.nonce, &own.sign.0))?;
    Ok((noise, commitment, second))
}

#[cfg(test)]
mod tests;

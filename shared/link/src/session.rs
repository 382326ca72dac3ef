//! Sealed sessions: `Noise_KK_25519_ChaChaPoly_BLAKE2s` between a device and the hub that it is paired with.
//!
//! The device begins. Both sides know each other's keys from the pairing, both draw fresh ephemeral keys, and version
//! and signing keys are in the prologue: a handshake with anybody else, for anybody else, or in another version than
//! both take it for does not come to pass. What was recorded in one session opens in no other.
//!
//! Each side numbers what it seals. The carrier may deliver twice, so a number that was seen is dropped without a
//! word; it must not lose, so a number left out ends the session. That is told only of what the peer really sealed:
//! whoever else writes such numbers changes nothing.
//!
//! A hub must not take a session for the present one before something sealed in it has arrived: a handshake's first
//! message can be replayed, what is sealed in its session cannot.

use core::cmp::Ordering;

use serde::{Deserialize, Serialize};
use snow::{HandshakeState, StatelessTransportState};

use crate::{
    decision::PublicKey,
    envelope::{MAX_PLAIN, VERSION},
    seal::{self, Random, SealError, SealKey, SealSecret, Side, TAG},
};

const PATTERN: &str = "Noise_KK_25519_ChaChaPoly_BLAKE2s";
const DOMAIN: &[u8] = b"gatepost/session/2";

/// Length of either message of the handshake: an ephemeral key and a tag over nothing.
pub const MESSAGE: usize = 32 + TAG;

/// Identifies one session between one hub and one device: its handshake's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionHash(pub [u8; 32]);

/// Both ends' signing keys, and the version that they speak: who speaks with whom, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The hub.
    pub hub: PublicKey,
    /// The device.
    pub device: PublicKey,
    /// The version of the link: that of the envelopes around the handshake.
    pub version: u8,
}

impl Ends {
    /// These two, in the version that this crate speaks.
    pub const fn new(hub: PublicKey, device: PublicKey) -> Self {
        Self { hub, device, version: VERSION }
    }

    fn prologue(&self) -> [u8; DOMAIN.len() + 1 + 64] {
        let mut prologue = [0; DOMAIN.len() + 1 + 64];
        let (domain, rest) = prologue.split_at_mut(DOMAIN.len());
        domain.copy_from_slice(DOMAIN);
        let (version, keys) = rest.split_at_mut(1);
        version[0] = self.version;
        let (hub, device) = keys.split_at_mut(32);
        hub.copy_from_slice(&self.hub.0);
        device.copy_from_slice(&self.device.0);
        prologue
    }

    fn begin(
        &self,
        own: &SealSecret,
        peer: &SealKey,
        initiator: bool,
        random: &mut impl Random,
    ) -> HandshakeState {
        let prologue = self.prologue();
        Side { pattern: PATTERN, prologue: &prologue, own, peer: Some(peer), initiator }
            .begin(seal::draw(random))
    }
}

/// A device's handshake that waits for the hub's answer.
pub struct Opening {
    /// Gone once the answer came.
    noise: Option<HandshakeState>,
    message: [u8; MESSAGE],
}

impl Opening {
    /// Begins a handshake.
    pub fn start(ends: &Ends, own: &SealSecret, hub: &SealKey, random: &mut impl Random) -> Self {
        let mut noise = ends.begin(own, hub, true, random);
        let message = seal::write(&mut noise, &[]).expect("the first message of a fresh handshake");
        Self { noise: Some(noise), message }
    }

    /// What to say to the hub, and to say again while it does not answer.
    pub fn message(&self) -> &[u8; MESSAGE] {
        &self.message
    }

    /// Takes the hub's answer. Anything else changes nothing: the true answer may still come.
    pub fn finish(&mut self, answer: &[u8]) -> Result<Session, SealError> {
        let noise = self.noise.as_mut().ok_or(SealError::UsedUp)?;
        seal::read::<0>(noise, answer, MESSAGE)?;
        let noise = self.noise.take().ok_or(SealError::UsedUp)?;
        Session::new(noise)
    }
}

/// The hub's part: reads a device's first message and answers it. Both have the session then.
pub fn answer(
    ends: &Ends,
    own: &SealSecret,
    device: &SealKey,
    message: &[u8],
    random: &mut impl Random,
) -> Result<(Session, [u8; MESSAGE]), SealError> {
    let mut noise = ends.begin(own, device, false, random);
    seal::read::<0>(&mut noise, message, MESSAGE)?;
    let answer = seal::write(&mut noise, &[])?;
    Ok((Session::new(noise)?, answer))
}

/// A session: what one side seals the other opens, once and in order.
pub struct Session {
    transport: StatelessTransportState,
    hash: SessionHash,
    /// The number of the next text that this side seals.
    sealing: u64,
    /// The number that the peer's next text should have.
    expected: u64,
}

/// Something that the peer really sealed.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived<'b> {
    /// The next text.
    Text(&'b [u8]),
    /// It has the number of a text that was opened before.
    Again,
}

impl Session {
    pub(crate) fn new(noise: HandshakeState) -> Result<Self, SealError> {
        let hash = SessionHash(seal::hash(&noise));
        let transport = noise.into_stateless_transport_mode().map_err(|_| SealError::UsedUp)?;
        Ok(Self { transport, hash, sealing: 0, expected: 0 })
    }

    /// Which session it is.
    pub fn hash(&self) -> SessionHash {
        self.hash
    }

    /// Seals the next text into `into`, which must have room for it and [`TAG`] bytes more. Returns its number.
    pub fn seal<'b>(&mut self, text: &[u8], into: &'b mut [u8]) -> Result<(u64, &'b [u8]), SealError> {
        if text.len() > MAX_PLAIN || into.len() < text.len() + TAG {
            return Err(SealError::Length);
        }
        let number = self.sealing;
        let length = self.transport.write_message(number, text, into).map_err(|_| SealError::UsedUp)?;
        self.sealing += 1;
        Ok((number, &into[..length]))
    }

    /// Opens the peer's text with this number into `into`, which must have room for it.
    ///
    /// After [`SealError::Gap`] the session is of no more use: what is missing will not come.
    pub fn open<'b>(
        &mut self,
        number: u64,
        sealed: &[u8],
        into: &'b mut [u8],
    ) -> Result<Arrived<'b>, SealError> {
        if sealed.len() > MAX_PLAIN + TAG || sealed.len() < TAG || into.len() < sealed.len() - TAG {
            return Err(SealError::Length);
        }
        let length = self.transport.read_message(number, sealed, into).map_err(|_| SealError::Forged)?;
        match number.cmp(&self.expected) {
            Ordering::Less => Ok(Arrived::Again),
            Ordering::Greater => Err(SealError::Gap),
            Ordering::Equal => {
                self.expected += 1;
                Ok(Arrived::Text(&into[..length]))
            }
        }
    }
}

impl core::fmt::Debug for Session {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Session")
            .field("hash", &self.hash)
            .field("sealing", &self.sealing)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

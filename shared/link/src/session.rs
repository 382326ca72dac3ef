//! Sealed sessions: `Noise_KK_25519_ChaChaPoly_BLAKE2s` between a device and the hub that it is paired with.
//!
//! The device begins. Both sides know each other's keys from the pairing and draw fresh ephemeral keys; the version and
//! both signing keys are in the prologue. So a handshake with or for anybody else, or with different versions on the two
//! sides, fails. Messages recorded in one session cannot be opened in another.
//!
//! Each side numbers what it seals. The broker may deliver a message twice, so a known number is silently dropped; it must
//! not lose messages, so a missing number ends the session. Numbers count only on messages that the peer really sealed:
//! forged numbers change nothing.
//!
//! A hub must not treat a session as the current one before something sealed in it has arrived: a handshake's first
//! message can be replayed, a message sealed in its session cannot.

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

/// Bytes of either message of the handshake: an ephemeral key and a tag over an empty text.
pub const MESSAGE: usize = 32 + TAG;

/// Identifies one session between one hub and one device: its handshake's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionHash(pub [u8; 32]);

/// Both ends' signing keys, and the version of the link between them.
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

    /// The message to the hub, to be repeated until it answers.
    pub fn message(&self) -> &[u8; MESSAGE] {
        &self.message
    }

    /// Handles the hub's answer. A wrong answer changes nothing, as the right one may still come.
    pub fn finish(&mut self, answer: &[u8]) -> Result<Session, SealError> {
        let noise = self.noise.as_mut().ok_or(SealError::UsedUp)?;
        seal::read::<0>(noise, answer, MESSAGE)?;
        let noise = self.noise.take().ok_or(SealError::UsedUp)?;
        Session::new(noise)
    }
}

/// The hub's side: reads a device's first message and answers it. Both have the session then.
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
    /// A text with the number of one that was opened before.
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
    /// After [`SealError::Gap`] the session is unusable: the missing text will not arrive.
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

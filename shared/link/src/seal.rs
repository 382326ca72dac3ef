//! Keys for sealing, and the Noise protocol with randomness that the caller gives.
//!
//! Noise is implemented by `snow`, which takes its randomness from the operating system; a device has none. Every handshake
//! here needs one ephemeral secret per side. It is drawn before the handshake begins and passed by a resolver that returns
//! it once: a handshake that needs more fails, and no secret is used twice.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};
use snow::{
    Builder, HandshakeState,
    params::{CipherChoice, DHChoice, HashChoice},
    resolvers::{CryptoResolver, DefaultResolver},
    types::{Cipher, Dh, Hash, Random as SnowRandom},
};

/// Bytes of the authentication tag that sealing adds to a text.
pub const TAG: usize = 16;

/// Random bytes fit for keys, such as a board's hardware generator gives.
pub trait Random {
    /// Fills `bytes` with unpredictable bytes.
    fn fill(&mut self, bytes: &mut [u8]);

    /// A random number, for values that must differ between devices or between starts.
    fn number(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// Random bytes, as many as asked for.
pub(crate) fn draw<const N: usize>(random: &mut impl Random) -> [u8; N] {
    let mut bytes = [0; N];
    random.fill(&mut bytes);
    bytes
}

/// A public X25519 key, of a hub or of a device: what sessions with it are sealed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SealKey(pub [u8; 32]);

/// A secret X25519 key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealSecret(pub [u8; 32]);

impl SealSecret {
    /// The public half.
    pub fn public(&self) -> SealKey {
        let mut exchange = exchange();
        exchange.set(&self.0);
        SealKey(key(exchange.pubkey()))
    }
}

/// Never the key itself.
impl core::fmt::Debug for SealSecret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SealSecret(***)")
    }
}

/// Why something sealed cannot be opened, or nothing be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealError {
    /// It was not made by the peer, or not for this side, or it was changed on its way.
    Forged,
    /// It is the peer's, but one or more before it were lost: the session is over.
    Gap,
    /// Too long, or too short to be what it should.
    Length,
    /// The session has sealed as much as it can, or the handshake is over.
    UsedUp,
}

impl core::fmt::Display for SealError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Forged => "not sealed by the peer, or changed on its way",
            Self::Gap => "frames were lost on the way, so the session is over",
            Self::Length => "of another length than what it should be",
            Self::UsedUp => "the session is used up",
        })
    }
}

impl core::error::Error for SealError {}

/// One side of a handshake that is about to begin.
pub(crate) struct Side<'a> {
    pub(crate) pattern: &'static str,
    pub(crate) prologue: &'a [u8],
    pub(crate) own: &'a SealSecret,
    /// The peer's key, where the pattern knows it beforehand.
    pub(crate) peer: Option<&'a SealKey>,
    pub(crate) initiator: bool,
}

impl Side<'_> {
    /// Begins with an ephemeral secret that was drawn for this handshake alone.
    pub(crate) fn begin(&self, drawn: [u8; 32]) -> HandshakeState {
        let params = self.pattern.parse().expect("our own patterns are Noise's");
        let once = "each is given once";
        let mut builder = Builder::with_resolver(params, Box::new(Drawn(drawn)))
            .prologue(self.prologue)
            .expect(once)
            .local_private_key(&self.own.0)
            .expect(once);
        if let Some(peer) = self.peer {
            builder = builder.remote_public_key(&peer.0).expect(once);
        }
        let built = if self.initiator { builder.build_initiator() } else { builder.build_responder() };
        built.expect("the keys that the pattern needs are there, and the resolver has what it names")
    }
}

/// Writes a handshake's next message; exactly `N` bytes.
pub(crate) fn write<const N: usize>(
    noise: &mut HandshakeState,
    payload: &[u8],
) -> Result<[u8; N], SealError> {
    // Snow wants room for a tag even where there will be none.
    let mut message = [0; 256];
    let length = noise.write_message(payload, &mut message).map_err(|_| SealError::UsedUp)?;
    message.get(..length).and_then(|bytes| bytes.try_into().ok()).ok_or(SealError::Length)
}

/// Reads a handshake's next message, whose payload must be exactly `N` bytes and the message itself `whole`.
///
/// Exact, so that nobody can try out what bytes behind a message do to the handshake's hash.
pub(crate) fn read<const N: usize>(
    noise: &mut HandshakeState,
    message: &[u8],
    whole: usize,
) -> Result<[u8; N], SealError> {
    if message.len() != whole {
        return Err(SealError::Length);
    }
    let mut payload = [0; 256];
    let length = noise.read_message(message, &mut payload).map_err(|_| SealError::Forged)?;
    payload.get(..length).and_then(|bytes| bytes.try_into().ok()).ok_or(SealError::Length)
}

/// A handshake's hash: what both sides said, in 32 bytes.
pub(crate) fn hash(noise: &HandshakeState) -> [u8; 32] {
    key(noise.get_handshake_hash())
}

fn key(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().expect("X25519's keys and BLAKE2s' hashes have 32 bytes")
}

fn exchange() -> Box<dyn Dh> {
    DefaultResolver.resolve_dh(&DHChoice::Curve25519).expect("built with X25519")
}

/// Snow's own algorithms, with an ephemeral secret that was drawn before.
struct Drawn([u8; 32]);

impl CryptoResolver for Drawn {
    fn resolve_rng(&self) -> Option<Box<dyn SnowRandom>> {
        Some(Box::new(Once(Some(self.0))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Gives its bytes once.
struct Once(Option<[u8; 32]>);

impl SnowRandom for Once {
    fn try_fill_bytes(&mut self, into: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.take().filter(|bytes| bytes.len() == into.len()).ok_or(snow::Error::Rng)?;
        into.copy_from_slice(&bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ephemeral_secret_is_given_once_and_in_whole() {
        let mut once = Once(Some([7; 32]));
        let mut into = [0; 32];
        once.try_fill_bytes(&mut into).unwrap();
        assert_eq!(into, [7; 32]);
        assert_eq!(once.try_fill_bytes(&mut into), Err(snow::Error::Rng));
        assert_eq!(Once(Some([7; 32])).try_fill_bytes(&mut [0; 16]), Err(snow::Error::Rng));
    }

    #[test]
    fn a_number_has_eight_bytes_of_its_own() {
        let mut random = crate::testing::Seeded(1);
        let numbers = [random.number(), random.number()];
        let drawn: [[u8; 8]; 2] = core::array::from_fn({
            let mut random = crate::testing::Seeded(1);
            move |_| draw(&mut random)
        });
        assert_eq!(numbers, drawn.map(u64::from_le_bytes));
        assert!(numbers[0] != numbers[1] && numbers.iter().all(|number| number >> 32 != 0));
    }

    /// Alice's keys in RFC 7748, section 6.1.
    #[test]
    fn public_keys_are_x25519s() {
        let secret =
            crate::testing::array("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
        let public =
            crate::testing::array("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
        assert_eq!(SealSecret(secret).public(), SealKey(public));
    }
}

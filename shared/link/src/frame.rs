//! Frames: what travels on the wire, postcard behind a version byte.
//!
//! A frame from outside may hold anything. Decoding is bounded, never panics, and refuses politely what a newer peer
//! might say: an unknown version or frame is an error that names itself, and the connection goes on.

use serde::{Deserialize, Serialize};

use crate::{Digest, RequestId, decision::Decision, session::Nonce};

/// The version of the protocol that this crate speaks: the first byte of every frame.
///
/// 2: [`Report`] has the last delivery and the time of day.
pub const VERSION: u8 = 2;
/// The largest frame, in bytes, with its version byte.
pub const MAX_FRAME: usize = 4096;
/// Bytes of a document in one [`Down::Piece`]; only the last may be shorter.
pub const PIECE: usize = 1024;

/// From the companion to the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// The companion starts a session; whatever came before is void.
    Hello {
        /// Its half of the session hash.
        nonce: Nonce,
    },
    /// Asks for a piece of an offered document.
    Fetch {
        /// The request whose document it is.
        request: RequestId,
        /// Counted from zero.
        piece: u16,
    },
    /// A person decided. Sent again until [`Down::Consumed`] answers.
    Decision(Decision),
    /// The offer cannot be shown.
    Refuse {
        /// The request refused.
        request: RequestId,
        /// Why.
        reason: Refusal,
    },
}

/// Why a companion does not show an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// As many cards wait as it can keep; offer it again when one is done.
    Busy,
    /// The document is larger than it can hold, or its text longer than a person should be asked to read there.
    TooLong,
    /// The document's bytes do not have the offered hash, or are not a document.
    Malformed,
}

/// From the hub to the companion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down<'a> {
    /// Answers [`Up::Hello`]; both sides now know the session hash.
    Welcome {
        /// The companion's nonce, given back: a late answer to an earlier hello is not taken for this one's.
        answers: Nonce,
        /// The hub's half of the session hash.
        nonce: Nonce,
    },
    /// A message waits for a decision.
    Offer(Offer),
    /// A piece of a document.
    Piece {
        /// The request whose document it is.
        request: RequestId,
        /// Counted from zero.
        piece: u16,
        /// [`PIECE`] bytes, fewer in the last.
        #[serde(borrow)]
        bytes: &'a [u8],
    },
    /// The decision was verified and has taken effect; it need not be sent again.
    Consumed {
        /// The request decided on.
        request: RequestId,
    },
    /// The request is over for another reason; its card closes.
    Withdraw {
        /// The request.
        request: RequestId,
        /// Why.
        reason: Withdrawal,
    },
    /// The hub's state for the idle screen.
    Status(Report),
    /// The hub has lost the session, by a restart for one, and wants a hello.
    Greet,
}

/// How the hub is: figures for a person's eyes, by which nothing is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Messages that wait for a decision.
    pub held: u16,
    /// Messages on their way.
    pub queued: u16,
    /// Messages that arrived since the hub started.
    pub sent: u32,
    /// Seconds since the last of them; `None` if none has.
    pub last_s: Option<u32>,
    /// The hub's local time, in seconds since midnight and below [`DAY_S`]; `None` if it does not know.
    pub clock_s: Option<u32>,
}

/// Seconds of a day.
pub const DAY_S: u32 = 86_400;

/// A message that waits for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Names the request in every later frame.
    pub request: RequestId,
    /// SHA-256 of the document.
    pub document: Digest,
    /// The document's length in bytes.
    pub length: u32,
    /// Milliseconds until the request expires; the hub's deadline decides, the companion shows it.
    pub expires_ms: u32,
}

/// Why a request is over without this companion's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Withdrawal {
    /// The agent or an operator took the message back.
    Cancelled,
    /// Nobody decided in time.
    Expired,
    /// Another approver decided.
    DecidedElsewhere,
    /// The hub did not accept the decision: its signature, counter or session is wrong.
    Rejected,
}

/// Why bytes are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// Nothing, or more than [`MAX_FRAME`] bytes.
    Length,
    /// Another version of the protocol.
    Version(u8),
    /// Not a frame that this version knows, or bytes are left over behind it.
    Malformed,
}

impl core::fmt::Display for FrameError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Length => write!(f, "a frame has 1 to {MAX_FRAME} bytes"),
            Self::Version(found) => {
                write!(f, "the peer speaks version {found} of the link, this side speaks {VERSION}")
            }
            Self::Malformed => f.write_str("not a frame that this version of the link knows"),
        }
    }
}

impl core::error::Error for FrameError {}

/// A frame's buffer.
pub type Buffer = [u8; MAX_FRAME];

/// Writes a frame, [`Up`] or [`Down`], into `buffer`.
///
/// Fails only for a [`Down::Piece`] with more bytes than [`PIECE`] allows by far: nothing else can grow so large.
pub fn encode<'b>(frame: &impl Serialize, buffer: &'b mut Buffer) -> Result<&'b [u8], FrameError> {
    let (version, rest) = buffer.split_at_mut(1);
    version[0] = VERSION;
    let length = postcard::to_slice(frame, rest).map_err(|_| FrameError::Length)?.len();
    Ok(&buffer[..=length])
}

/// Reads a frame, [`Up`] or [`Down`], that came from outside.
pub fn decode<'a, F: Deserialize<'a>>(bytes: &'a [u8]) -> Result<F, FrameError> {
    match bytes {
        [VERSION, body @ ..] if bytes.len() <= MAX_FRAME => match postcard::take_from_bytes(body) {
            Ok((frame, [])) => Ok(frame),
            _ => Err(FrameError::Malformed),
        },
        [VERSION, ..] | [] => Err(FrameError::Length),
        [other, ..] => Err(FrameError::Version(*other)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{decision::SignatureBytes, decision::Verdict};

    fn round_trip_up(frame: Up) {
        let mut buffer = [0; MAX_FRAME];
        let bytes = encode(&frame, &mut buffer).unwrap();
        assert_eq!(decode::<Up>(bytes), Ok(frame));
    }

    #[test]
    fn frames_survive_the_wire() {
        let request = RequestId([5; 16]);
        round_trip_up(Up::Hello { nonce: Nonce([1; 16]) });
        round_trip_up(Up::Fetch { request, piece: 3 });
        round_trip_up(Up::Decision(Decision {
            request,
            verdict: Verdict::Approve,
            counter: 1 << 40,
            signature: SignatureBytes([7; 64]),
        }));
        round_trip_up(Up::Refuse { request, reason: Refusal::Busy });

        let piece = Down::Piece { request, piece: 1, bytes: &[9; PIECE] };
        let mut buffer = [0; MAX_FRAME];
        assert_eq!(decode(encode(&piece, &mut buffer).unwrap()), Ok(piece));
    }

    /// The bytes are a promise to devices in the field: they change only with [`VERSION`].
    #[test]
    fn the_wire_format_is_fixed() {
        let mut buffer = [0; MAX_FRAME];
        let withdraw = Down::Withdraw { request: RequestId([0xab; 16]), reason: Withdrawal::Expired };
        let mut expected = std::vec![2, 4];
        expected.extend([0xab; 16]);
        expected.push(1);
        assert_eq!(encode(&withdraw, &mut buffer).unwrap(), expected);

        let fetch = Up::Fetch { request: RequestId([0xcd; 16]), piece: 300 };
        let mut expected = std::vec![2, 1];
        expected.extend([0xcd; 16]);
        expected.extend([0xac, 0x02]);
        assert_eq!(encode(&fetch, &mut buffer).unwrap(), expected);

        let report = Report { held: 1, queued: 300, sent: 2, last_s: Some(5), clock_s: None };
        let expected = [2, 5, 1, 0xac, 0x02, 2, 1, 5, 0];
        assert_eq!(encode(&Down::Status(report), &mut buffer).unwrap(), expected);
        assert_eq!(decode(&expected), Ok(Down::Status(report)));
    }

    #[test]
    fn another_version_is_refused_by_name() {
        assert_eq!(decode::<Up>(&[1, 0, 0]), Err(FrameError::Version(1)));
        assert_eq!(decode::<Up>(&[]), Err(FrameError::Length));
        assert_eq!(decode::<Up>(&[VERSION; MAX_FRAME + 1]), Err(FrameError::Length));
        assert_eq!(decode::<Up>(&[VERSION, 200]), Err(FrameError::Malformed));
    }

    #[test]
    fn bytes_behind_a_frame_are_refused() {
        let mut buffer = [0; MAX_FRAME];
        let length = encode(&Up::Hello { nonce: Nonce([0; 16]) }, &mut buffer).unwrap().len();
        assert_eq!(decode::<Up>(&buffer[..length + 1]), Err(FrameError::Malformed));
    }

    proptest! {
        #[test]
        fn no_bytes_make_decoding_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<Up>(&bytes);
            let _ = decode::<Down<'_>>(&bytes);
            let _ = crate::document::Document::decode(&bytes);
        }
    }
}

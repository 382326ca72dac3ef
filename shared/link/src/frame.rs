//! Frames: what hub and companion say to each other within a sealed session, in postcard.
//!
//! A frame from outside may contain anything. Decoding is bounded and never panics. A frame of a newer peer that is not
//! known is an error, and the session continues.

use serde::{Deserialize, Serialize};

pub use crate::envelope::FrameError;
use crate::{
    Digest, RequestId,
    decision::Decision,
    envelope::{MAX_PLAIN, whole},
    update::{ImageId, Label, Version, rule::Unfit},
};

/// Bytes of a document in one [`Down::Piece`]; only the last may be shorter.
pub const PIECE: usize = 1024;

/// From the companion to the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// The first frame of a session: the companion has the session too, and everything of an earlier one is void.
    Ready,
    /// Asks for a piece of an offered document.
    Fetch {
        /// The request whose document it is.
        request: RequestId,
        /// Counted from zero.
        piece: u16,
    },
    /// A person decided. It is repeated until [`Down::Consumed`] answers it.
    Decision(Decision),
    /// The offer cannot be shown.
    Refuse {
        /// The request refused.
        request: RequestId,
        /// Why.
        reason: Refusal,
    },
    /// Whether the companion's display accepts what is drawn. It is sent at the beginning of a session, after the first
    /// drawing, and at every change. The hub offers nothing to a companion that has not reported a working display in its
    /// session.
    Display {
        /// Whether it works.
        works: bool,
    },
    /// What the companion runs. It is sent at the beginning of a session, and when a root was taken; the hub answers with its state.
    Running(Running),
    /// Asks for a part of a release.
    FetchBlock {
        /// Of its list or of its image.
        part: Part,
        /// Where the bytes begin.
        offset: u32,
        /// How many there should be, at most [`FETCH_BYTES`](crate::update::FETCH_BYTES).
        length: u16,
    },
    /// How far an update is.
    Update {
        /// Of which image.
        image: ImageId,
        /// How far.
        progress: Progress,
    },
    /// Behind a denial: the agent whose message it was is not to ask for an hour. It approves and denies nothing.
    Mute {
        /// The request that was denied here last.
        request: RequestId,
    },
}

/// What a companion runs, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The board that it is on.
    pub board: Label,
    /// The version of its firmware.
    pub version: Version,
    /// It takes nothing below this version.
    pub floor: Version,
    /// The version of its root; 0 if it has none and takes no update.
    pub root: u32,
    /// Where it stands with the last change of its firmware.
    pub state: State,
}

/// Where a companion stands with the last change of its firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// What runs is confirmed.
    Settled,
    /// What runs has not confirmed itself yet.
    Trial(ImageId),
    /// This image was tried and did not confirm itself: what ran before runs again.
    WentBack(ImageId),
}

/// A part of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The hashes of the blocks.
    List,
    /// The image.
    Image,
}

/// How far an update is on a companion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// It is being fetched; in bytes of the image.
    Taking {
        /// There and verified.
        done: u32,
        /// All of it.
        of: u32,
    },
    /// All of it is there and verified: a person is asked on the screen.
    Asking,
    /// A person said no.
    Declined,
    /// A person said yes: the companion restarts with it.
    Installing,
    /// It is not taken.
    Refused(NotTaken),
}

/// Why a companion does not take an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotTaken {
    /// It is not signed by the keys of the companion's root, or the companion has none.
    Signature,
    /// It is signed, and not for this device now.
    Unfit(Unfit),
    /// It was tried before and did not confirm itself.
    WentBack,
    /// What came is not what was signed.
    Hash,
    /// The flash did not keep it.
    Flash,
}

/// Why a companion does not show an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// Its queue of cards is full; offer it again when a card is closed.
    Busy,
    /// The document does not fit its memory, or the text is longer than a person should read on it.
    TooLong,
    /// The document's bytes do not have the offered hash, or are not a document.
    Malformed,
}

/// From the hub to the companion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down<'a> {
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
    /// The hub no longer knows this companion. The companion forgets the hub, and can be paired again.
    Revoked,
    /// New firmware is available.
    Manifest {
        /// A [`Signed`](crate::update::Signed).
        #[serde(borrow)]
        signed: &'a [u8],
        /// The hub's time, in seconds since 1970, UTC.
        utc: u64,
        /// Whether to take an image again that went back before.
        again: bool,
    },
    /// The root after the companion's: a [`RootFile`](crate::update::root::RootFile). The companion says with [`Up::Running`] whether it took
    /// it.
    Root(#[serde(borrow)] &'a [u8]),
    /// A part of the release that the last [`Down::Manifest`] named.
    Block {
        /// Of its list or of its image.
        part: Part,
        /// Where the bytes begin.
        offset: u32,
        /// As many as were asked for.
        #[serde(borrow)]
        bytes: &'a [u8],
    },
    /// The release that was offered is offered no more.
    NoUpdate,
    /// What the idle screen shows of the hub beside [`Down::Status`]. Sent when it changes, and at the beginning of a session. A
    /// companion of before does not know it and ignores it, and so may every companion: no decision depends on it.
    Health(#[serde(borrow)] Health<'a>),
}

/// The hub's state: figures for a person, on which nothing depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Messages that wait for a decision.
    pub held: u16,
    /// Messages that are being sent.
    pub queued: u16,
    /// Messages delivered since the hub started.
    pub sent: u32,
    /// Seconds since the last of them; `None` if there is none.
    pub last_s: Option<u32>,
    /// The hub's local time, in seconds since midnight and below [`DAY_S`]; `None` if it does not know.
    pub clock_s: Option<u32>,
}

/// Whether the hub needs looking after, and where it delivered last: for a person, and on a wall. So it has no address and no words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health<'a> {
    /// Whether the hub takes messages: it does not without room on its disk.
    pub takes_messages: bool,
    /// Accounts whose platform has asked for a pause that is not over.
    pub paused: u16,
    /// The channel of the last delivery that [`Report::last_s`] tells of.
    pub last_channel: Option<&'a str>,
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

/// Writes a frame, [`Up`] or [`Down`], into `buffer`. Fails if it does not fit; a [`Down`] fits [`MAX_PLAIN`] bytes.
pub fn encode<'b>(frame: &impl Serialize, buffer: &'b mut [u8]) -> Result<&'b [u8], FrameError> {
    postcard::to_slice(frame, buffer).map(|bytes| &*bytes).map_err(|_| FrameError::Length)
}

/// Reads a frame, [`Up`] or [`Down`], that came from outside.
pub fn decode<'a, F: Deserialize<'a>>(bytes: &'a [u8]) -> Result<F, FrameError> {
    match bytes.len() {
        1..=MAX_PLAIN => whole(bytes),
        _ => Err(FrameError::Length),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_piece_fits_a_frame() {
        let piece = Down::Piece { request: RequestId([5; 16]), piece: u16::MAX, bytes: &[9; PIECE] };
        let mut buffer = [0; MAX_PLAIN];
        assert_eq!(decode(encode(&piece, &mut buffer).unwrap()), Ok(piece));
        let bytes = [9; MAX_PLAIN];
        let piece = Down::Piece { request: RequestId([5; 16]), piece: 0, bytes: &bytes };
        assert_eq!(encode(&piece, &mut buffer), Err(FrameError::Length));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert_eq!(decode::<Up>(&[]), Err(FrameError::Length));
        assert_eq!(decode::<Up>(&[0; MAX_PLAIN + 1]), Err(FrameError::Length));
        assert_eq!(decode::<Up>(&[200]), Err(FrameError::Malformed), "a frame of a later day");
        assert_eq!(decode::<Up>(&[0, 0]), Err(FrameError::Malformed), "bytes behind a frame");
    }

    proptest! {
        #[test]
        fn no_bytes_make_decoding_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<Up>(&bytes);
            let _ = decode::<Down<'_>>(&bytes);
            let _ = crate::document::Document::decode(&bytes);
        }
    }
}

//! What the broker carries: a version byte, and sealed frames or the handshake before them.
//!
//! An observer of the broker's traffic learns the length and the time of frames, and nothing more. An envelope from outside
//! may contain anything: reading one is bounded, never panics, and names the version that it refuses.

use serde::{Deserialize, Serialize};

/// The version of the link that this crate speaks: the first byte of everything on the broker.
///
/// 2: the report has the last delivery and the time of day. 3: sealed; pairing; the frames of updates. 4: the companion says in
/// every session whether its display works, approves nothing that the display did not take, and knows documents with several
/// targets.
///
/// It rises whenever a companion with older firmware would decide otherwise than people rely on: then companions must be updated
/// with the hub.
pub const VERSION: u8 = 4;
/// The oldest version in which a hub still answers, after the hub was updated and before its companions were: it tells them what to do,
/// offers them no message and takes no approval of theirs. A companion speaks [`VERSION`] alone.
pub const OLDEST: u8 = 3;
// A hub is updated before its companions.
const _: () = assert!(
    OLDEST < VERSION,
    "the version before is spoken no more: no hub could be updated before its companions"
);
/// The largest payload on the broker, in bytes, with its version byte.
pub const MAX_FRAME: usize = 4096;
/// The largest payload that a device sends, in bytes: its frames are few and small, and so are its buffers.
pub const MAX_UP: usize = 256;
/// The largest frame inside [`MAX_FRAME`]: without version, kind, number (10 bytes at most), length (2) and tag.
pub const MAX_PLAIN: usize = MAX_FRAME - 1 - 1 - 10 - 2 - crate::seal::TAG;

/// From the device to the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up<'a> {
    /// The device begins a session; see [`crate::session`].
    Open {
        /// The handshake's first message.
        noise: &'a [u8],
    },
    /// A sealed [`crate::frame::Up`].
    Sealed {
        /// Its number in the session.
        number: u64,
        /// The frame, sealed.
        bytes: &'a [u8],
    },
}

/// From the hub to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down<'a> {
    /// Answers [`Up::Open`].
    Opened {
        /// The handshake's second message.
        noise: &'a [u8],
    },
    /// A sealed [`crate::frame::Down`].
    Sealed {
        /// Its number in the session.
        number: u64,
        /// The frame, sealed.
        bytes: &'a [u8],
    },
    /// The hub knows of no session. Not sealed, so it is trusted with nothing: a device begins a new one, seldom.
    Greet,
}

/// Why bytes are not an envelope, or not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// Nothing, or more than [`MAX_FRAME`] bytes.
    Length,
    /// Another version of the protocol.
    Version(u8),
    /// An older version than the peer has spoken before: somebody may want the weaker one to be spoken.
    Downgrade {
        /// The version found.
        found: u8,
        /// The highest version seen from the peer.
        seen: u8,
    },
    /// Not what this version knows, or bytes are left over behind it.
    Malformed,
}

impl core::fmt::Display for FrameError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Length => write!(f, "a frame has 1 to {MAX_FRAME} bytes"),
            Self::Version(found) => {
                write!(f, "the peer speaks version {found} of the link, this side speaks {VERSION}")
            }
            Self::Downgrade { found, seen } => {
                write!(f, "version {found} of the link from a peer that has spoken version {seen}: refused")
            }
            Self::Malformed => f.write_str("not a frame that this version of the link knows"),
        }
    }
}

impl core::error::Error for FrameError {}

/// A payload's buffer.
pub type Buffer = [u8; MAX_FRAME];

/// Writes an envelope into `buffer`. Fails where it does not fit.
pub fn encode<'b>(envelope: &impl Serialize, buffer: &'b mut [u8]) -> Result<&'b [u8], FrameError> {
    encode_as(VERSION, envelope, buffer)
}

/// The same in another version, for a peer that speaks no newer one.
pub fn encode_as<'b>(
    version: u8,
    envelope: &impl Serialize,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], FrameError> {
    let (first, rest) = buffer.split_first_mut().ok_or(FrameError::Length)?;
    *first = version;
    let length = postcard::to_slice(envelope, rest).map_err(|_| FrameError::Length)?.len();
    Ok(&buffer[..=length])
}

/// Reads an envelope that came from outside, in a version not below the highest one `seen` from that peer.
pub fn decode<'a, E: Deserialize<'a>>(bytes: &'a [u8], seen: u8) -> Result<E, FrameError> {
    let (version, body) = bytes.split_first().ok_or(FrameError::Length)?;
    if bytes.len() > MAX_FRAME {
        return Err(FrameError::Length);
    }
    admit(*version, seen)?;
    whole(body)
}

/// Whether a version may be spoken with a peer of which version `seen` was seen.
pub fn admit(version: u8, seen: u8) -> Result<(), FrameError> {
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(FrameError::Version(version));
    }
    match version < seen {
        true => Err(FrameError::Downgrade { found: version, seen }),
        false => Ok(()),
    }
}

/// Reads a value that is all of `bytes`.
pub(crate) fn whole<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(FrameError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_frame_fits_the_largest_payload() {
        let sealed = [7; MAX_PLAIN + crate::seal::TAG];
        let mut buffer = [0; MAX_FRAME];
        let envelope = Down::Sealed { number: u64::MAX, bytes: &sealed };
        let bytes = encode(&envelope, &mut buffer).unwrap();
        assert_eq!(bytes.len(), MAX_FRAME);
        assert_eq!(decode(bytes, VERSION), Ok(envelope));
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let open = Up::Open { noise: &[1; 48] };
        let mut bytes = encode(&open, &mut [0; MAX_UP]).unwrap().to_vec();
        for version in (0..OLDEST).chain([VERSION + 1, 255]) {
            bytes[0] = version;
            let refused = decode::<Up<'_>>(&bytes, 0).unwrap_err();
            assert_eq!(refused, FrameError::Version(version));
            assert!(std::format!("{refused}").contains(&std::format!("version {version} ")));
        }
    }

    #[test]
    fn a_version_below_the_highest_seen_is_refused() {
        let open = Up::Open { noise: &[1; 48] };
        let mut buffer = [0; MAX_UP];
        let bytes = encode(&open, &mut buffer).unwrap();
        assert_eq!(decode::<Up<'_>>(bytes, VERSION), Ok(open));
        let downgrade = FrameError::Downgrade { found: VERSION, seen: VERSION + 1 };
        assert_eq!(decode::<Up<'_>>(bytes, VERSION + 1), Err(downgrade));
    }

    #[test]
    fn an_older_version_is_understood_from_who_has_spoken_no_newer_one() {
        let open = Up::Open { noise: &[1; 48] };
        for version in OLDEST..VERSION {
            let mut buffer = [0; MAX_UP];
            let bytes = encode_as(version, &open, &mut buffer).unwrap();
            assert_eq!((bytes[0], decode::<Up<'_>>(bytes, version)), (version, Ok(open)));
            let downgrade = FrameError::Downgrade { found: version, seen: VERSION };
            assert_eq!(decode::<Up<'_>>(bytes, VERSION), Err(downgrade));
        }
    }

    #[test]
    fn the_version_before_this_one_is_spoken() {
        assert_eq!(admit(VERSION - 1, VERSION - 1), Ok(()));
    }

    #[test]
    fn bytes_behind_an_envelope_and_too_many_of_them_are_refused() {
        let mut bytes = encode(&Down::Greet, &mut [0; 8]).unwrap().to_vec();
        bytes.push(0);
        assert_eq!(decode::<Down<'_>>(&bytes, 0), Err(FrameError::Malformed));
        assert_eq!(decode::<Down<'_>>(&[], 0), Err(FrameError::Length));
        assert_eq!(decode::<Down<'_>>(&[VERSION; MAX_FRAME + 1], 0), Err(FrameError::Length));
        assert_eq!(decode::<Down<'_>>(&[VERSION, 200], 0), Err(FrameError::Malformed));
        assert_eq!(encode(&Down::Opened { noise: &[0; 48] }, &mut [0; 16]), Err(FrameError::Length));
    }

    proptest! {
        #[test]
        fn no_bytes_make_decoding_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for version in [None, Some(VERSION)] {
                if let (Some(version), Some(first)) = (version, bytes.first_mut()) {
                    *first = version;
                }
                let _ = decode::<Up<'_>>(&bytes, 0);
                let _ = decode::<Down<'_>>(&bytes, 0);
            }
        }
    }
}

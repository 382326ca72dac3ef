//! Whether bytes are one whole recording in Ogg Opus: the pages of RFC 3533, the head of RFC 7845.
//!
//! What breaks off within a page is not sent as a voice message: a platform would take it, and a person would hear half of it.
//! The sound itself is not decoded, and the mark of the last page is not asked for: services that stream leave it out.

use std::time::Duration;

use crate::ogg::{self, FIRST, NOWHERE, RATE};

/// How long a recording lasts.
///
/// # Errors
/// The bytes are not one whole recording: why.
pub fn length(bytes: &[u8]) -> Result<Duration, &'static str> {
    let (first, mut rest) = ogg::page(bytes).ok_or("it is no Ogg")?;
    let head = ogg::opus_head(first.body).filter(|_| first.fixed.flags & FIRST != 0);
    let before = u64::from(head.ok_or("it is not Opus")?.skipped);
    let mut end = 0;
    while !rest.is_empty() {
        let (page, more) = ogg::page(rest).ok_or("it breaks off")?;
        if page.fixed.flags & FIRST != 0 {
            return Err("there is more than one stream in it");
        }
        if page.fixed.position != NOWHERE {
            end = page.fixed.position;
        }
        rest = more;
    }
    match end.saturating_sub(before) {
        0 => Err("it is silent"),
        samples => Ok(Duration::from_millis(samples.saturating_mul(1000) / RATE)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(flags: u8, position: u64, body: &[u8]) -> Vec<u8> {
        let mut page = [b"OggS\0".as_slice(), &[flags]].concat();
        page.extend(position.to_le_bytes());
        page.extend([0; 12]);
        page.extend([1, u8::try_from(body.len()).unwrap()]);
        page.extend(body);
        page
    }

    fn head() -> Vec<u8> {
        page(FIRST, 0, &[b"OpusHead".as_slice(), &[1, 1, 0x38, 1, 0, 0, 0, 0, 0, 0, 0]].concat())
    }

    /// A short recording.
    pub(crate) fn recording() -> Vec<u8> {
        [head(), page(0, 0, b"OpusTags"), page(0, u64::MAX, b"x"), page(4, 0x138 + 96_000, b"y")].concat()
    }

    #[test]
    fn a_whole_recording_says_how_long_it_lasts() {
        assert_eq!(length(&recording()), Ok(Duration::from_secs(2)));
    }

    #[test]
    fn what_is_cut_silent_or_something_else_is_none() {
        let whole = recording();
        assert_eq!(length(b""), Err("it is no Ogg"));
        assert_eq!(length(b"RIFF1234WAVEfmt "), Err("it is no Ogg"));
        assert_eq!(length(&page(FIRST, 0, b"\x01vorbis and what belongs to it")), Err("it is not Opus"));
        assert_eq!(length(&[head(), page(4, 0x138, b"")].concat()), Err("it is silent"));
        assert_eq!(
            length(&[whole.clone(), whole.clone()].concat()),
            Err("there is more than one stream in it")
        );
        let last = page(4, 0, b"y").len();
        for cut in (1..whole.len()).filter(|&cut| cut != last) {
            assert!(length(&whole[..whole.len() - cut]).is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(cut in 0..200_usize, rest in proptest::collection::vec(any::<u8>(), 0..300)) {
            let whole = recording();
            let bytes = [&whole[..cut.min(whole.len())], &rest].concat();
            let _ = length(&bytes);
        }
    }
}

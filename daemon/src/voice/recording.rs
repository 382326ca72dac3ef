//! Whether bytes are one whole recording in Ogg Opus: the pages of RFC 3533, the head of RFC 7845.
//!
//! What breaks off within a page is not sent as a voice message: a platform would take it, and a person would hear half of it.
//! The sound itself is not decoded, and the mark of the last page is not asked for: services that stream leave it out.

use std::time::Duration;

/// What every page begins with (RFC 3533 §6).
const PAGE: &[u8] = b"OggS";
/// A page's fixed members, in bytes.
const FIXED: usize = 27;
/// What the first page holds (RFC 7845 §5.1).
const HEAD: &[u8] = b"OpusHead";
/// The flag of a stream's first page.
const FIRST: u8 = 0x02;
/// Opus counts time in 48,000ths of a second, whatever it was made from (RFC 7845 §4).
const RATE: u64 = 48_000;

struct Page<'a> {
    flags: u8,
    /// Samples until its end; all ones where no packet ends on it.
    position: u64,
    body: &'a [u8],
}

/// How long a recording lasts; or why it is none.
pub(super) fn length(bytes: &[u8]) -> Result<Duration, &'static str> {
    let (first, mut rest) = page(bytes).ok_or("it is no Ogg")?;
    if first.flags & FIRST == 0 || !first.body.starts_with(HEAD) || first.body.len() < 19 {
        return Err("it is not Opus");
    }
    let before = u64::from(u16::from_le_bytes([first.body[10], first.body[11]]));
    let mut end = 0;
    while !rest.is_empty() {
        let (page, more) = page(rest).ok_or("it breaks off")?;
        if page.flags & FIRST != 0 {
            return Err("there is more than one stream in it");
        }
        if page.position != u64::MAX {
            end = page.position;
        }
        rest = more;
    }
    match end.saturating_sub(before) {
        0 => Err("it is silent"),
        samples => Ok(Duration::from_millis(samples.saturating_mul(1000) / RATE)),
    }
}

/// The first page of `bytes`, and what follows it.
fn page(bytes: &[u8]) -> Option<(Page<'_>, &[u8])> {
    let fixed = bytes.get(..FIXED)?;
    if !fixed.starts_with(PAGE) || fixed[4] != 0 {
        return None;
    }
    let segments = usize::from(fixed[26]);
    let lengths = bytes.get(FIXED..FIXED + segments)?;
    let (begin, size) = (FIXED + segments, lengths.iter().map(|&length| usize::from(length)).sum::<usize>());
    let body = bytes.get(begin..begin + size)?;
    let position = u64::from_le_bytes(fixed[6..14].try_into().ok()?);
    Some((Page { flags: fixed[5], position, body }, &bytes[begin + size..]))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(flags: u8, position: u64, body: &[u8]) -> Vec<u8> {
        let mut page = [PAGE, &[0, flags]].concat();
        page.extend(position.to_le_bytes());
        page.extend([0; 12]);
        page.extend([1, u8::try_from(body.len()).unwrap()]);
        page.extend(body);
        page
    }

    fn head() -> Vec<u8> {
        page(FIRST, 0, &[HEAD, &[1, 1, 0x38, 1, 0, 0, 0, 0, 0, 0, 0]].concat())
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

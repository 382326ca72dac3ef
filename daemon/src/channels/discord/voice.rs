//! How long a recording is: what Discord wants to know of a voice message.
//!
//! A recording in Ogg says it in its last page's granule position (RFC 3533 §6), for Opus counted at 48 kHz from the first
//! page's pre-skip on (RFC 7845 §4). Both ends of the file are read and nothing between. The bytes are from outside: what
//! does not make sense has no length, and goes as a file.
//!
//! Discord also wants a waveform, for the picture beside the button. It takes any (the documentation calls it "a preview of
//! the entire voice message", a byte a point and at most 256 points); one that would show the sound needs an Opus decoder, so
//! it is a flat one.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::ogg::{self, FIXED, NOWHERE, RATE};

/// "The maximum page size of 65307 bytes".
const MAX_PAGE: u64 = 65_307;
/// Nothing that anybody speaks is longer.
const LONGEST: Duration = Duration::from_hours(24);

/// The most points, and the time between two.
const MAX_POINTS: u128 = 256;
const STEP: u128 = 100;

/// The length of a recording in Ogg Opus. The file is at its beginning after it.
pub(super) fn length(file: &mut File) -> Option<Duration> {
    let length = measure(file);
    file.rewind().ok()?;
    length
}

/// Points of the same height for a recording of this length.
pub(super) fn waveform(length: Duration) -> String {
    let points = (length.as_millis() / STEP).clamp(1, MAX_POINTS);
    STANDARD.encode(vec![128; usize::try_from(points).unwrap_or(1)])
}

fn measure(file: &mut File) -> Option<Duration> {
    let size = file.metadata().ok()?.len();
    // One segment, and in it the identification header (RFC 7845 §5.1).
    let mut first = [0; FIXED + 1 + 19];
    file.read_exact(&mut first).ok()?;
    let stream = ogg::fixed(&first).filter(|fixed| fixed.segments == 1)?;
    let skipped = u64::from(ogg::opus_head(&first[FIXED + 1..])?.skipped);

    let tail = size.min(MAX_PAGE + FIXED as u64);
    file.seek(SeekFrom::Start(size - tail)).ok()?;
    let mut bytes = Vec::new();
    file.take(tail).read_to_end(&mut bytes).ok()?;
    let last = (0..bytes.len()).rev().find_map(|at| {
        ogg::fixed(bytes.get(at..)?).filter(|page| page.serial == stream.serial && page.position != NOWHERE)
    })?;
    let samples = last.position.checked_sub(skipped)?;
    let length = Duration::from_millis(samples.checked_mul(1000)? / RATE);
    (!length.is_zero() && length < LONGEST).then_some(length)
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use super::*;

    fn page(granule: u64, serial: u32, packet: &[u8]) -> Vec<u8> {
        let mut page = b"OggS\0\0".to_vec();
        page.extend(granule.to_le_bytes());
        page.extend(serial.to_le_bytes());
        page.extend([0; 8]);
        page.extend([1, u8::try_from(packet.len()).unwrap()]);
        page.extend(packet);
        page
    }

    /// A recording of this many samples at 48 kHz, with a pre-skip of 312.
    pub(in super::super) fn recording(samples: u64) -> Vec<u8> {
        let mut head = b"OpusHead\x01\x01".to_vec();
        head.extend(312_u16.to_le_bytes());
        head.extend([0x80, 0xbb, 0, 0, 0, 0, 0]);
        let mut all = page(0, 7, &head);
        all.extend(page(0, 7, b"OpusTags"));
        all.extend(page(samples / 2, 7, &[1; 200]));
        all.extend(page(samples + 312, 7, &[2; 200]));
        all
    }

    fn length_of(bytes: &[u8]) -> Option<Duration> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let length = length(&mut file);
        assert_eq!(file.stream_position().unwrap(), 0);
        length
    }

    #[test]
    fn a_recording_is_as_long_as_its_last_page_says() {
        assert_eq!(length_of(&recording(96_000)), Some(Duration::from_secs(2)));
        // Of a page that another stream has, or in which nothing ends, nothing is believed.
        let mut more = recording(96_000);
        more.extend(page(u64::MAX, 7, &[0; 9]));
        more.extend(page(480_000, 8, &[0; 9]));
        assert_eq!(length_of(&more), Some(Duration::from_secs(2)));
        let mut long = recording(48_000);
        long.extend((0..400).flat_map(|n| page(100_000 + n, 7, &[3; 250])));
        long.extend(page(480_312, 7, &[4; 9]));
        assert_eq!(length_of(&long), Some(Duration::from_secs(10)));
    }

    #[test]
    fn what_is_no_recording_has_no_length() {
        let whole = recording(96_000);
        for end in 0..whole.len() {
            let length = length_of(&whole[..end]);
            assert!(length.is_none_or(|length| length <= Duration::from_secs(2)), "{end}: {length:?}");
        }
        for odd in [vec![], b"OggS".to_vec(), vec![0xff; 1000], recording(0), recording(u64::MAX / 2)] {
            assert_eq!(length_of(&odd), None, "{} bytes", odd.len());
        }
        let mut before = recording(48_000);
        before.extend(page(5, 7, &[0; 9]));
        assert_eq!(length_of(&before), None, "it ends before it begins");
    }

    #[test]
    fn a_waveform_has_a_point_for_a_tenth_of_a_second_and_256_at_most() {
        let points =
            |milliseconds| STANDARD.decode(waveform(Duration::from_millis(milliseconds))).unwrap().len();
        assert_eq!([points(1), points(2_000), points(3_600_000)], [1, 20, 256]);
        assert!(waveform(LONGEST).len() <= 400, "Discord's specification has 400 characters");
    }
}

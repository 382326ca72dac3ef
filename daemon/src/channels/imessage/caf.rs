//! Ogg Opus as Messages plays it: the same packets in a Core Audio file, in which Apple's own voice notes are Opus too.
//!
//! Nothing is decoded: what was approved is heard, bit for bit, in another wrapping. What cannot be wrapped so (several streams,
//! packets of different lengths, a volume of its own) is left as it is, and whoever asked sends it as a file. No more is written
//! than was read, but for a head and at most two bytes a packet.
//!
//! The pages are those of RFC 3533 §6, the head that of RFC 7845 §5.1, a packet's length that of RFC 6716 §3.1; the chunks are
//! those of Apple's Core Audio Format Specification
//! (<https://developer.apple.com/library/archive/documentation/MusicAudio/Reference/CAFSpec/CAF_spec/CAF_spec.html>).

use crate::ogg::{self, FIRST, NOWHERE, OpusHead, RATE};

/// The longest recording that is wrapped anew, in bytes: the longest that the hub speaks itself.
pub(super) const MOST: u64 = 8 * 1024 * 1024;
/// The type of a Core Audio file.
pub(super) const KIND: &str = "audio/x-caf";

/// The longest packet, in samples: 120 ms (RFC 6716 §3.2.5).
const LONGEST: u32 = 5_760;
/// `kCAFChannelLayoutTag_Mono` and `kCAFChannelLayoutTag_Stereo`.
const LAYOUTS: [u32; 2] = [(100 << 16) | 1, (101 << 16) | 2];

/// A recording in Ogg Opus as a Core Audio file; nothing, where it is none or cannot be one.
pub fn of_ogg(ogg: &[u8]) -> Option<Vec<u8>> {
    let stream = Stream::read(ogg)?;
    let OpusHead { channels, skipped, plain } = ogg::opus_head(stream.packets.first()?)?;
    let layout = *LAYOUTS.get(usize::from(channels).checked_sub(1)?)?;
    // A volume that a player is to add, and a mapping of channels, have no place in the other form.
    if !plain || !stream.packets.get(1)?.starts_with(b"OpusTags") {
        return None;
    }
    let packets = stream.packets.get(2..).filter(|packets| !packets.is_empty())?;
    let frames = duration(packets.first()?)?;
    if packets.iter().any(|packet| duration(packet) != Some(frames)) {
        return None;
    }
    let all = u64::from(frames) * packets.len() as u64;
    let end = stream.end.min(all);
    let valid = end.checked_sub(u64::from(skipped)).filter(|valid| *valid > 0)?;

    let mut description = (RATE as f64).to_be_bytes().to_vec();
    description.extend(b"opus");
    // Format flags, bytes a packet (they differ), frames a packet, channels, bits a channel (none).
    description.extend([0, 0, frames, u32::from(channels), 0].map(u32::to_be_bytes).concat());
    let mut table = Vec::new();
    table.extend((packets.len() as u64).to_be_bytes());
    table.extend(valid.to_be_bytes());
    table.extend(u32::from(skipped).to_be_bytes());
    table.extend(u32::try_from(all - end).ok()?.to_be_bytes());
    packets.iter().try_for_each(|packet| sized(packet.len(), &mut table))?;
    // How often it was edited, before the sound.
    let sound = [&[0; 4], packets.concat().as_slice()].concat();

    let mut caf = b"caff\0\x01\0\0".to_vec();
    let layout = [layout, 0, 0].map(u32::to_be_bytes).concat();
    for (name, chunk) in [(b"desc", &description), (b"chan", &layout), (b"pakt", &table), (b"data", &sound)] {
        caf.extend(name);
        caf.extend((chunk.len() as u64).to_be_bytes());
        caf.extend(chunk);
    }
    Some(caf)
}

/// A number as the packet table has it: seven bits a byte, the highest first, each but the last with its top bit set.
fn sized(length: usize, table: &mut Vec<u8>) -> Option<()> {
    let length = u32::try_from(length).ok()?;
    let begin = (0..5).rev().find(|byte| *byte == 0 || length >> (7 * byte) != 0)?;
    for byte in (0..=begin).rev() {
        let bits = (length >> (7 * byte)) as u8 & 0x7f;
        table.push(if byte == 0 { bits } else { bits | 0x80 });
    }
    Some(())
}

/// How long a packet lasts, by its first byte and, where that says so, the number of its frames.
fn duration(packet: &[u8]) -> Option<u32> {
    let first = *packet.first()?;
    let frame = match first >> 3 {
        config @ 0..=11 => [480, 960, 1_920, 2_880][usize::from(config & 3)],
        config @ 12..=15 => [480, 960][usize::from(config & 1)],
        config => [120, 240, 480, 960][usize::from(config & 3)],
    };
    let frames = match first & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(packet.get(1)? & 0x3f),
    };
    Some(frame * frames).filter(|all| (1..=LONGEST).contains(all))
}

/// The packets of the one stream in an Ogg, the two of its head included.
struct Stream {
    packets: Vec<Vec<u8>>,
    /// Frames until its end.
    end: u64,
}

impl Stream {
    fn read(mut ogg: &[u8]) -> Option<Self> {
        let (mut stream, mut serial) = (Self { packets: Vec::new(), end: 0 }, None);
        // What a page ended within.
        let mut begun: Option<Vec<u8>> = None;
        while !ogg.is_empty() {
            let (page, rest) = ogg::page(ogg)?;
            let is_first = page.fixed.flags & FIRST != 0;
            if is_first != serial.is_none() || *serial.get_or_insert(page.fixed.serial) != page.fixed.serial {
                return None;
            }
            let mut body = page.body;
            for &length in page.lengths {
                let (piece, behind) = body.split_at_checked(usize::from(length))?;
                begun.get_or_insert_default().extend(piece);
                // A full segment goes on in the next, wherever that is.
                if length < 255 {
                    stream.packets.extend(begun.take());
                }
                body = behind;
            }
            if page.fixed.position != NOWHERE {
                stream.end = page.fixed.position;
            }
            ogg = rest;
        }
        begun.is_none().then_some(stream)
    }
}

/// A short recording in Ogg Opus.
#[cfg(test)]
pub(super) fn sample() -> Vec<u8> {
    tests::ogg(1, 312, 1_900, &[vec![1 << 3, 1], vec![1 << 3, 2]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A page; one whose last packet goes on has no end of its own.
    fn page(flags: u8, position: u64, lengths: &[u8], body: &[u8]) -> Vec<u8> {
        let mut page = [b"OggS\0".as_slice(), &[flags], &position.to_le_bytes(), b"oneS", &[0; 8]].concat();
        page.push(u8::try_from(lengths.len()).unwrap());
        [page.as_slice(), lengths, body].concat()
    }

    /// A packet's length in segments.
    fn laced(length: usize) -> Vec<u8> {
        [vec![255; length / 255], vec![(length % 255) as u8]].concat()
    }

    pub(super) fn ogg(channels: u8, skipped: u16, end: u64, packets: &[Vec<u8>]) -> Vec<u8> {
        let [low, high] = skipped.to_le_bytes();
        let head = [b"OpusHead\x01".as_slice(), &[channels, low, high, 0x22, 0x56, 0, 0, 0, 0, 0]].concat();
        let mut ogg = page(FIRST, 0, &[19], &head);
        ogg.extend(page(0, 0, &[8], b"OpusTags"));
        let lengths: Vec<u8> = packets.iter().flat_map(|packet| laced(packet.len())).collect();
        let mut body = packets.concat();
        // As many segments as a page takes, wherever that cuts a packet.
        let mut pages = lengths.chunks(255).peekable();
        while let Some(lengths) = pages.next() {
            let rest = body.split_off(lengths.iter().map(|&length| usize::from(length)).sum());
            let position = if pages.peek().is_some() { u64::MAX } else { end };
            ogg.extend(page(0, position, lengths, &body));
            body = rest;
        }
        ogg
    }

    fn number(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }

    /// A chunk's content.
    fn chunk<'a>(mut caf: &'a [u8], name: &[u8]) -> &'a [u8] {
        caf = &caf[8..];
        loop {
            let length = number(&caf[4..12]) as usize;
            if caf.starts_with(name) {
                return &caf[12..12 + length];
            }
            caf = &caf[12 + length..];
        }
    }

    /// The packets, by the table.
    fn packets_of(caf: &[u8]) -> Vec<Vec<u8>> {
        let (table, mut sound) = (chunk(caf, b"pakt"), &chunk(caf, b"data")[4..]);
        let (mut packets, mut length) = (Vec::new(), 0);
        for byte in &table[24..] {
            length = (length << 7) | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                let (packet, rest) = sound.split_at(length);
                packets.push(packet.to_vec());
                (sound, length) = (rest, 0);
            }
        }
        assert!(sound.is_empty() && length == 0);
        packets
    }

    #[test]
    fn a_recording_has_its_length_its_rate_and_its_packets() {
        // SILK, 20 ms; fifty of them are a second.
        let packets: Vec<Vec<u8>> = (0..50).map(|n| [vec![1 << 3], vec![n; 60]].concat()).collect();
        let caf = of_ogg(&ogg(1, 312, 47_500, &packets)).unwrap();
        assert!(caf.starts_with(b"caff\0\x01\0\0desc"));
        let description = chunk(&caf, b"desc");
        assert_eq!((description.len(), &description[..8]), (32, &48_000_f64.to_be_bytes()[..]));
        assert_eq!(&description[8..12], b"opus");
        assert_eq!([12, 16, 20, 24, 28].map(|at| number(&description[at..at + 4])), [0, 0, 960, 1, 0]);
        assert_eq!(chunk(&caf, b"chan"), [0, 100, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let table = chunk(&caf, b"pakt");
        assert_eq!((number(&table[..8]), number(&table[8..16])), (50, 47_500 - 312));
        assert_eq!((number(&table[16..20]), number(&table[20..24])), (312, 500));
        assert_eq!(packets_of(&caf), packets);
    }

    #[test]
    fn what_cannot_be_wrapped_so_is_left_as_it_is() {
        let packets = vec![vec![1 << 3, 1], vec![1 << 3, 2]];
        let whole = ogg(1, 312, 1_900, &packets);
        assert!(of_ogg(&whole).is_some() && of_ogg(&ogg(2, 312, 1_900, &packets)).is_some());
        assert_eq!(of_ogg(b""), None);
        assert_eq!(of_ogg(b"RIFF1234WAVEfmt "), None);
        assert_eq!(of_ogg(&whole[..whole.len() - 1]), None, "it breaks off");
        assert_eq!(of_ogg(&[whole.clone(), whole.clone()].concat()), None, "two streams");
        assert_eq!(of_ogg(&ogg(6, 312, 1_900, &packets)), None, "six channels");
        assert_eq!(of_ogg(&ogg(1, 312, 300, &packets)), None, "it is silent");
        assert_eq!(of_ogg(&ogg(1, 312, 1_900, &[])), None, "it is empty");
        assert_eq!(of_ogg(&ogg(1, 312, 1_900, &[packets[0].clone(), vec![0]])), None, "lengths differ");
        let mut louder = whole;
        louder[28 + 16] = 1;
        assert_eq!(of_ogg(&louder), None, "a volume of its own");
    }

    proptest! {
        #[test]
        fn every_packet_stays_what_it_is_and_little_comes_to_it(
            lengths in proptest::collection::vec(0..1_275_usize, 1..300), skipped in 0..900_u16, cut in 0..900_u64,
        ) {
            // CELT, 20 ms.
            let packets: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(n, &length)| [vec![31 << 3], vec![n as u8; length]].concat()).collect();
            let all = 960 * packets.len() as u64;
            let ogg = ogg(1, skipped, all - cut, &packets);
            match of_ogg(&ogg) {
                None => prop_assert!(all - cut <= u64::from(skipped)),
                Some(caf) => {
                    let table = chunk(&caf, b"pakt");
                    prop_assert_eq!(number(&table[8..16]) + number(&table[16..20]) + number(&table[20..24]), all);
                    prop_assert!(caf.len() <= ogg.len() + 256 + 2 * packets.len());
                    prop_assert_eq!(packets_of(&caf), packets);
                }
            }
        }

        #[test]
        fn no_bytes_are_too_strange(
            at in 0..200_usize, put in proptest::collection::vec(any::<u8>(), 0..40), rest in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut bytes = ogg(1, 312, 1_900, &[vec![1 << 3; 70], vec![1 << 3; 70]]);
            let at = at.min(bytes.len());
            bytes.splice(at..(at + put.len()).min(bytes.len()), put);
            let _ = of_ogg(&bytes);
            bytes.extend(rest);
            let _ = of_ogg(&bytes);
        }
    }
}

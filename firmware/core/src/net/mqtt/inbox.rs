//! Assembles packets from the bytes of a socket.
//!
//! Memory is bounded by the largest frame. A larger packet is reported and skipped, so that nobody on the broker can end
//! the connection with one.

use gatepost_link::{envelope::MAX_FRAME, topic::MAX_TOPIC};

use super::packet::{self, Incoming, Malformed};

/// Bytes of the largest packet that is read in full: a fixed header, a topic, an identifier and a frame.
pub const MAX_PACKET_BYTES: usize = 5 + 2 + MAX_TOPIC + 2 + MAX_FRAME;

/// Bytes that have arrived and were not taken yet.
#[derive(Debug)]
pub struct Inbox {
    bytes: [u8; MAX_PACKET_BYTES],
    filled: usize,
    /// Bytes at the start that belong to the packet taken last.
    taken: usize,
    /// Bytes of a skipped packet that are still to arrive.
    skipped: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { bytes: [0; MAX_PACKET_BYTES], filled: 0, taken: 0, skipped: 0 }
    }
}

impl Inbox {
    /// Where to write the next bytes. Never empty after [`Inbox::take`] has returned `None`.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// `count` bytes were written into [`Inbox::space`].
    pub fn arrived(&mut self, count: usize) {
        self.filled = (self.filled + count).min(MAX_PACKET_BYTES);
    }

    /// Takes the next packet; `None` if more bytes are needed. After an error the connection is unusable.
    pub fn take(&mut self) -> Result<Option<Incoming<'_>>, Malformed> {
        let last_packet = core::mem::take(&mut self.taken);
        self.drop_first(last_packet);
        let to_skip = self.skipped.min(self.filled);
        self.skipped -= to_skip;
        self.drop_first(to_skip);
        let bytes = &self.bytes[..self.filled];
        let Some((length, body)) = packet::measure(bytes)? else {
            return Ok(None);
        };
        if length <= self.filled {
            self.taken = length;
            return packet::read(bytes[0], &bytes[body..length]).map(Some);
        }
        if self.filled == MAX_PACKET_BYTES {
            self.taken = self.filled;
            self.skipped = length - self.filled;
            return packet::read_large(bytes[0], &bytes[body..]).map(Some);
        }
        Ok(None)
    }

    fn drop_first(&mut self, count: usize) {
        if count > 0 {
            self.bytes.copy_within(count..self.filled, 0);
            self.filled -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{format, string::String, vec, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    fn message(topic: &str, id: u16, payload: &[u8]) -> Vec<u8> {
        [&packet::publish(id, topic, payload.len()), payload].concat()
    }

    /// All packets, if the bytes arrive in steps of this size.
    fn packets(bytes: &[u8], step: usize) -> Result<Vec<String>, Malformed> {
        let (mut inbox, mut packets, mut rest) = (Inbox::default(), vec![], bytes);
        loop {
            while let Some(packet) = inbox.take()? {
                packets.push(match packet {
                    Incoming::Message { topic, id, payload } => {
                        format!("{topic} {id:?} {} {:?}", payload.len(), payload.last())
                    }
                    other => format!("{other:?}"),
                });
            }
            if rest.is_empty() {
                return Ok(packets);
            }
            let space = inbox.space();
            assert!(!space.is_empty());
            let count = step.min(space.len()).min(rest.len());
            space[..count].copy_from_slice(&rest[..count]);
            rest = &rest[count..];
            inbox.arrived(count);
        }
    }

    #[test]
    fn packets_are_the_same_in_whatever_pieces_they_come() {
        let topic = "t".repeat(MAX_TOPIC);
        let stream = [
            vec![0x20, 2, 0, 0],
            message(&topic, 1, &[1; MAX_FRAME]),
            message("large", 2, &[2; 3 * MAX_PACKET_BYTES]),
            message("small", 3, &[3]),
            message("one more than fits", 4, &[4; MAX_PACKET_BYTES]),
            vec![0xd0, 0],
        ]
        .concat();
        let expected = [
            "Connected(0)",
            &format!("{topic} Some(1) 4096 Some(1)"),
            "TooLarge { id: Some(2) }",
            "small Some(3) 1 Some(3)",
            "TooLarge { id: Some(4) }",
            "Pong",
        ];
        for step in [1, 2, 3, 100, 1460, MAX_PACKET_BYTES - 1, MAX_PACKET_BYTES, 2 * MAX_PACKET_BYTES] {
            assert_eq!(packets(&stream, step).unwrap(), expected, "{step}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_hang(bytes in proptest::collection::vec(any::<u8>(), 0..600), step in 1..50_usize) {
            let _ = packets(&bytes, step);
        }

        #[test]
        fn no_bytes_after_a_fixed_header_make_it_panic(
            first in 0x20..0xe0_u8,
            body in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let stream = [&[first, body.len() as u8][..], &body].concat();
            let _ = packets(&stream, 7);
        }
    }
}

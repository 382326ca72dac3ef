//! Bytes as they come from a socket, put together to packets.
//!
//! Memory is bounded by the largest frame; a larger packet is reported and let go by, so that nobody on the broker can
//! end the connection with one.

use gatepost_link::{envelope::MAX_FRAME, topic::MAX_TOPIC};

use super::packet::{self, Incoming, Malformed};

/// The largest packet that is kept: a fixed header, a topic, an identifier and a frame.
pub const MAX_PACKET: usize = 5 + 2 + MAX_TOPIC + 2 + MAX_FRAME;

/// What has arrived and was not taken out.
#[derive(Debug)]
pub struct Inbox {
    bytes: [u8; MAX_PACKET],
    filled: usize,
    /// Bytes at the start that the last packet had.
    taken: usize,
    /// Bytes of a packet too large that are still to come.
    skipped: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { bytes: [0; MAX_PACKET], filled: 0, taken: 0, skipped: 0 }
    }
}

impl Inbox {
    /// Where the next bytes go. Never empty once [`Inbox::take`] has said `None`.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// So many bytes were put into [`Inbox::space`].
    pub fn arrived(&mut self, count: usize) {
        self.filled = (self.filled + count).min(MAX_PACKET);
    }

    /// Takes out the next packet; `None` if more bytes are needed. After an error the connection is of no use.
    pub fn take(&mut self) -> Result<Option<Incoming<'_>>, Malformed> {
        let done = core::mem::take(&mut self.taken);
        self.drop_first(done);
        let passing = self.skipped.min(self.filled);
        self.skipped -= passing;
        self.drop_first(passing);
        let bytes = &self.bytes[..self.filled];
        let Some((length, body)) = packet::measure(bytes)? else {
            return Ok(None);
        };
        if length <= self.filled {
            self.taken = length;
            return packet::read(bytes[0], &bytes[body..length]).map(Some);
        }
        if self.filled == MAX_PACKET {
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

    /// All packets, if the bytes arrive in such steps.
    fn packets(bytes: &[u8], step: usize) -> Result<Vec<String>, Malformed> {
        let (mut inbox, mut said, mut rest) = (Inbox::default(), vec![], bytes);
        loop {
            while let Some(packet) = inbox.take()? {
                said.push(match packet {
                    Incoming::Message { topic, id, payload } => {
                        format!("{topic} {id:?} {} {:?}", payload.len(), payload.last())
                    }
                    other => format!("{other:?}"),
                });
            }
            if rest.is_empty() {
                return Ok(said);
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
            message("large", 2, &[2; 3 * MAX_PACKET]),
            message("small", 3, &[3]),
            message("one more than fits", 4, &[4; MAX_PACKET]),
            vec![0xd0, 0],
        ]
        .concat();
        let said = [
            "Connected(0)",
            &format!("{topic} Some(1) 4096 Some(1)"),
            "TooLarge { id: Some(2) }",
            "small Some(3) 1 Some(3)",
            "TooLarge { id: Some(4) }",
            "Pong",
        ];
        for step in [1, 2, 3, 100, 1460, MAX_PACKET - 1, MAX_PACKET, 2 * MAX_PACKET] {
            assert_eq!(packets(&stream, step).unwrap(), said, "{step}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_stop(bytes in proptest::collection::vec(any::<u8>(), 0..600), step in 1..50_usize) {
            let _ = packets(&bytes, step);
        }

        #[test]
        fn no_bytes_behind_a_head_make_it_panic(
            first in 0x20..0xe0_u8,
            body in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let stream = [&[first, body.len() as u8][..], &body].concat();
            let _ = packets(&stream, 7);
        }
    }
}

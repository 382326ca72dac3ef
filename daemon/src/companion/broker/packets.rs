//! MQTT packets from a connection, bounded before they are there: what is announced to be longer is refused at its first bytes.
//!
//! The format is read and written by the client library's own codec (MQTT 3.1.1).

use bytes::BytesMut;
use rumqttc::mqttbytes::{Error, v4::Packet};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// CONNECT's first byte (MQTT 3.1.1, 3.1.1).
const CONNECT: u8 = 0x10;

/// What has come and was not taken yet.
#[derive(Debug)]
pub(super) struct Packets {
    buffer: BytesMut,
    most: usize,
}

/// Why there is no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPacket {
    /// The connection has ended.
    Closed,
    /// It is longer than it may be.
    TooLarge,
    /// It is not MQTT.
    Malformed,
}

impl Packets {
    /// Of a connection on which nothing was read yet; packets have so many bytes at most.
    pub(super) fn new(most: usize) -> Self {
        Self { buffer: BytesMut::new(), most }
    }

    /// From now on packets have so many bytes at most.
    pub(super) fn bound(&mut self, most: usize) {
        self.most = most;
    }

    /// The first packet, which must be CONNECT.
    pub(super) async fn first(&mut self, from: &mut (impl AsyncRead + Unpin)) -> Result<Packet, NoPacket> {
        self.more(from).await?;
        match self.buffer.first() {
            Some(&CONNECT) => self.next(from).await,
            _ => Err(NoPacket::Malformed),
        }
    }

    /// The next packet.
    pub(super) async fn next(&mut self, from: &mut (impl AsyncRead + Unpin)) -> Result<Packet, NoPacket> {
        loop {
            match Packet::read(&mut self.buffer, self.most) {
                Ok(packet) => return Ok(packet),
                Err(Error::InsufficientBytes(_)) => self.more(from).await?,
                Err(Error::PayloadSizeLimitExceeded(_)) => return Err(NoPacket::TooLarge),
                Err(_) => return Err(NoPacket::Malformed),
            }
        }
    }

    async fn more(&mut self, from: &mut (impl AsyncRead + Unpin)) -> Result<(), NoPacket> {
        match from.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => Err(NoPacket::Closed),
            Ok(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], most: usize) -> (Vec<Packet>, NoPacket) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut packets, mut from, mut all) = (Packets::new(most), bytes, Vec::new());
            loop {
                match packets.next(&mut from).await {
                    Ok(packet) => all.push(packet),
                    Err(end) => return (all, end),
                }
            }
        })
    }

    #[test]
    fn what_is_too_long_is_refused_at_its_first_bytes() {
        assert_eq!(read(&[0x30, 0xff, 0xff, 0xff, 0x7f], 4_096).1, NoPacket::TooLarge);
        assert_eq!(read(&[0x30, 0xff, 0xff, 0xff, 0xff, 0x7f], 4_096).1, NoPacket::Malformed);
        assert_eq!(
            read(&[0xc0, 0, 0xe0, 0], 4_096),
            (vec![Packet::PingReq, Packet::Disconnect], NoPacket::Closed)
        );
    }

    #[tokio::test]
    async fn what_does_not_begin_as_mqtt_is_not_waited_for() {
        let mut open = tokio_test_reader(b"GET / HTTP/1.1\r\n");
        assert_eq!(Packets::new(512).first(&mut open).await, Err(NoPacket::Malformed));
    }

    /// What was said on a connection that stays open.
    fn tokio_test_reader(bytes: &'static [u8]) -> impl AsyncRead + Unpin {
        let (ours, mut theirs) = tokio::io::duplex(1_024);
        tokio::spawn(async move {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut theirs, bytes).await;
            std::future::pending::<()>().await;
        });
        ours
    }

    proptest! {
        #[test]
        fn no_bytes_from_outside_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), first in any::<u8>()) {
            read(&bytes, 512);
            // With a head that fits, so that bodies are reached.
            let length = u8::try_from(bytes.len()).unwrap_or(0);
            read(&[&[first, length], bytes.as_slice()].concat(), 512);
        }
    }
}

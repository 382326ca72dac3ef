//! A broker that says anything, in any pieces: the companion's MQTT client reads it and the companion hears of it. Nothing
//! panics, no packet is kept that is larger than a frame's, the inbox always has room for more, and nothing is decided.
#![no_main]

use std::{collections::VecDeque, convert::Infallible};

use arbitrary::Arbitrary;
use embassy_futures::block_on;
use embedded_io_async::{ErrorType, Read, Write};
use gatepost_companion::{
    Access, Bond, Companion, Geometry, Millis, Settings,
    mqtt::{
        MqttError,
        client::{Client, MAX_IN_FLIGHT},
        inbox::MAX_PACKET_BYTES,
        packet::Incoming,
    },
};
use gatepost_fuzz::{Dice, Memory};
use gatepost_link::{decision::PublicKey, envelope::VERSION, seal::SealSecret};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Said {
    Bytes(Vec<u8>),
    Connected(u8),
    Subscribed(u8),
    /// On the companion's own topic or on another, with these flags and so much more than a payload.
    Message {
        ours: bool,
        flags: u8,
        id: u16,
        payload: Vec<u8>,
        longer: u16,
    },
    Acknowledged(u16),
    Pong,
}

impl Said {
    fn bytes(&self, down: &str) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Connected(code) => vec![0x20, 2, 0, *code],
            Self::Subscribed(code) => vec![0x90, 3, 0, 1, *code],
            Self::Message { ours, flags, id, payload, longer } => {
                let topic = if *ours { down } else { "another" };
                let mut body = (topic.len() as u16).to_be_bytes().to_vec();
                body.extend_from_slice(topic.as_bytes());
                body.extend_from_slice(&id.to_be_bytes());
                body.extend_from_slice(payload);
                body.resize(body.len() + usize::from(*longer), 0x30);
                let mut packet = vec![0x30 | flags & 0x0f];
                let mut rest = body.len();
                while rest > 0x7f {
                    packet.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                packet.push(rest as u8);
                packet.extend(body);
                packet
            }
            Self::Acknowledged(id) => [vec![0x40, 2], id.to_be_bytes().to_vec()].concat(),
            Self::Pong => vec![0xd0, 0],
        }
    }
}

/// A socket on which the broker has said it all, in pieces of this size.
struct Socket {
    said: VecDeque<u8>,
    piece: usize,
}

impl ErrorType for Socket {
    type Error = Infallible;
}

impl Read for Socket {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        assert!(!buffer.is_empty(), "the inbox is full and nothing was taken out");
        let count = self.piece.min(buffer.len()).min(self.said.len());
        for (to, byte) in buffer.iter_mut().zip(self.said.drain(..count)) {
            *to = byte;
        }
        Ok(count)
    }
}

impl Write for Socket {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// As the loop that every runner runs, without its clock.
async fn serve(
    client: &mut Client<Socket>,
    companion: &mut Companion<Memory, Dice>,
    access: &Access,
) -> Result<Infallible, MqttError> {
    client.log_in(access, 10).await?;
    companion.connected(Millis(0));
    loop {
        while let Some(packet) = client.take()? {
            let id = match packet {
                Incoming::Message { topic, id, payload } => {
                    assert!(topic.len() + payload.len() <= MAX_PACKET_BYTES);
                    companion.received(Millis(1), topic, payload);
                    id
                }
                Incoming::TooLarge { id } => id,
                _ => None,
            };
            if let Some(id) = id {
                client.acknowledge(id).await?;
            }
        }
        while client.in_flight() < MAX_IN_FLIGHT
            && let Some(payload) = companion.next_payload(Millis(1))
        {
            client.publish_frame(&access.up, &payload).await?;
        }
        client.fill().await?;
    }
}

fuzz_target!(|input: (u8, bool, Vec<Said>)| {
    let (piece, paired, said) = input;
    let bond = Bond {
        hub: PublicKey([1; 32]),
        seal: SealSecret([2; 32]).public(),
        user: Default::default(),
        password: Default::default(),
        version: VERSION,
    };
    let memory = Memory { bond: paired.then_some(bond), ..Memory::default() };
    let mut companion =
        Companion::new(memory, Dice(0), Geometry::SMALL, Settings::default()).expect("its memory works");
    let access = companion.access().expect("it has one").clone();
    let said = said.iter().flat_map(|said| said.bytes(&access.down)).collect();
    let mut client = Client::new(Socket { said, piece: usize::from(piece) + 1 });
    // Every broker ends: what it had to say was bounded.
    let _ = block_on(serve(&mut client, &mut companion, &access));
    let _ = companion.screen(Millis(2));
    assert_eq!(companion.is_paired(), paired);
    assert_eq!(companion.storage().counter, 0, "no card was ever opened");
});

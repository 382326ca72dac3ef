//! A client of the broker that keeps no rule.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

/// What a blocking call may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection.
pub(super) struct Mqtt {
    pub(super) stream: TcpStream,
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()
}

fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let (mut packet, mut length) = (vec![first], body.len());
    loop {
        let more = length > 0x7f;
        packet.push((length & 0x7f) as u8 | if more { 0x80 } else { 0 });
        length >>= 7;
        if !more {
            break;
        }
    }
    packet.extend_from_slice(body);
    packet
}

/// PUBLISH; `flags` are its quality of service (bits 1 and 2) and whether it is to be retained (bit 0).
pub(super) fn publish(flags: u8, id: u16, topic: &str, payload: &[u8]) -> Vec<u8> {
    let mut body = text(topic);
    if flags & 6 != 0 {
        body.extend_from_slice(&id.to_be_bytes());
    }
    body.extend_from_slice(payload);
    packet(0x30 | flags, &body)
}

impl Mqtt {
    /// Connects and says CONNECT; what the broker answers is its code.
    pub(super) fn connect(port: u16, client: &str, login: (&str, &str)) -> Result<(Self, u8)> {
        let mut mqtt = Self::open(port)?;
        let mut body = text("MQTT");
        body.extend_from_slice(&[4, 0xc2, 0, 60]);
        [client, login.0, login.1].iter().for_each(|part| body.extend(text(part)));
        mqtt.stream.write_all(&packet(0x10, &body))?;
        let mut answer = [0; 4];
        mqtt.stream.read_exact(&mut answer)?;
        ensure!(answer[..2] == [0x20, 2], "{answer:?}");
        Ok((mqtt, answer[3]))
    }

    /// Connects and says nothing.
    pub(super) fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("connecting to the broker")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream })
    }

    /// Subscribes; whether that was granted.
    pub(super) fn subscribe(&mut self, filter: &str, qos: u8) -> Result<bool> {
        let body = [&[0, 1], text(filter).as_slice(), &[qos]].concat();
        self.stream.write_all(&packet(0x82, &body))?;
        let mut answer = [0; 5];
        self.stream.read_exact(&mut answer)?;
        ensure!(answer[..4] == [0x90, 3, 0, 1], "{answer:?}");
        Ok(answer[4] != 0x80)
    }

    /// Whether the broker has ended the connection, or does so within the patience of a call.
    pub(super) fn is_closed(&mut self) -> bool {
        let mut dropped = [0; 4096];
        loop {
            match self.stream.read(&mut dropped) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}

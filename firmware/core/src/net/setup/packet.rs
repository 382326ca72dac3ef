//! Packets of Improv Wi-Fi over a serial line, version 1.
//!
//! `IMPROV`, version, type, length, data, and one byte with the sum of all bytes before it
//! (<https://www.improv-wifi.com/serial/>). A packet from outside may contain anything. One with a wrong sum is answered
//! with an error and changes nothing.

use heapless::Vec;

/// What every packet begins with.
pub const HEADER: &[u8] = b"IMPROV";
const VERSION: u8 = 1;
/// Bytes before the data: header, version, type, length.
const PREFIX_BYTES: usize = HEADER.len() + 3;
/// Bytes of the longest packet: the length of its data is one byte.
pub const MAX_INPUT_BYTES: usize = PREFIX_BYTES + 255 + 1;
/// Bytes of the longest packet that we send, with three short strings and a line end.
pub const MAX_OUTPUT_BYTES: usize = 128;

const CURRENT_STATE: u8 = 0x01;
const ERROR_STATE: u8 = 0x02;
const RPC_COMMAND: u8 = 0x03;
const RPC_RESULT: u8 = 0x04;

/// The command that sends a network's name and password.
pub const SET_WIFI: u8 = 0x01;
/// The command that asks for the state.
pub const STATE: u8 = 0x02;
/// The command that asks what the device is.
pub const ABOUT: u8 = 0x03;
/// The command that asks which networks are in reach.
pub const SCAN: u8 = 0x04;

/// The progress of the set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It waits for a network.
    Ready = 0x02,
    /// It is joining a network.
    Provisioning = 0x03,
    /// It is in a network.
    Provisioned = 0x04,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Error {
    /// Nothing.
    None = 0x00,
    /// The packet is damaged, or its data does not fit the command.
    Invalid = 0x01,
    /// A command that this device does not know.
    Unknown = 0x02,
    /// The network could not be joined.
    CannotConnect = 0x03,
}

/// A command of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Join this network.
    SetWifi {
        /// Its name.
        ssid: &'a str,
        /// Its password; empty if the network is open.
        password: &'a str,
    },
    /// Report the progress of the set-up.
    State,
    /// Report what the device is.
    About,
    /// Report the networks in reach.
    Scan,
}

/// What some bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// The beginning of a packet.
    Incomplete,
    /// Not a packet but text that a person types.
    Text,
    /// A whole packet that is not for the device.
    Other,
    /// A command.
    Command(Command<'a>),
}

/// Reads the bytes that came since the last packet or line.
pub fn read(bytes: &[u8]) -> Result<Packet<'_>, Error> {
    let known = bytes.len().min(HEADER.len());
    if bytes[..known] != HEADER[..known] {
        return Ok(Packet::Text);
    }
    let Some(&[version, kind, length]) = bytes.get(HEADER.len()..PREFIX_BYTES) else {
        return Ok(Packet::Incomplete);
    };
    let end = PREFIX_BYTES + usize::from(length);
    let Some(sum) = bytes.get(end) else { return Ok(Packet::Incomplete) };
    if *sum != checksum(&bytes[..end]) || version != VERSION {
        return Err(Error::Invalid);
    }
    match kind {
        RPC_COMMAND => command(&bytes[PREFIX_BYTES..end]).map(Packet::Command),
        _ => Ok(Packet::Other),
    }
}

fn command(data: &[u8]) -> Result<Command<'_>, Error> {
    let [kind, length, rest @ ..] = data else { return Err(Error::Invalid) };
    if usize::from(*length) != rest.len() {
        return Err(Error::Invalid);
    }
    let command = match *kind {
        SET_WIFI => {
            let (ssid, rest) = string(rest)?;
            let (password, rest) = string(rest)?;
            return if rest.is_empty() {
                Ok(Command::SetWifi { ssid, password })
            } else {
                Err(Error::Invalid)
            };
        }
        STATE => Command::State,
        ABOUT => Command::About,
        SCAN => Command::Scan,
        _ => return Err(Error::Unknown),
    };
    if rest.is_empty() { Ok(command) } else { Err(Error::Invalid) }
}

/// A string that follows its length, and the rest.
fn string(bytes: &[u8]) -> Result<(&str, &[u8]), Error> {
    let (length, rest) = bytes.split_first().ok_or(Error::Invalid)?;
    let (string, rest) = rest.split_at_checked(usize::from(*length)).ok_or(Error::Invalid)?;
    Ok((core::str::from_utf8(string).map_err(|_| Error::Invalid)?, rest))
}

/// A packet with the progress of the set-up.
pub fn state(state: State) -> Vec<u8, MAX_OUTPUT_BYTES> {
    write(CURRENT_STATE, &[state as u8])
}

/// A packet with an error.
pub fn error(error: Error) -> Vec<u8, MAX_OUTPUT_BYTES> {
    write(ERROR_STATE, &[error as u8])
}

/// The answer to a command, as strings. Strings that do not fit are left out.
pub fn result(command: u8, strings: &[&str]) -> Vec<u8, MAX_OUTPUT_BYTES> {
    let mut data = Vec::<u8, { MAX_OUTPUT_BYTES - PREFIX_BYTES - 2 }>::new();
    let _ = data.extend_from_slice(&[command, 0]);
    for string in strings {
        let Ok(length) = u8::try_from(string.len()) else { break };
        if data.len() + 1 + string.len() > data.capacity() {
            break;
        }
        let _ = data.push(length);
        let _ = data.extend_from_slice(string.as_bytes());
    }
    data[1] = u8::try_from(data.len() - 2).unwrap_or(0);
    write(RPC_RESULT, &data)
}

/// A packet with a line end after it, so that the log continues on a new line.
fn write(kind: u8, data: &[u8]) -> Vec<u8, MAX_OUTPUT_BYTES> {
    let mut packet = Vec::new();
    let _ = packet.extend_from_slice(HEADER);
    let _ = packet.extend_from_slice(&[VERSION, kind, u8::try_from(data.len()).unwrap_or(0)]);
    let _ = packet.extend_from_slice(data);
    let sum = checksum(&packet);
    let _ = packet.extend_from_slice(&[sum, b'\n']);
    packet
}

fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

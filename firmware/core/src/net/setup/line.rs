//! Lines that a person types at the serial line.

use heapless::String;

use crate::storage::network::MAX_HOST;

/// The hub's MQTT port, if none is given.
pub const DEFAULT_PORT: u16 = 1883;
/// Bytes of the longest line.
pub const MAX_LINE_BYTES: usize = 120;

/// The answer while the device does not know where its hub is.
pub const NO_HUB: &str = "hub: not known yet; write: hub ADDRESS";

/// The answer to `help`.
pub const HELP: [&str; 4] = [
    "hub HOST[:PORT]     where the hub's MQTT broker is; port 1883 if none is given",
    "status              the network and the hub that are known",
    "help                these lines",
    "Name and password of the network: with any installer that speaks Improv Wi-Fi.",
];

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Sets where the hub's broker is.
    Hub {
        /// Host name or address.
        host: String<MAX_HOST>,
        /// Port.
        port: u16,
    },
    /// Asks which network and hub are known.
    Status,
    /// Asks which commands there are.
    Help,
}

/// Reads a line: `None` if it is empty, and what to write instead if it is not a command.
pub fn read(line: &str) -> Result<Option<Line>, &'static str> {
    let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
    Ok(Some(match word {
        "" => return Ok(None),
        "hub" => hub(rest)?,
        "status" => Line::Status,
        "help" | "?" => Line::Help,
        _ => return Err("not understood; write: help"),
    }))
}

fn hub(address: &str) -> Result<Line, &'static str> {
    const HOW: &str = "write: hub HOST or hub HOST:PORT, such as hub 192.168.1.20";
    let address = address.strip_prefix("mqtt://").unwrap_or(address).trim_end_matches('/');
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0).ok_or(HOW)?),
        None => (address, DEFAULT_PORT),
    };
    let is_host = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if host.is_empty() || !host.bytes().all(is_host) {
        return Err(HOW);
    }
    Ok(Line::Hub { host: host.try_into().map_err(|_| HOW)?, port })
}

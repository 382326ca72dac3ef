//! The device's answers during the set-up, without I/O.
//!
//! Web installers and other tools send Improv Wi-Fi packets ([`packet`]) with the wireless network and its password. What
//! Improv has no field for, first of all the hub's address, is typed as a line of text ([`line`]); `help` lists the lines.
//! Both share the serial line with the device's log and do not disturb each other.
//!
//! A network is stored only once the device has joined it, so that a mistyped password changes nothing. Whoever holds the
//! serial line holds the device, so nothing here authenticates; and nothing here touches keys or the pairing.

use heapless::{String, Vec, deque::Deque};

use super::{
    line::{self, DEFAULT_PORT, Line, MAX_LINE_BYTES},
    packet::{self, Command, Error, MAX_INPUT_BYTES, MAX_OUTPUT_BYTES, Packet, State},
};
use crate::{
    Millis,
    net::radio::RadioRequest,
    storage::network::{MAX_HOST, Network},
};

/// A packet or line that has not continued for this long is dropped.
const MAX_INPUT_GAP_MS: u64 = 2_000;
/// An attempt to join without a result after this time has failed. It is longer than all that a radio may do before the
/// attempt, and the attempt itself.
const JOIN_TIMEOUT_MS: u64 = 60_000;
/// How many answers can wait: one for each network of a scan, and some more.
const MAX_ANSWERS: usize = 24;

/// What the device reports about itself.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The firmware's version.
    pub version: &'static str,
    /// The chip's name as its manufacturer writes it: `ESP32-C3`.
    pub chip: &'static str,
}

/// Bytes to write to the serial line.
pub type Answer = Vec<u8, MAX_OUTPUT_BYTES>;

/// The set-up of one device.
pub struct SetUp {
    about: About,
    network: Network,
    /// The network that is being joined, and since when.
    joining: Option<(Network, Millis)>,
    online: bool,
    input: Vec<u8, MAX_INPUT_BYTES>,
    last_input: Millis,
    answers: Deque<Answer, MAX_ANSWERS>,
}

impl SetUp {
    /// The set-up of a device that already knows this network, or none.
    pub fn new(about: About, network: Option<Network>) -> Self {
        let none =
            Network { ssid: String::new(), password: String::new(), host: String::new(), port: DEFAULT_PORT };
        Self {
            about,
            network: network.unwrap_or(none),
            joining: None,
            online: false,
            input: Vec::new(),
            last_input: Millis(0),
            answers: Deque::new(),
        }
    }

    /// Handles a byte from the serial line.
    pub fn received(&mut self, now: Millis, byte: u8) -> Option<RadioRequest> {
        if self.joining.as_ref().is_some_and(|(_, since)| now.since(*since) > JOIN_TIMEOUT_MS) {
            self.joined(false);
        }
        if now.since(self.last_input) > MAX_INPUT_GAP_MS {
            self.input.clear();
        }
        self.last_input = now;
        if self.input.push(byte).is_err() {
            self.input.clear();
            return None;
        }
        let bytes = core::mem::take(&mut self.input);
        match packet::read(&bytes) {
            Ok(Packet::Incomplete) => self.input = bytes,
            Ok(Packet::Text) => return self.text(bytes),
            Ok(Packet::Other) => {}
            Ok(Packet::Command(command)) => {
                self.queue(packet::error(Error::None));
                return self.execute(now, command);
            }
            Err(error) => self.queue(packet::error(error)),
        }
        None
    }

    /// Handles the result of a [`RadioRequest::Join`]. Returns the network to store, if it was joined.
    pub fn joined(&mut self, joined: bool) -> Option<Network> {
        let (requested, _) = self.joining.take()?;
        if !joined {
            self.queue(packet::error(Error::CannotConnect));
            self.queue(packet::state(self.state()));
            return None;
        }
        self.online = true;
        // The hub's address may have been set meanwhile.
        let Network { host, port, .. } = self.network.clone();
        self.network = Network { host, port, ..requested };
        self.queue(packet::state(State::Provisioned));
        self.queue(packet::result(packet::SET_WIFI, &[]));
        if self.network.host.is_empty() {
            self.queue_line(line::NO_HUB);
        }
        Some(self.network.clone())
    }

    /// Whether the device is in its network now, as the radio says.
    pub fn online(&mut self, online: bool) {
        self.online = online;
    }

    /// Reports a network in reach. Networks for which there is no room are left out.
    pub fn scanned(&mut self, ssid: &str, rssi: i8, is_open: bool) {
        let mut strength = String::<8>::new();
        let _ = core::fmt::write(&mut strength, format_args!("{rssi}"));
        let auth = if is_open { "NO" } else { "YES" };
        // One place stays free for the end of the list.
        if self.answers.len() + 1 < MAX_ANSWERS {
            self.queue(packet::result(packet::SCAN, &[ssid, &strength, auth]));
        }
    }

    /// Reports the end of a scan.
    pub fn scan_done(&mut self) {
        self.queue(packet::result(packet::SCAN, &[]));
    }

    /// What to write to the serial line next.
    pub fn answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    fn state(&self) -> State {
        match (&self.joining, self.online) {
            (Some(_), _) => State::Provisioning,
            (None, true) => State::Provisioned,
            (None, false) => State::Ready,
        }
    }

    fn execute(&mut self, now: Millis, command: Command<'_>) -> Option<RadioRequest> {
        match command {
            Command::SetWifi { ssid, password } => return self.join(now, ssid, password),
            Command::State => {
                self.queue(packet::state(self.state()));
                if self.state() == State::Provisioned {
                    self.queue(packet::result(packet::STATE, &[]));
                }
            }
            Command::About => {
                let About { version, chip } = self.about;
                self.queue(packet::result(packet::ABOUT, &["Gatepost", version, chip, "Gatepost companion"]));
            }
            Command::Scan => return Some(RadioRequest::Scan),
        }
        None
    }

    fn join(&mut self, now: Millis, ssid: &str, password: &str) -> Option<RadioRequest> {
        let (Ok(ssid), Ok(password)) = (String::try_from(ssid), String::try_from(password)) else {
            self.queue(packet::error(Error::Invalid));
            return None;
        };
        let network = Network { ssid, password, ..self.network.clone() };
        if network.ssid.is_empty() || network.security().is_none() || self.joining.is_some() {
            self.queue(packet::error(Error::Invalid));
            return None;
        }
        self.joining = Some((network.clone(), now));
        self.queue(packet::state(State::Provisioning));
        Some(RadioRequest::Join(network))
    }

    /// Handles text. A line ends at a line end, or where a packet begins. Text that is longer than any line is dropped.
    fn text(&mut self, bytes: Vec<u8, MAX_INPUT_BYTES>) -> Option<RadioRequest> {
        if !bytes.ends_with(b"\n") && !bytes.ends_with(b"\r") {
            match bytes.ends_with(packet::HEADER) {
                true => _ = self.input.extend_from_slice(packet::HEADER),
                false if bytes.len() > MAX_LINE_BYTES => {
                    self.queue_line("that line is too long; write: help")
                }
                false => self.input = bytes,
            }
            return None;
        }
        let Ok(text) = core::str::from_utf8(&bytes) else { return None };
        match line::read(text.trim()) {
            Ok(Some(Line::Hub { host, port })) => {
                (self.network.host, self.network.port) = (host, port);
                self.queue_line("the hub's address is kept");
                return Some(RadioRequest::Keep(self.network.clone()));
            }
            Ok(Some(Line::Status)) => self.status(),
            Ok(Some(Line::Help)) => line::HELP.iter().for_each(|line| self.queue_line(line)),
            Ok(None) => {}
            Err(problem) => self.queue_line(problem),
        }
        None
    }

    fn status(&mut self) {
        let mut text = String::<{ MAX_LINE_BYTES + MAX_HOST }>::new();
        let network = if self.network.ssid.is_empty() { "none yet" } else { &self.network.ssid };
        let _ = core::fmt::write(
            &mut text,
            format_args!("network: {network} ({})", if self.online { "joined" } else { "not joined" }),
        );
        self.queue_line(&text);
        text.clear();
        match self.network.host.is_empty() {
            true => self.queue_line(line::NO_HUB),
            false => {
                let (host, port) = (&self.network.host, self.network.port);
                let _ = core::fmt::write(&mut text, format_args!("hub: {host}:{port}"));
                self.queue_line(&text);
            }
        }
    }

    fn queue_line(&mut self, text: &str) {
        let mut answer = Answer::new();
        let fits = text.len().min(MAX_OUTPUT_BYTES - 2);
        let _ = answer.extend_from_slice(&text.as_bytes()[..text.floor_char_boundary(fits)]);
        let _ = answer.extend_from_slice(b"\r\n");
        self.queue(answer);
    }

    /// Queues an answer. A client that does not read its answers loses the oldest.
    fn queue(&mut self, answer: Answer) {
        if self.answers.is_full() {
            self.answers.pop_front();
        }
        let _ = self.answers.push_back(answer);
    }
}

#[cfg(test)]
pub(crate) mod tests;

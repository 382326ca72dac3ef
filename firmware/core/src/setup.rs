//! First-time set-up over the serial line, without I/O.
//!
//! Web installers and other tools speak Improv Wi-Fi over it ([`packet`]): the wireless network and its password. What
//! Improv has no place for, first of all the hub's address, is typed as a line of text ([`line`]); `help` lists them.
//! Both come in between the lines of the device's log, and neither is disturbed by the other.
//!
//! A network is kept only once the device has joined it: a mistyped password leaves the device where it was. Whoever
//! holds the serial line holds the device, so nothing here asks who is there; and nothing here touches keys or pairing.
//! [`serve`] joins it with a board's line, and [`stay`] with its radio.

pub mod line;
pub mod packet;
pub mod serve;
pub mod stay;

use heapless::{String, Vec, deque::Deque};

use crate::{Millis, Network, storage::MAX_HOST};
use line::{Line, MAX_LINE};
use packet::{Command, Error, MAX_PACKET, Packet, State};

/// The hub's MQTT port, where none is given.
pub const PORT: u16 = 1883;
/// A packet or a line that has not gone on for so many milliseconds is given up.
const STALLED: u64 = 2_000;
/// A try that nobody has told the end of after so many milliseconds has failed: longer than a radio may take for whatever it
/// does before, and for the try itself.
const GIVEN_UP: u64 = 60_000;
/// Answers that wait to be written: one for each network that is seen, and some.
const ANSWERS: usize = 24;

/// What a device tells a tool about itself.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The firmware's version.
    pub version: &'static str,
    /// The chip, as its maker writes it: `ESP32-C3`.
    pub chip: &'static str,
}

/// What the runner is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Join this network, and say how it went: [`SetUp::joined`].
    Join(Network),
    /// Store this network, which is joined or is none yet, and go to its hub.
    Keep(Network),
    /// Look for networks, say each ([`SetUp::seen`]), then [`SetUp::scanned`].
    Scan,
}

/// Bytes to write to the serial line.
pub type Answer = Vec<u8, MAX_PACKET>;

/// The set-up of one device.
pub struct SetUp {
    about: About,
    network: Network,
    /// What is being joined, and since when.
    trying: Option<(Network, Millis)>,
    online: bool,
    reader: Vec<u8, { packet::MAX_FRAME }>,
    heard: Millis,
    answers: Deque<Answer, ANSWERS>,
}

impl SetUp {
    /// The set-up of a device that knows this network already, or none.
    pub fn new(about: About, network: Option<Network>) -> Self {
        let none = Network { ssid: String::new(), password: String::new(), host: String::new(), port: PORT };
        Self {
            about,
            network: network.unwrap_or(none),
            trying: None,
            online: false,
            reader: Vec::new(),
            heard: Millis(0),
            answers: Deque::new(),
        }
    }

    /// A byte came over the serial line.
    pub fn received(&mut self, now: Millis, byte: u8) -> Option<Wish> {
        if self.trying.as_ref().is_some_and(|(_, since)| now.since(*since) > GIVEN_UP) {
            self.joined(false);
        }
        if now.since(self.heard) > STALLED {
            self.reader.clear();
        }
        self.heard = now;
        if self.reader.push(byte).is_err() {
            self.reader.clear();
            return None;
        }
        let bytes = core::mem::take(&mut self.reader);
        match packet::read(&bytes) {
            Ok(Packet::Incomplete) => self.reader = bytes,
            Ok(Packet::Text) => return self.text(bytes),
            Ok(Packet::Other) => {}
            Ok(Packet::Command(command)) => {
                self.tell(packet::error(Error::None));
                return self.obey(now, command);
            }
            Err(error) => self.tell(packet::error(error)),
        }
        None
    }

    /// The network that was to be joined is, or is not. What to store then.
    pub fn joined(&mut self, joined: bool) -> Option<Network> {
        let (tried, _) = self.trying.take()?;
        if !joined {
            self.tell(packet::error(Error::CannotConnect));
            self.tell(packet::state(self.state()));
            return None;
        }
        self.online = true;
        // Where the hub is may have been said meanwhile.
        let Network { host, port, .. } = self.network.clone();
        self.network = Network { host, port, ..tried };
        self.tell(packet::state(State::Provisioned));
        self.tell(packet::result(packet::SET_WIFI, &[]));
        if self.network.host.is_empty() {
            self.say(line::NO_HUB);
        }
        Some(self.network.clone())
    }

    /// Whether the device is in its network now, as the radio says.
    pub fn online(&mut self, online: bool) {
        self.online = online;
    }

    /// A network that is in reach. More than can be told are left out.
    pub fn seen(&mut self, ssid: &str, rssi: i8, is_open: bool) {
        let mut strength = String::<8>::new();
        let _ = core::fmt::write(&mut strength, format_args!("{rssi}"));
        let auth = if is_open { "NO" } else { "YES" };
        // One place is kept for the end of the list.
        if self.answers.len() + 1 < ANSWERS {
            self.tell(packet::result(packet::SCAN, &[ssid, &strength, auth]));
        }
    }

    /// All networks in reach were told.
    pub fn scanned(&mut self) {
        self.tell(packet::result(packet::SCAN, &[]));
    }

    /// What to write to the serial line next.
    pub fn answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    fn state(&self) -> State {
        match (&self.trying, self.online) {
            (Some(_), _) => State::Provisioning,
            (None, true) => State::Provisioned,
            (None, false) => State::Ready,
        }
    }

    fn obey(&mut self, now: Millis, command: Command<'_>) -> Option<Wish> {
        match command {
            Command::SetWifi { ssid, password } => return self.join(now, ssid, password),
            Command::State => {
                self.tell(packet::state(self.state()));
                if self.state() == State::Provisioned {
                    self.tell(packet::result(packet::STATE, &[]));
                }
            }
            Command::About => {
                let About { version, chip } = self.about;
                self.tell(packet::result(packet::ABOUT, &["Gatepost", version, chip, "Gatepost companion"]));
            }
            Command::Scan => return Some(Wish::Scan),
        }
        None
    }

    fn join(&mut self, now: Millis, ssid: &str, password: &str) -> Option<Wish> {
        let (Ok(ssid), Ok(password)) = (String::try_from(ssid), String::try_from(password)) else {
            self.tell(packet::error(Error::Invalid));
            return None;
        };
        let network = Network { ssid, password, ..self.network.clone() };
        if network.ssid.is_empty() || network.security().is_none() || self.trying.is_some() {
            self.tell(packet::error(Error::Invalid));
            return None;
        }
        self.trying = Some((network.clone(), now));
        self.tell(packet::state(State::Provisioning));
        Some(Wish::Join(network))
    }

    /// A line is over at its end, or where a packet begins; a text that is longer than any line is none.
    fn text(&mut self, bytes: Vec<u8, { packet::MAX_FRAME }>) -> Option<Wish> {
        if !bytes.ends_with(b"\n") && !bytes.ends_with(b"\r") {
            match bytes.ends_with(packet::HEADER) {
                true => _ = self.reader.extend_from_slice(packet::HEADER),
                false if bytes.len() > MAX_LINE => self.say("that line is too long; write: help"),
                false => self.reader = bytes,
            }
            return None;
        }
        let Ok(text) = core::str::from_utf8(&bytes) else { return None };
        match line::read(text.trim()) {
            Ok(Some(Line::Hub { host, port })) => {
                (self.network.host, self.network.port) = (host, port);
                self.say("the hub's address is kept");
                return Some(Wish::Keep(self.network.clone()));
            }
            Ok(Some(Line::Status)) => self.status(),
            Ok(Some(Line::Help)) => line::HELP.iter().for_each(|line| self.say(line)),
            Ok(None) => {}
            Err(problem) => self.say(problem),
        }
        None
    }

    fn status(&mut self) {
        let mut text = String::<{ MAX_LINE + MAX_HOST }>::new();
        let network = if self.network.ssid.is_empty() { "none yet" } else { &self.network.ssid };
        let _ = core::fmt::write(
            &mut text,
            format_args!("network: {network} ({})", if self.online { "joined" } else { "not joined" }),
        );
        self.say(&text);
        text.clear();
        match self.network.host.is_empty() {
            true => self.say(line::NO_HUB),
            false => {
                let (host, port) = (&self.network.host, self.network.port);
                let _ = core::fmt::write(&mut text, format_args!("hub: {host}:{port}"));
                self.say(&text);
            }
        }
    }

    fn say(&mut self, text: &str) {
        let mut answer = Answer::new();
        let fits = text.len().min(MAX_PACKET - 2);
        let _ = answer.extend_from_slice(&text.as_bytes()[..text.floor_char_boundary(fits)]);
        let _ = answer.extend_from_slice(b"\r\n");
        self.tell(answer);
    }

    /// Who does not read its answers loses the oldest.
    fn tell(&mut self, answer: Answer) {
        if self.answers.is_full() {
            self.answers.pop_front();
        }
        let _ = self.answers.push_back(answer);
    }
}

#[cfg(test)]
mod tests;

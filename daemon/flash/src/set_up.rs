//! The set-up of a board that runs: its network by Improv, and its hub's address by a line.
//!
//! Improv's command has room for a network's name and password alone, so the address goes as the line that a person would type,
//! `hub HOST:PORT` (`firmware/core/src/net/setup/line.rs`): a command of our own would be one more thing to keep, for the same bytes.
//! The device keeps a network only once it has joined it.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    improv::{Command, Heard, Inbox, packet},
    port::{self, Port, PortError},
};

/// How long a board may take from its reset until it answers, its radio included.
const START: Duration = Duration::from_secs(40);
/// Between two questions to a board that says nothing yet.
const AGAIN: Duration = Duration::from_secs(1);
/// How long an answer takes that needs no radio.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a board tries to join a network: more than its own limit of 60 s (`firmware/core/src/net/setup/provisioning.rs`).
const JOIN: Duration = Duration::from_secs(75);
/// How long it looks for networks.
const SCAN: Duration = Duration::from_secs(30);
/// How long one look at the port waits.
const LOOK: Duration = Duration::from_millis(100);
/// How long a board that was told no network may take until it is in the one that it has.
const REJOIN: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 30 });
/// Improv's state of a device that is in its network.
const IN_NETWORK: u8 = 4;
/// What the device says once it has the address.
const KEPT: &str = "the hub's address is kept";

/// What a board is to be told.
#[derive(Clone, Default)]
pub struct Order {
    /// The wireless network's name and password.
    pub wifi: Option<(String, String)>,
    /// Where the hub's broker is: `HOST` or `HOST:PORT`.
    pub hub: Option<String>,
}

/// What is told while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A companion answers; its firmware's version.
    Answers(String),
    /// It tries to join the network.
    Joining,
    /// It is in its network, and keeps it.
    Joined,
    /// It keeps the hub's address.
    HubKept,
}

/// A network that a board hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// Its strength in dBm.
    pub dbm: String,
    /// Whether it has no password.
    pub is_open: bool,
}

/// Why a board was not set up.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The line broke.
    #[error(
        "the serial line broke: {0}; plug the board in again and run this again: what it keeps already stays"
    )]
    Line(io::Error),
    /// Nobody answers.
    #[error(
        "the board does not answer: press its RESET and run this again. Older firmware answers on its UART alone, and not on the chip's own \
         USB: write the newest"
    )]
    Silent,
    /// Something else answers.
    #[error("what answers is no companion but {0}")]
    Other(String),
    /// The network's name or password cannot be.
    #[error("a network's name has 1 to 32 bytes; its password has 8 to 63, or none if the network is open")]
    Invalid,
    /// It was not joined.
    #[error(
        "the board could not join the network: is the password right, is it in reach, and does it offer 2.4 GHz with WPA2? WPA3 alone is \
         not enough. The board keeps what it knew before"
    )]
    NotJoined,
    /// It was told none, and has none.
    #[error(
        "the board is in no network: say which with --wifi NAME. If it has one, look whether that is in reach, and run this again"
    )]
    NoNetwork,
    /// Something else went wrong on the device; Improv's number of it.
    #[error("the board did not take its network (Improv's error {0}): press its RESET and run this again")]
    NotTaken(u8),
    /// The hub's address cannot be.
    #[error("the hub's address is HOST or HOST:PORT, such as 192.168.1.20, with at most 64 bytes of host")]
    Address,
}

impl Order {
    /// Checks what the device would refuse.
    ///
    /// # Errors
    /// It would.
    pub fn check(&self) -> Result<(), SetUpError> {
        if let Some((name, password)) = &self.wifi
            && (!(1..=32).contains(&name.len()) || !matches!(password.len(), 0 | 8..=63))
        {
            return Err(SetUpError::Invalid);
        }
        let is_address = |hub: &String| {
            let (host, port) = hub.rsplit_once(':').unwrap_or((hub, "1883"));
            let of_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            (1..=64).contains(&host.len())
                && host.bytes().all(of_host)
                && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        if self.hub.as_ref().is_some_and(|hub| !is_address(hub)) { Err(SetUpError::Address) } else { Ok(()) }
    }
}

/// Opens the port of a board that may be restarting.
///
/// # Errors
/// It cannot be opened.
pub fn open(path: &Path) -> Result<impl Read + Write, SetUpError> {
    let Port { mut serial, .. } = port::open_again(path)?;
    let set = serialport::SerialPort::set_timeout(&mut serial, LOOK);
    set.map_err(|error| PortError::Other(path.into(), error.description))?;
    Ok(serial)
}

/// Tells a board its network and its hub.
///
/// # Errors
/// It does not take them.
pub fn set_up<L: Read + Write>(
    line: &mut L,
    order: &Order,
    tell: &mut dyn FnMut(Progress),
) -> Result<(), SetUpError> {
    order.check()?;
    let mut talk = Talk::begin(line, tell)?;
    if let Some((name, password)) = &order.wifi {
        tell(Progress::Joining);
        talk.say(&packet(Command::SetWifi, &[name, password]))?;
        let joined = talk.until(JOIN, |heard| match heard {
            Heard::Result(command, _) if command == Command::SetWifi as u8 => Some(Ok(())),
            Heard::Error(3) => Some(Err(SetUpError::NotJoined)),
            Heard::Error(1) => Some(Err(SetUpError::Invalid)),
            Heard::Error(number @ 2..) => Some(Err(SetUpError::NotTaken(number))),
            _ => None,
        })?;
        joined.unwrap_or(Err(SetUpError::NotJoined))?;
        tell(Progress::Joined);
    }
    if let Some(hub) = &order.hub {
        let kept = talk.ask(format!("\r\nhub {hub}\r\n").as_bytes(), ANSWER, |heard| match heard {
            Heard::Line(line) if line.trim_end().ends_with(KEPT) => Some(Ok(())),
            Heard::Line(line) if line.starts_with("write: hub") => Some(Err(SetUpError::Address)),
            _ => None,
        })?;
        kept.unwrap_or(Err(SetUpError::Silent))?;
        tell(Progress::HubKept);
    }
    if order.wifi.is_none() {
        let is_in = |heard| matches!(heard, Heard::State(IN_NETWORK)).then_some(());
        talk.ask(&packet(Command::State, &[]), REJOIN, is_in)?.ok_or(SetUpError::NoNetwork)?;
    }
    Ok(())
}

/// The networks that a board hears, the strongest first as it lists them; each name once.
///
/// # Errors
/// It does not answer.
pub fn networks<L: Read + Write>(line: &mut L) -> Result<Vec<Network>, SetUpError> {
    let mut talk = Talk::begin(line, &mut |_| {})?;
    talk.say(&packet(Command::Scan, &[]))?;
    let mut found: Vec<Network> = Vec::new();
    talk.until(SCAN, |heard| match heard {
        Heard::Result(4, strings) => match <[String; 3]>::try_from(strings) {
            Ok([name, dbm, auth]) => {
                if found.iter().all(|network| network.name != name) {
                    found.push(Network { name, dbm, is_open: auth == "NO" });
                }
                None
            }
            Err(_) => Some(()),
        },
        _ => None,
    })?;
    Ok(found)
}

/// A conversation with a companion.
struct Talk<'l, L> {
    line: &'l mut L,
    inbox: Inbox,
    heard: VecDeque<Heard>,
}

impl<'l, L: Read + Write> Talk<'l, L> {
    /// Waits until a companion answers.
    fn begin(line: &'l mut L, tell: &mut dyn FnMut(Progress)) -> Result<Self, SetUpError> {
        let mut talk = Self { line, inbox: Inbox::default(), heard: VecDeque::new() };
        // What was typed before is ended by the line end.
        let state = [b"\r\n", &packet(Command::State, &[])[..]].concat();
        let is_state = |heard| matches!(heard, Heard::State(_)).then_some(());
        talk.ask(&state, START, is_state)?.ok_or(SetUpError::Silent)?;
        let about = talk.ask(&packet(Command::About, &[]), ANSWER, |heard| match heard {
            Heard::Result(3, strings) => Some(strings),
            _ => None,
        })?;
        let mut about = about.ok_or(SetUpError::Silent)?.into_iter();
        let (firmware, version) = (about.next().unwrap_or_default(), about.next().unwrap_or_default());
        if firmware != "Gatepost" {
            return Err(SetUpError::Other(firmware));
        }
        tell(Progress::Answers(version));
        Ok(talk)
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), SetUpError> {
        self.line.write_all(bytes).and_then(|()| self.line.flush()).map_err(SetUpError::Line)
    }

    /// Asks again and again until there is an answer, or for so long.
    fn ask<T>(
        &mut self,
        bytes: &[u8],
        long: Duration,
        mut answer: impl FnMut(Heard) -> Option<T>,
    ) -> Result<Option<T>, SetUpError> {
        let begin = Instant::now();
        while begin.elapsed() < long {
            self.say(bytes)?;
            if let Some(answer) = self.until(AGAIN, &mut answer)? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Listens until something is what is waited for, or for so long.
    fn until<T>(
        &mut self,
        long: Duration,
        mut wanted: impl FnMut(Heard) -> Option<T>,
    ) -> Result<Option<T>, SetUpError> {
        let begin = Instant::now();
        loop {
            while let Some(heard) = self.heard.pop_front() {
                if let Some(found) = wanted(heard) {
                    return Ok(Some(found));
                }
            }
            if begin.elapsed() > long {
                return Ok(None);
            }
            let mut bytes = [0; 256];
            match self.line.read(&mut bytes) {
                Ok(0) => return Err(SetUpError::Line(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.heard.extend(self.inbox.take(&bytes[..count])),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(SetUpError::Line(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gatepost_companion::{
        Millis,
        net::{
            radio::RadioRequest,
            setup::{About, SetUp},
        },
    };

    use super::*;

    /// A device at the other end of the line, whose radio knows one network.
    struct Device {
        set_up: SetUp,
        output: VecDeque<u8>,
        password: &'static str,
        hub: Option<String>,
        /// Writes that go nowhere before it has started.
        asleep: u32,
    }

    impl Device {
        fn new(password: &'static str) -> Self {
            let about = About { version: "1.4.0", chip: "ESP32-C3" };
            let set_up = SetUp::new(about, None);
            Self {
                set_up,
                output: b"boot: a line\r\n".iter().copied().collect(),
                password,
                hub: None,
                asleep: 1,
            }
        }
    }

    impl Write for Device {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.asleep > 0 {
                self.asleep -= 1;
                return Ok(bytes.len());
            }
            for byte in bytes {
                match self.set_up.received(Millis(0), *byte) {
                    Some(RadioRequest::Join(network)) => {
                        let joined = network.ssid == "home" && network.password == self.password;
                        self.set_up.joined(joined);
                    }
                    Some(RadioRequest::Scan) => {
                        self.set_up.scanned("home", -40, false);
                        self.set_up.scanned("home", -60, false);
                        self.set_up.scanned("guests", -70, true);
                        self.set_up.scan_done();
                    }
                    Some(RadioRequest::Keep(network)) => {
                        self.hub = network.hub().map(|hub| hub.to_string());
                    }
                    None => {}
                }
            }
            while let Some(answer) = self.set_up.answer() {
                self.output.extend(answer);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Read for Device {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.output.len()).min(7);
            if count == 0 {
                std::thread::sleep(Duration::from_millis(5));
                return Err(io::ErrorKind::TimedOut.into());
            }
            buffer.iter_mut().zip(self.output.drain(..count)).for_each(|(to, from)| *to = from);
            Ok(count)
        }
    }

    fn order(password: &str, hub: &str) -> Order {
        Order { wifi: Some(("home".into(), password.into())), hub: Some(hub.into()) }
    }

    #[test]
    fn a_device_that_has_just_started_is_told_its_network_and_its_hub() {
        let mut device = Device::new("correct horse");
        let mut told = Vec::new();
        let order = order("correct horse", "hub.home:1884");
        set_up(&mut device, &order, &mut |step| told.push(step)).unwrap();
        assert_eq!(device.hub.as_deref(), Some("hub.home:1884"));
        let steps = [Progress::Joining, Progress::Joined, Progress::HubKept];
        assert_eq!(told, [&[Progress::Answers("1.4.0".into())], &steps[..]].concat());
    }

    #[test]
    fn a_wrong_password_is_said_and_nothing_is_kept() {
        let mut device = Device::new("correct horse");
        let error = set_up(&mut device, &order("wrong horse", "hub.home"), &mut |_| {}).unwrap_err();
        assert!(matches!(error, SetUpError::NotJoined), "{error}");
        assert_eq!(device.hub, None);
    }

    #[test]
    fn what_the_device_would_refuse_is_not_sent() {
        for (password, hub) in [("short", "hub.home"), ("correct horse", "hub.home\nhub other"), ("", "")] {
            let mut device = Device::new("");
            set_up(&mut device, &order(password, hub), &mut |_| {}).unwrap_err();
            assert_eq!(device.asleep, 1, "nothing was written for {password:?}, {hub:?}");
        }
        for hub in ["192.168.1.20", "hub.home:1883", "[::1]:1883", "hub:0", "hub:65536"] {
            let taken = Order { wifi: None, hub: Some(hub.into()) }.check().is_ok();
            assert_eq!(
                taken,
                !hub.contains(['[', '0', '6']) || hub.starts_with("192") || hub == "hub.home:1883",
                "{hub}"
            );
        }
    }

    #[test]
    fn a_device_that_is_told_no_network_must_have_one() {
        let order = Order { wifi: None, hub: Some("hub.home".into()) };
        let mut device = Device::new("");
        assert!(matches!(set_up(&mut device, &order, &mut |_| {}), Err(SetUpError::NoNetwork)));
        let mut device = Device::new("");
        device.set_up.online(true);
        set_up(&mut device, &order, &mut |_| {}).unwrap();
    }

    #[test]
    fn networks_are_listed_once_each() {
        let found = networks(&mut Device::new("")).unwrap();
        let names: Vec<(&str, bool)> = found.iter().map(|one| (one.name.as_str(), one.is_open)).collect();
        assert_eq!(names, [("home", false), ("guests", true)]);
    }
}

//! Packets of Improv Wi-Fi over a serial line, version 1, as a host sends and hears them.
//!
//! `IMPROV`, version, type, length, data, and one byte with the sum of all bytes before it
//! (<https://www.improv-wifi.com/serial/>). Between packets the device writes its log, in lines. Anything may come; what is no whole
//! packet is a line or nothing.

const HEADER: &[u8] = b"IMPROV";
const VERSION: u8 = 1;
/// Bytes before the data: header, version, type, length.
const PREFIX: usize = HEADER.len() + 3;
/// Bytes of the longest line that is kept.
const MAX_LINE: usize = 512;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// Join this network: name, password.
    SetWifi = 1,
    /// Say how far the set-up is.
    State = 2,
    /// Say what you are.
    About = 3,
    /// Say which networks are in reach.
    Scan = 4,
}

/// What a device says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// How far its set-up is: 2 ready, 3 joining, 4 in its network.
    State(u8),
    /// An error; 0 is none.
    Error(u8),
    /// The answer to a command.
    Result(u8, Vec<String>),
    /// A line of its log.
    Line(String),
}

/// A command's packet.
///
/// # Panics
/// Never: what is longer than a packet is cut.
pub fn packet(command: Command, strings: &[&str]) -> Vec<u8> {
    let mut data = vec![command as u8, 0];
    for string in strings {
        let bytes = &string.as_bytes()[..string.len().min(100)];
        data.push(u8::try_from(bytes.len()).unwrap_or(0));
        data.extend(bytes);
    }
    data[1] = u8::try_from(data.len() - 2).unwrap_or(0);
    let mut packet = HEADER.to_vec();
    packet.extend([VERSION, 3, u8::try_from(data.len()).unwrap_or(0)]);
    packet.extend(data);
    packet.push(sum(&packet));
    packet.push(b'\n');
    packet
}

/// What came and is not whole yet.
#[derive(Debug, Default)]
pub struct Inbox(Vec<u8>);

impl Inbox {
    /// Takes what came; what the device has said with it.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Heard> {
        let mut heard = Vec::new();
        for byte in bytes {
            self.0.push(*byte);
            if let Some(one) = self.read() {
                self.0.clear();
                heard.extend(one);
            } else if !self.0.starts_with(HEADER) && self.0.ends_with(HEADER) {
                // A packet begins, whatever stood before it. Within one, a network may be called so.
                heard.extend(line(&self.0[..self.0.len() - HEADER.len()]));
                self.0 = HEADER.to_vec();
            } else if self.0.len() > MAX_LINE {
                self.0.clear();
            }
        }
        heard
    }

    /// What the bytes are, if they are whole; nothing of it may be worth hearing.
    fn read(&self) -> Option<Option<Heard>> {
        let bytes = &self.0;
        if !bytes.starts_with(HEADER) {
            return bytes.ends_with(b"\n").then(|| line(bytes));
        }
        let length = usize::from(*bytes.get(PREFIX - 1)?);
        let (data, after) = bytes[PREFIX..].split_at_checked(length)?;
        let found = *after.first()?;
        let whole = found == sum(&bytes[..PREFIX + length]) && bytes[HEADER.len()] == VERSION;
        Some(whole.then(|| message(bytes[HEADER.len() + 1], data)).flatten())
    }
}

fn message(kind: u8, data: &[u8]) -> Option<Heard> {
    match (kind, data) {
        (1, [state]) => Some(Heard::State(*state)),
        (2, [error]) => Some(Heard::Error(*error)),
        (4, [command, length, rest @ ..]) if usize::from(*length) == rest.len() => {
            Some(Heard::Result(*command, strings(rest)))
        }
        _ => None,
    }
}

fn strings(mut bytes: &[u8]) -> Vec<String> {
    let mut strings = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let Some((string, rest)) = rest.split_at_checked(usize::from(*length)) else { break };
        strings.push(String::from_utf8_lossy(string).into_owned());
        bytes = rest;
    }
    strings
}

fn line(bytes: &[u8]) -> Option<Heard> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| Heard::Line(text.to_owned()))
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(kind: u8, data: &[u8]) -> Vec<u8> {
        let mut packet = [HEADER, &[VERSION, kind, u8::try_from(data.len()).unwrap()], data].concat();
        packet.push(sum(&packet));
        packet
    }

    #[test]
    fn packets_are_heard_between_lines_of_the_log_however_they_are_cut() {
        let all = [
            b"  12 boot: version 1.4.0\r\nhalf a li".to_vec(),
            said(1, &[2]),
            b"\nne\n".to_vec(),
            said(4, &[4, 12, 4, b'h', b'o', b'm', b'e', 3, b'-', b'4', b'0', 2, b'N', b'O']),
            said(2, &[0]),
        ]
        .concat();
        let wanted = [
            Heard::Line("12 boot: version 1.4.0".into()),
            Heard::Line("half a li".into()),
            Heard::State(2),
            Heard::Line("ne".into()),
            Heard::Result(4, vec!["home".into(), "-40".into(), "NO".into()]),
            Heard::Error(0),
        ];
        for size in 1..all.len() {
            let mut inbox = Inbox::default();
            let heard: Vec<Heard> = all.chunks(size).flat_map(|bytes| inbox.take(bytes)).collect();
            assert_eq!(heard, wanted, "{size} bytes at a time");
        }
    }

    #[test]
    fn a_damaged_packet_says_nothing_and_hides_nothing_behind_it() {
        for at in 0..10 {
            let mut packet = said(1, &[4]);
            packet[at] ^= 0x80;
            let mut inbox = Inbox::default();
            let heard = inbox.take(&[packet, vec![b'\n'; 300], said(1, &[2])].concat());
            assert!(!heard.contains(&Heard::State(4)), "{at}: {heard:?}");
            assert_eq!(heard.last(), Some(&Heard::State(2)), "{at}");
        }
    }

    #[test]
    fn a_network_may_be_called_as_packets_begin() {
        let packet =
            said(4, &[4, 14, 6, b'I', b'M', b'P', b'R', b'O', b'V', 3, b'-', b'4', b'0', 2, b'N', b'O']);
        let wanted = Heard::Result(4, vec!["IMPROV".into(), "-40".into(), "NO".into()]);
        assert_eq!(Inbox::default().take(&packet), [wanted]);
    }

    #[test]
    fn noise_without_an_end_takes_no_memory() {
        let mut inbox = Inbox::default();
        inbox.take(&vec![b'x'; 100_000]);
        assert!(inbox.0.len() <= MAX_LINE + 1);
    }

    #[test]
    fn any_bytes_are_heard_or_dropped_and_a_packet_behind_them_is_heard() {
        let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
        for length in 0..2_000 {
            let mut inbox = Inbox::default();
            let noise: Vec<u8> = (0..length)
                .map(|_| {
                    dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Half of it is what packets are made of.
                    let byte = (dice >> 56) as u8;
                    if byte & 1 == 0 { b"IMPROV\x01\x04\n"[usize::from(byte >> 1) % 9] } else { byte }
                })
                .collect();
            inbox.take(&noise);
            inbox.take(&[b'\n'; 300]);
            assert_eq!(inbox.take(&said(1, &[4])).last(), Some(&Heard::State(4)), "{length}");
        }
    }

    #[test]
    fn a_command_is_what_the_devices_half_reads() {
        use gatepost_companion::net::setup::packet as device;
        let set = packet(Command::SetWifi, &["home", "correct horse"]);
        let read = device::Command::SetWifi { ssid: "home", password: "correct horse" };
        assert_eq!(device::read(&set[..set.len() - 1]), Ok(device::Packet::Command(read)));
        for (ours, theirs) in [
            (Command::State, device::Command::State),
            (Command::About, device::Command::About),
            (Command::Scan, device::Command::Scan),
        ] {
            let packet = packet(ours, &[]);
            assert_eq!(device::read(&packet[..packet.len() - 1]), Ok(device::Packet::Command(theirs)));
        }
    }
}

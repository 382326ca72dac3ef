//! Pictures of 16 × 16 dots: one for every channel, and marks for what a screen is about.
//!
//! They never say anything alone: each stands beside the word that it illustrates. A channel without a picture of its own has a
//! speech bubble, so a hub may know channels that the firmware does not.

use core::num::NonZeroU8;

/// Dots of a side.
pub const SIDE: u32 = 16;
/// Bytes of a picture: two for each row of dots, the highest bit leftmost.
const BYTES: usize = 32;
/// The longest name in the file.
const MAX_NAME: usize = 20;
const SOURCE: &[u8] = include_bytes!("../../fonts/pictograms.txt");
const COUNT: usize = count(SOURCE);
/// What comes before a channel's name in the file; alone, it names the picture of every other channel.
const CHANNEL: &str = "channel";

/// One of the pictures.
// Counted from 1: an `Option` of it then takes no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pictogram(NonZeroU8);

struct File {
    names: [[u8; MAX_NAME]; COUNT],
    pictures: [[u8; BYTES]; COUNT],
}

static FILE: File = parse(SOURCE);

impl Pictogram {
    /// Who asks.
    pub const AGENT: Self = Self::in_file("mark agent");
    /// A warning.
    pub const ALERT: Self = Self::in_file("mark alert");
    /// Something was taken back.
    pub const BACK: Self = Self::in_file("mark back");
    /// A time that ran out.
    pub const CLOCK: Self = Self::in_file("mark clock");
    /// The companion itself.
    pub const DEVICE: Self = Self::in_file("mark device");
    /// Gatepost.
    pub const GATE: Self = Self::in_file("mark gate");
    /// What waits for a person.
    pub const HAND: Self = Self::in_file("mark hand");
    /// A message.
    pub const MAIL: Self = Self::in_file("mark mail");
    /// Denied.
    pub const NO: Self = Self::in_file("mark no");
    /// The connection to the hub.
    pub const PLUG: Self = Self::in_file("mark plug");
    /// Something is on its way.
    pub const UP: Self = Self::in_file("mark up");
    /// Approved, or in order.
    pub const YES: Self = Self::in_file("mark yes");

    /// The picture of a channel.
    pub fn of_channel(name: &str) -> Self {
        let named = |stored: &[u8; MAX_NAME]| {
            let stored = stored.strip_prefix(CHANNEL.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
            stored.is_some_and(|stored| stored.split(|byte| *byte == 0).next() == Some(name.as_bytes()))
        };
        let index = FILE.names.iter().position(named);
        index.and_then(Self::at).unwrap_or(const { Self::in_file(CHANNEL) })
    }

    /// The name of the channel that it stands for; empty if it stands for many, or for none.
    pub fn channel(self) -> &'static str {
        let name = &FILE.names[usize::from(self.0.get()) - 1];
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = core::str::from_utf8(name).unwrap_or_default();
        name.strip_prefix(CHANNEL).unwrap_or_default().trim_start()
    }

    /// Its rows of dots, two bytes each.
    pub fn picture(self) -> &'static [u8] {
        &FILE.pictures[usize::from(self.0.get()) - 1]
    }

    const fn in_file(name: &str) -> Self {
        let file = parse(SOURCE);
        let mut index = 0;
        while index < COUNT {
            if is_name(&file.names[index], name.as_bytes())
                && let Some(found) = Self::at(index)
            {
                return found;
            }
            index += 1;
        }
        panic!("no picture in the file has this name")
    }

    const fn at(index: usize) -> Option<Self> {
        assert!(COUNT < u8::MAX as usize);
        match NonZeroU8::new(index as u8 + 1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

const fn is_name(stored: &[u8; MAX_NAME], name: &[u8]) -> bool {
    let mut at = 0;
    while at < MAX_NAME {
        if stored[at] != if at < name.len() { name[at] } else { 0 } {
            return false;
        }
        at += 1;
    }
    true
}

/// How many pictures the file has: a line with a name, then a line for each row.
const fn count(source: &[u8]) -> usize {
    let (mut lines, mut at) = (0, 0);
    while at < source.len() {
        lines += (source[at] == b'\n') as usize;
        at += 1;
    }
    assert!(lines % (SIDE as usize + 1) == 0, "a picture has a name and 16 rows");
    lines / (SIDE as usize + 1)
}

/// Reads the file at compile time; a malformed file does not compile.
const fn parse(source: &[u8]) -> File {
    let mut file = File { names: [[0; MAX_NAME]; COUNT], pictures: [[0; BYTES]; COUNT] };
    let (mut index, mut at) = (0, 0);
    while index < COUNT {
        let mut length = 0;
        while source[at] != b'\n' {
            file.names[index][length] = source[at];
            (length, at) = (length + 1, at + 1);
        }
        at += 1;
        let mut row = 0;
        while row < SIDE as usize {
            let mut column = 0;
            while column < SIDE as usize {
                match source[at] {
                    b'.' => {}
                    b'#' => file.pictures[index][2 * row + column / 8] |= 0x80 >> (column % 8),
                    _ => panic!("a dot is . or #"),
                }
                (column, at) = (column + 1, at + 1);
            }
            assert!(source[at] == b'\n', "a row has 16 dots");
            (row, at) = (row + 1, at + 1);
        }
        index += 1;
    }
    file
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, vec::Vec};

    use super::*;

    /// The channels that the hub has.
    const CHANNELS: [&str; 13] = [
        "local",
        "email",
        "matrix",
        "telegram",
        "discord",
        "slack",
        "googlechat",
        "teams",
        "signal",
        "whatsapp",
        "imessage",
        "webhook",
        "ntfy",
    ];

    #[test]
    fn every_channel_has_a_picture_of_its_own_and_any_other_a_bubble() {
        let bubble = Pictogram::in_file(CHANNEL);
        let own: Vec<_> = CHANNELS.iter().map(|name| Pictogram::of_channel(name)).collect();
        assert!(own.iter().all(|picture| *picture != bubble));
        assert!(own.iter().zip(CHANNELS).all(|(picture, name)| picture.channel() == name));
        assert_eq!((bubble.channel(), Pictogram::GATE.channel()), ("", ""));
        assert_eq!(own.iter().map(|one| one.picture()).collect::<HashSet<_>>().len(), CHANNELS.len());
        for other in ["", "xmpp", "matri", "matrix2", "gate", "mark gate", "channel", "matrix\0", "\0"] {
            assert_eq!(Pictogram::of_channel(other), bubble, "{other:?}");
        }
    }

    #[test]
    fn all_pictures_take_less_than_two_kilobytes() {
        assert!(size_of::<File>() < 2_048, "{}", size_of::<File>());
        assert_eq!(size_of::<Option<Pictogram>>(), 1);
    }
}

//! Names and versions of releases.

use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Length of a [`Label`], in bytes.
pub const LABEL_BYTES: usize = 16;

/// A short name in ASCII, filled up with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label(pub [u8; LABEL_BYTES]);

impl Label {
    /// The label of a name; [`None`] if it is empty, too long, or has anything but visible ASCII in it.
    pub const fn new(name: &str) -> Option<Self> {
        let (name, mut label, mut at) = (name.as_bytes(), [0; LABEL_BYTES], 0);
        if name.is_empty() || name.len() > LABEL_BYTES {
            return None;
        }
        while at < name.len() {
            if !name[at].is_ascii_graphic() {
                return None;
            }
            label[at] = name[at];
            at += 1;
        }
        Some(Self(label))
    }

    /// The name; [`None`] if it is not one that [`Label::new`] makes.
    pub fn name(&self) -> Option<&str> {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(LABEL_BYTES);
        let (name, rest) = self.0.split_at(length);
        let name = core::str::from_utf8(name).ok()?;
        (Self::new(name)? == *self && rest.iter().all(|byte| *byte == 0)).then_some(name)
    }
}

/// The name, or that it is none.
impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name, or that it is none.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name().unwrap_or("(no label)"))
    }
}

/// A firmware's version; the order is that of the numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// Changes when something is taken away.
    pub major: u16,
    /// Changes when something is added.
    pub minor: u16,
    /// Changes when something is mended.
    pub patch: u16,
}

impl Version {
    /// A version from text such as `1.4.0`; [`None`] for anything else.
    pub fn new(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| {
            let plain = number.bytes().all(|byte| byte.is_ascii_digit())
                && (number == "0" || !number.starts_with('0'));
            plain.then(|| number.parse().ok()).flatten()
        });
        let [major, minor, patch] = [numbers.next()??, numbers.next()??, numbers.next()??];
        numbers.next().is_none().then_some(Self { major, minor, patch })
    }

    pub(super) fn to_bytes(self) -> [u8; 6] {
        let [[a, b], [c, d], [e, f]] = [self.major, self.minor, self.patch].map(u16::to_be_bytes);
        [a, b, c, d, e, f]
    }

    pub(super) fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> Self {
        let [major, minor, patch] = [[a, b], [c, d], [e, f]].map(u16::from_be_bytes);
        Self { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch } = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// A text is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoVersion;

impl fmt::Display for NoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a version is three numbers below 65536, such as 1.4.0")
    }
}

impl core::error::Error for NoVersion {}

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        Self::new(text).ok_or(NoVersion)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString as _;

    use super::*;

    #[test]
    fn labels_are_short_visible_names() {
        assert_eq!(Label::new("esp32c3").unwrap().name(), Some("esp32c3"));
        assert_eq!(Label::new("0123456789abcdef").unwrap().name(), Some("0123456789abcdef"));
        for name in ["", "0123456789abcdefg", "a b", "ä", "a\0"] {
            assert_eq!(Label::new(name), None, "{name:?}");
        }
        assert_eq!(Label([0xff; LABEL_BYTES]).name(), None);
        assert_eq!(Label(*b"a\0b\0\0\0\0\0\0\0\0\0\0\0\0\0").name(), None);
    }

    #[test]
    fn versions_are_three_numbers_in_their_order() {
        let version = Version::new("1.10.65535").unwrap();
        assert_eq!(version, Version { major: 1, minor: 10, patch: 65_535 });
        assert_eq!(
            (version.to_string().as_str(), Version::from_bytes(version.to_bytes())),
            ("1.10.65535", version)
        );
        assert!(version > Version::new("1.9.65535").unwrap());
        for text in
            ["", "1", "1.2", "1.2.3.4", "1.2.65536", "01.2.3", "1.+2.3", "1.2.-3", "1..3", "v1.2.3", "1.2.3 "]
        {
            assert_eq!(Version::new(text), None, "{text:?}");
        }
    }
}

//! Which signal-cli it is, and what it lacks: said by `check`, and kept out of the tool where that is known.

use std::fmt;

/// The first with `sendPollCreate`
/// (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/commands/SendPollCreateCommand.java>).
pub(super) const POLLS: Version = Version(0, 13, 23);
/// The first with `voiceNote` (<https://github.com/AsamK/signal-cli/pull/1973>); what is older sends it as a file.
pub(super) const VOICE_NOTES: Version = Version(0, 14, 2);

/// A version of signal-cli.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u16, u16, u16);

impl Version {
    /// Reads `0.13.19`, whatever stands behind it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.splitn(3, '.').map(|number| {
            let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
            number[..digits].parse().ok()
        });
        Some(Self(numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)))
    }

    /// What it lacks of what an account can do, in words.
    fn lacks(self) -> Vec<String> {
        let mut lacks = vec![];
        if self < POLLS {
            lacks.push(format!("no polls before {POLLS}"));
        }
        if self < VOICE_NOTES {
            lacks.push(format!("voice notes go as files before {VOICE_NOTES}"));
        }
        lacks
    }

    /// `signal-cli 0.13.19 (no polls before 0.13.23)`.
    pub(super) fn described(self) -> String {
        match self.lacks() {
            lacks if lacks.is_empty() => format!("signal-cli {self}"),
            lacks => format!("signal-cli {self}: {}", lacks.join(", ")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_says_what_it_lacks() {
        let described = |text| Version::read(text).unwrap().described();
        assert_eq!(
            described("0.13.19"),
            "signal-cli 0.13.19: no polls before 0.13.23, voice notes go as files before 0.14.2"
        );
        assert_eq!(described("0.14.1-SNAPSHOT"), "signal-cli 0.14.1: voice notes go as files before 0.14.2");
        assert_eq!(described("0.14.2+4"), "signal-cli 0.14.2");
        assert_eq!(described("1.0"), "signal-cli 1.0.0");
        for other in ["", "unknown", "0", "0.x.1", "0.99999999.1"] {
            assert_eq!(Version::read(other), None, "{other}");
        }
    }
}

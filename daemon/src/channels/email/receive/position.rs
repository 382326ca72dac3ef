//! How far a folder was read: its UIDVALIDITY, and the highest UID that is on disk (RFC 3501 §2.3.1.1).
//!
//! UIDs only grow, as long as UIDVALIDITY stays. When it changes, all of them mean other mails, and what is known of a mail is its
//! Message-ID alone.

use std::{fmt, str::FromStr};

/// A place in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) validity: u32,
    pub(super) uid: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.validity, self.uid)
    }
}

/// A stored position that is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoPosition;

impl FromStr for Position {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let (validity, uid) = text.split_once(':').ok_or(NoPosition)?;
        let number = |text: &str| text.parse().map_err(|_| NoPosition);
        Ok(Self { validity: number(validity)?, uid: number(uid)? })
    }
}

/// Where reading begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The folder was never read: what is there already engages nobody.
    Newest,
    /// Behind this UID.
    Behind(u32),
    /// With the mails of the last day: what the UIDs were is not known any more.
    LastDay,
}

impl Start {
    /// In a folder with this UIDVALIDITY, after this stored position.
    pub(super) fn after(stored: Option<&str>, validity: u32) -> Self {
        match stored.map(Position::from_str) {
            None => Self::Newest,
            Some(Ok(position)) if position.validity == validity => Self::Behind(position.uid),
            Some(Ok(_) | Err(NoPosition)) => Self::LastDay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_goes_on_behind_the_last_uid_as_long_as_uids_mean_the_same() {
        let position = Position { validity: 7, uid: 41 };
        let stored = position.to_string();
        assert_eq!(stored.parse(), Ok(position));
        assert_eq!(Start::after(Some(&stored), 7), Start::Behind(41));
        assert_eq!(Start::after(Some(&stored), 8), Start::LastDay);
        assert_eq!(Start::after(None, 7), Start::Newest);
        for broken in ["", "7", "7:", ":1", "7:x", "7:4294967296", "7:1:2"] {
            assert_eq!(Start::after(Some(broken), 7), Start::LastDay, "{broken}");
        }
    }
}

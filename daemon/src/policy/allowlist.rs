//! Allowlists in the seeds' shape: `channel:address`, `channel:*`, or `*`.

use std::fmt;

use crate::message::target::Target;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// `*`: any target on any channel.
    Any,
    /// `channel:*`: any address on one channel.
    Channel(String),
    /// `channel:address`: this one, in all its threads.
    Address(String, String),
}

/// Why a text is not an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an allowlist entry: write \"channel:address\", \"channel:*\" or \"*\"")]
pub struct PatternError(pub String);

impl Pattern {
    /// Reads an entry.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        match text.split_once(':') {
            None if text == "*" => Ok(Self::Any),
            Some((channel, address)) if !channel.is_empty() && !address.is_empty() && channel != "*" => {
                Ok(match address {
                    "*" => Self::Channel(channel.into()),
                    _ => Self::Address(channel.into(), address.into()),
                })
            }
            _ => Err(PatternError(text.into())),
        }
    }

    /// The channel that it names, if it names one.
    pub fn channel(&self) -> Option<&str> {
        match self {
            Self::Any => None,
            Self::Channel(channel) | Self::Address(channel, _) => Some(channel),
        }
    }

    /// The same entry with its address spelt as `spell` has it.
    pub fn respelt<E>(self, spell: impl FnOnce(&str, &str) -> Result<String, E>) -> Result<Self, E> {
        match self {
            Self::Address(channel, address) => {
                let address = spell(&channel, &address)?;
                Ok(Self::Address(channel, address))
            }
            other => Ok(other),
        }
    }

    fn matches(&self, target: &Target) -> bool {
        match self {
            Self::Any => true,
            Self::Channel(channel) => *channel == target.channel,
            Self::Address(channel, address) => *channel == target.channel && *address == target.address,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Channel(channel) => write!(f, "{channel}:*"),
            Self::Address(channel, address) => write!(f, "{channel}:{address}"),
        }
    }
}

/// Targets that an agent may write to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowlist(Vec<Pattern>);

impl Allowlist {
    /// Whether some target on this channel may match.
    pub fn touches(&self, channel: &str) -> bool {
        self.0.iter().any(|pattern| pattern.channel().is_none_or(|named| named == channel))
    }

    /// Reads a list of entries.
    pub fn parse(entries: impl IntoIterator<Item = String>) -> Result<Self, PatternError> {
        entries.into_iter().map(|text| Pattern::parse(&text)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an entry matches.
    pub fn contains(&self, target: &Target) -> bool {
        self.0.iter().any(|pattern| pattern.matches(target))
    }

    /// Whether an entry matches when upper and lower case are the same. For lists that ask: an agent must not get around
    /// a question by another spelling of the same mailbox.
    pub fn contains_in_any_case(&self, target: &Target) -> bool {
        self.0.iter().any(|pattern| match pattern {
            Pattern::Address(channel, address) => {
                *channel == target.channel && address.eq_ignore_ascii_case(&target.address)
            }
            other => other.matches(target),
        })
    }

    /// The same list with every address spelt as `spell` has it, given its channel.
    pub fn respelt<E>(self, mut spell: impl FnMut(&str, &str) -> Result<String, E>) -> Result<Self, E> {
        self.0.into_iter().map(|pattern| pattern.respelt(&mut spell)).collect::<Result<_, _>>().map(Self)
    }

    /// The entries.
    pub fn iter(&self) -> impl Iterator<Item = &Pattern> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_match_what_they_say() {
        let list = Allowlist::parse(["slack:C1".to_owned(), "email:*".to_owned()]).unwrap();
        let target = |channel: &str, address: &str| Target {
            channel: channel.into(),
            address: address.into(),
            thread: Some("t".into()),
        };
        assert!(list.contains(&target("slack", "C1")));
        assert!(!list.contains(&target("slack", "C12")));
        assert!(list.contains(&target("email", "a@b.test")));
        assert!(!list.contains(&target("telegram", "C1")));
    }

    #[test]
    fn a_list_that_asks_is_not_evaded_by_another_spelling() {
        let hold = Allowlist::parse(["email:boss@example.org".to_owned()]).unwrap();
        let target = Target { channel: "email".into(), address: "Boss@example.org".into(), thread: None };
        assert!(hold.contains_in_any_case(&target));
        assert!(!hold.contains(&target));
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for text in ["", "slack", "slack:", ":C1", "*:C1"] {
            assert!(Pattern::parse(text).is_err(), "{text:?}");
        }
    }
}

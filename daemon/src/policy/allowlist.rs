//! Allowlists in the seeds' shape: `channel:address`, `channel:*`, or `*`.

use std::fmt;

use crate::message::target::HUB;

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

    /// Whether some target on a channel may match. The hub's own channel is nobody's by `*`: what is done there is the hub's.
    pub fn is_on(&self, channel: &str) -> bool {
        self.channel().map_or(channel != HUB, |named| named == channel)
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

impl From<Vec<Pattern>> for Allowlist {
    fn from(entries: Vec<Pattern>) -> Self {
        Self(entries)
    }
}

impl Allowlist {
    /// All addresses of one channel.
    pub fn of_channel(channel: &str) -> Self {
        Self(vec![Pattern::Channel(channel.to_owned())])
    }

    /// Whether some target on this channel may match.
    pub fn touches(&self, channel: &str) -> bool {
        self.0.iter().any(|pattern| pattern.is_on(channel))
    }

    /// Reads a list of entries.
    pub fn parse(entries: impl IntoIterator<Item = String>) -> Result<Self, PatternError> {
        entries.into_iter().map(|text| Pattern::parse(&text)).collect::<Result<_, _>>().map(Self)
    }

    /// The same list with every address spelt as `spell` has it, given its channel.
    pub fn respelt<E>(self, mut spell: impl FnMut(&str, &str) -> Result<String, E>) -> Result<Self, E> {
        self.0.into_iter().map(|pattern| pattern.respelt(&mut spell)).collect::<Result<_, _>>().map(Self)
    }

    /// The same list with further entries for each one.
    #[must_use]
    pub fn with(mut self, further: impl Fn(&Pattern) -> Vec<Pattern>) -> Self {
        let further: Vec<_> = self.0.iter().flat_map(further).collect();
        self.0.extend(further);
        self
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
    fn any_target_is_none_of_the_hubs_own() {
        let list = |entry: &str| Allowlist::parse([entry.to_owned()]).unwrap();
        assert!(list("*").touches("slack") && !list("*").touches("hub"));
        assert!(list("hub:*").touches("hub"));
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for text in ["", "slack", "slack:", ":C1", "*:C1"] {
            assert!(Pattern::parse(text).is_err(), "{text:?}");
        }
    }
}

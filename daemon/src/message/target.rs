//! Targets: `channel:address[#thread]`.
//!
//! The address is the platform's own; a `user:`, `channel:` or `chat:` in front of it only says which kind of id
//! follows. Whether an address is one, only its channel can tell.

use std::fmt;

/// The longest id (an address, a thread, a message's), in characters, as the published schema counts. An e-mail address can have
/// 254 bytes (RFC 5321, 4.5.3.1.3), a Matrix id 255.
pub const MAX_ADDRESS: usize = 320;

/// Whether a text has no more characters than an id may have.
pub fn fits_an_id(text: &str) -> bool {
    text.chars().count() <= MAX_ADDRESS
}

/// The address of an account itself, for what is done to no conversation.
pub const ITSELF: &str = "self";

/// The hub itself: the agent that asks people on its own behalf, and the channel by which what they approved is done. No agent
/// has either name, and no agent's target is there.
pub const HUB: &str = "hub";

/// The channel on which agents write to each other.
pub const AGENT: &str = "agent";

/// The channel on which agents ask people something: what arrives there is a person's answer.
pub const PERSON: &str = "person";

/// The channels that the hub has itself, without an account.
pub const OWN: [&str; 3] = [HUB, AGENT, PERSON];

/// What may stand before an address to say which kind of id it is.
pub const KINDS_OF_ID: &[&str] = &["user", "channel", "chat", "phone"];

/// Other names of channels before a colon, as agents know them from elsewhere.
const ALSO: &[(&str, &str)] = &[("tg", "telegram")];

/// The channel that a word means, by its name or its other one, in whatever letters.
pub fn channel_named<'a>(word: &str, channels: &[&'a str]) -> Option<&'a str> {
    let also = ALSO.iter().find(|(also, _)| also.eq_ignore_ascii_case(word));
    let meant = also.map_or(word, |(_, channel)| channel);
    channels.iter().copied().find(|channel| channel.eq_ignore_ascii_case(meant))
}

/// The channel that stands before a target's colon, and what stands behind it.
pub fn channel_of<'a, 'c>(text: &'a str, channels: &[&'c str]) -> Option<(&'c str, &'a str)> {
    let (head, rest) = text.split_once(':')?;
    Some((channel_named(head, channels)?, rest))
}

/// Where a message goes: an address on a channel, maybe a thread in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Target {
    /// The channel's name.
    pub channel: String,
    /// The address on the platform.
    pub address: String,
    /// The thread in that conversation.
    pub thread: Option<String>,
}

/// What an agent named as its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// `current`: the conversation of the turn.
    Current,
    /// An address, with its channel where it was named.
    Address {
        /// The channel, where it stood in the target itself.
        channel: Option<String>,
        /// The address.
        address: String,
        /// Whether `user:` stood before it: on some channels a person's id looks like a conversation's.
        person: bool,
        /// The thread behind a `#`.
        thread: Option<String>,
    },
}

/// Why a text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a target: write \"channel:address\", \"channel:address#thread\" or \"current\"")]
pub struct NotATarget(pub String);

impl Destination {
    /// Reads a target. `channels` are the names that count as a channel before a colon.
    ///
    /// # Errors
    /// It is none, or one that would be read as another when it is written down again (`channel:tg:5`).
    pub fn parse(text: &str, channels: &[&str]) -> Result<Self, NotATarget> {
        let meant = Self::read(text, channels)?;
        match Self::read(&meant.to_string(), channels) {
            Ok(again) if again == meant => Ok(meant),
            _ => Err(NotATarget(text.chars().take(80).collect())),
        }
    }

    fn read(text: &str, channels: &[&str]) -> Result<Self, NotATarget> {
        let refused = || NotATarget(text.chars().take(80).collect());
        let text = text.trim();
        if text == "current" {
            return Ok(Self::Current);
        }
        let (channel, rest) = match channel_of(text, channels) {
            Some((channel, rest)) => (Some(channel.to_owned()), rest),
            None => (None, text),
        };
        let of_kind = |kind: &str| rest.strip_prefix(kind)?.strip_prefix(':');
        let person = of_kind("user").or(of_kind("phone")).is_some();
        let rest = KINDS_OF_ID.iter().find_map(|kind| of_kind(kind)).unwrap_or(rest);
        // A room alias starts with '#'; only a '#' further in begins a thread.
        let thread_at = rest.char_indices().skip(1).find(|&(_, c)| c == '#').map(|(at, _)| at);
        let (address, thread) = match thread_at {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let usable =
            |text: &str| !text.is_empty() && fits_an_id(text) && !text.contains(|c: char| c.is_control());
        if !usable(address) || thread.is_some_and(|thread| !usable(thread)) {
            return Err(refused());
        }
        Ok(Self::Address { channel, address: address.to_owned(), person, thread: thread.map(str::to_owned) })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Address { channel, address, person, thread } = self else { return f.write_str("current") };
        if let Some(channel) = channel {
            write!(f, "{channel}:")?;
        }
        f.write_str(if *person { "user:" } else { "" })?;
        f.write_str(address)?;
        thread.as_ref().map_or(Ok(()), |thread| write!(f, "#{thread}"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.address)?;
        self.thread.as_ref().map_or(Ok(()), |thread| write!(f, "#{thread}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Destination, NotATarget> {
        Destination::parse(text, &["matrix", "email", "local", "telegram"])
    }

    #[test]
    fn a_target_that_would_be_read_as_another_is_none() {
        for text in ["channel:tg:5", "chat:user:5", "channel:current", "chat:Telegram:5"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    fn address(channel: Option<&str>, address: &str, thread: Option<&str>) -> Destination {
        Destination::Address {
            channel: channel.map(Into::into),
            address: address.into(),
            person: false,
            thread: thread.map(Into::into),
        }
    }

    #[test]
    fn targets_are_read_in_all_their_forms() {
        assert_eq!(parse("current"), Ok(Destination::Current));
        assert_eq!(parse("telegram:-100123"), Ok(address(Some("telegram"), "-100123", None)));
        assert_eq!(parse("telegram:chat:-100123#7"), Ok(address(Some("telegram"), "-100123", Some("7"))));
        let Ok(Destination::Address { person: true, address: ann, .. }) = parse("user:ann") else { panic!() };
        assert_eq!(ann, "ann");
        assert_eq!(parse("telegram:user:5").unwrap().to_string(), "telegram:user:5");
        assert_eq!(parse("Telegram:123"), Ok(address(Some("telegram"), "123", None)));
        assert_eq!(parse("tg:123#7"), Ok(address(Some("telegram"), "123", Some("7"))));
        let Ok(Destination::Address { channel: None, person: true, address: anna, .. }) =
            parse("phone:+1555")
        else {
            panic!()
        };
        assert_eq!(anna, "+1555");
        assert_eq!(parse("matrix:!abc:hub.test"), Ok(address(Some("matrix"), "!abc:hub.test", None)));
        assert_eq!(parse("matrix:#room:hub.test"), Ok(address(Some("matrix"), "#room:hub.test", None)));
        assert_eq!(parse("!abc:hub.test"), Ok(address(None, "!abc:hub.test", None)));
    }

    #[test]
    fn what_is_no_target_is_refused() {
        for text in ["", "matrix:", "local:ann#", "local:a\nb", &format!("local:{}", "x".repeat(400))] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}

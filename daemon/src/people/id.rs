//! Ids of people: one spelling for each, whether a platform tells it or somebody writes it.
//!
//! Whoever shuts somebody out by `whatsapp:4915112345678` means the same person as a row that has `phone:+4915112345678`. Elsewhere such an
//! entry matched nobody, without a word, and the one who was shut out was heard. So each channel says how it spells a person
//! ([`registry::Kind::person_id`]), both sides of every comparison go through that, and what can be nobody's id is refused where it is
//! written.

use crate::{
    channels::registry::{self, NAMES, kind},
    message::target::MAX_ADDRESS,
    spelling::nearest,
};

/// Stands before the id of whoever is known by a telephone number, on every channel that goes by numbers.
const PHONE: &str = "phone";
/// Telegram's short name in ids.
const TELEGRAM: (&str, &str) = ("telegram", "tg");

/// Why a text is nobody's id, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// It has no channel, or nothing behind it.
    #[error("{0:?} is not channel:id, such as \"telegram:123456\"")]
    Shape(String),
    /// Its channel is none.
    #[error("{written:?}: there is no channel {channel:?}{}", hint(.channel))]
    Channel {
        /// The text.
        written: String,
        /// What stands before the colon.
        channel: String,
    },
    /// Nobody on its channel can have it.
    #[error("{written:?} can be nobody's: {why}")]
    Nobodys {
        /// The text.
        written: String,
        /// What to write.
        why: &'static str,
    },
}

fn hint(channel: &str) -> String {
    let known = || NAMES.iter().copied().chain([PHONE, TELEGRAM.1]);
    match nearest(&channel.to_lowercase(), known()) {
        Some(meant) => format!(", did you mean {meant:?}?"),
        None => {
            ": begin with a channel's name, with tg for Telegram, or with phone for a telephone number".into()
        }
    }
}

/// The id of a user: the channel and the platform's id, such as `tg:123456`, `phone:+15551234567` or `discord:789012`, in the one
/// spelling of the channel. What is no number on a channel of numbers keeps the channel's own name, and what the channel cannot read stays
/// as it is.
pub fn user_id(channel: &str, handle: &str) -> String {
    let spelt = kind(channel).and_then(|kind| (kind.person_id)(handle).ok());
    with_channel(channel, spelt.as_deref().unwrap_or(handle))
}

/// The same id from how a person writes it: `telegram:123456` is `tg:123456`.
///
/// # Errors
/// It can be nobody's.
pub fn user_id_of(written: &str) -> Result<String, BadId> {
    let shape = || BadId::Shape(written.chars().take(MAX_ADDRESS).collect());
    let (channel, handle) = written.trim().split_once(':').ok_or_else(shape)?;
    let (channel, handle) = (channel.trim_end(), handle.trim_start());
    let is_one = !channel.is_empty()
        && !["", "*"].contains(&handle)
        && handle.chars().count() <= MAX_ADDRESS
        && !handle.chars().any(char::is_control);
    if !is_one {
        return Err(shape());
    }
    let spelt = match channel {
        PHONE => registry::number(handle),
        _ if channel == TELEGRAM.1 => spelt(TELEGRAM.0, handle, written)?,
        _ => spelt(channel, handle, written)?,
    };
    let spelt = spelt.map_err(|why| BadId::Nobodys { written: written.into(), why })?;
    Ok(with_channel(channel, &spelt))
}

/// The id in its one spelling, of one that was stored; as it is, if it can be nobody's by now.
pub(super) fn of_stored(id: &str) -> String {
    user_id_of(id).unwrap_or_else(|_| id.to_owned())
}

fn spelt(channel: &str, handle: &str, written: &str) -> Result<Result<String, &'static str>, BadId> {
    let kind = kind(channel).ok_or_else(|| BadId::Channel {
        written: written.into(),
        channel: channel.chars().take(40).collect(),
    })?;
    Ok((kind.person_id)(handle))
}

fn with_channel(channel: &str, handle: &str) -> String {
    let prefix = match channel {
        "whatsapp" | "signal" | "imessage" if handle.starts_with('+') => PHONE,
        _ if channel == TELEGRAM.0 => TELEGRAM.1,
        channel => channel,
    };
    format!("{prefix}:{handle}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::registry::KINDS;

    #[test]
    fn an_id_is_one_however_it_is_written_and_whoever_tells_it() {
        let (number, uuid) = ("phone:+4915112345678", "abcdef01-0000-4000-8000-000000000000");
        for (written, id) in [
            ("telegram:123456", "tg:123456"),
            ("tg:0123456", "tg:123456"),
            (" telegram: 5 ", "tg:5"),
            ("whatsapp:4915112345678", number),
            ("whatsapp:+49 151 12345678", number),
            ("signal:+4915112345678", number),
            ("imessage:+4915112345678", number),
            ("phone:4915112345678", number),
            ("phone:+49 151 1234-5678", number),
            ("whatsapp:5511987654321", "phone:+5511987654321"),
            ("signal:+551187654321", "phone:+5511987654321"),
            ("whatsapp:US.1349", "whatsapp:US.1349"),
            ("whatsapp:175105850253361@lid", "whatsapp:175105850253361@lid"),
            ("signal:ABCDEF01-0000-4000-8000-000000000000", &format!("signal:{uuid}")),
            ("imessage:Ann@Example.org", "imessage:ann@example.org"),
            ("imessage:SMS;-;DHL", "imessage:SMS;-;dhl"),
            ("discord:789012", "discord:789012"),
            ("discord:@789012", "discord:789012"),
            ("discord:<@!789012>", "discord:789012"),
            ("slack:U012AB3CD", "slack:U012AB3CD"),
            ("matrix:@ann:example.org", "matrix:@ann:example.org"),
            ("email:Ann@Example.org", "email:ann@example.org"),
            ("googlechat:Ann@Example.org", "googlechat:ann@example.org"),
            ("googlechat:users/123", "googlechat:users/123"),
            ("googlechat:123", "googlechat:users/123"),
            ("teams:29:1abc-_", "teams:29:1abc-_"),
            ("teams:0DE69E5E-2DA8-4CF2-821F-5E6585B2C65B", "teams:0de69e5e-2da8-4cf2-821f-5e6585b2c65b"),
            ("ntfy:door", "ntfy:door"),
            ("webhook:door ", "webhook:door"),
            ("local:ann", "local:ann"),
        ] {
            assert_eq!(user_id_of(written).as_deref(), Ok(id), "{written}");
            assert_eq!(user_id_of(id).as_deref(), Ok(id), "an id is its own spelling");
            let (channel, handle) = written.trim().split_once(':').unwrap();
            if kind(channel).is_some() {
                assert_eq!(user_id(channel, handle.trim()), id, "a row that has it: {written}");
            }
        }
    }

    #[test]
    fn what_can_be_nobodys_id_is_refused_with_what_to_write() {
        for (written, says) in [
            ("ann", "is not channel:id"),
            ("telegram:", "is not channel:id"),
            (":5", "is not channel:id"),
            ("telegram:*", "is not channel:id"),
            ("local:a\nb", "is not channel:id"),
            ("whatsap:+49151", "did you mean \"whatsapp\"?"),
            ("Telegram:5", "did you mean \"telegram\"?"),
            ("nochannel:5", "begin with a channel's name"),
            ("agent:engineer", "begin with a channel's name"),
            ("phone:0151 234567", "as it is dialled from abroad"),
            ("signal:4915112345678", "phone:+4915112345678"),
            ("signal:@eve", "a name can be given to another"),
            ("imessage:4915112345678", "phone:+4915112345678"),
            ("imessage:iMessage;+;chat1", "a group"),
            ("whatsapp:120363012345678901@g.us", "phone:+4915112345678"),
            ("telegram:@eve", "tg:123456789"),
            ("tg:+5", "tg:123456789"),
            ("discord:@eve", "Copy User ID"),
            ("slack:@eve", "slack:U012AB3CD"),
            ("slack:u012ab3cd", "in capitals"),
            ("matrix:eve", "matrix:@ann:example.org"),
            ("email:Eve <eve@example.org>", "plain address"),
            ("googlechat:eve", "googlechat:ann@example.org"),
            ("teams:Eve", "29:"),
            ("teams:eve@example.org", "29:"),
        ] {
            let refused = user_id_of(written).unwrap_err().to_string();
            assert!(refused.contains(says), "{written}: {refused}");
        }
    }

    #[test]
    fn a_row_with_an_id_that_its_channel_does_not_know_keeps_it() {
        for (channel, handle, id) in [
            ("slack", "U0", "slack:U0"),
            ("discord", "0", "discord:0"),
            ("teams", "28:bot", "teams:28:bot"),
            ("agent", "engineer", "agent:engineer"),
            ("imessage", "me", "imessage:me"),
        ] {
            assert_eq!(user_id(channel, handle), id);
        }
    }

    #[test]
    fn a_spelling_of_a_person_is_its_own_on_every_channel() {
        for kind in KINDS {
            for written in ["ann", "5", "+4915112345678", "ann@example.org", "@ann:example.org", "U012AB3CD"]
            {
                let Ok(spelt) = (kind.person_id)(written) else { continue };
                assert_eq!((kind.person_id)(&spelt).as_deref(), Ok(spelt.as_str()), "{}", kind.name);
            }
        }
    }
}

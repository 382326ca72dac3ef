//! Addresses: ids of channels, and of people behind an `@`; and names, of channels behind a `#`, of people behind an `@`, which
//! are looked up. What is digits alone is an id.
//!
//! Both are numbers that tell nothing of what they name, and a message to the one must never reach the other: which of the
//! two an address is stands in the address, under which it is stored, shown and compared with the allowlist.

use crate::channels::{Failure, kit::names};

/// The one spelling of an address, or what to write instead.
pub(super) fn canonical(address: &str) -> Result<String, &'static str> {
    if let Some(name) = name(address) {
        return Ok(name);
    }
    let hint = "use a channel's id (developer mode, then \"Copy Channel ID\") or #name, or @ and a person's id or name";
    if let Some(user) = person(address) {
        return snowflake(user).map(|id| format!("@{id}")).ok_or(hint);
    }
    let channel = address.strip_prefix("<#").and_then(|rest| rest.strip_suffix('>')).unwrap_or(address);
    snowflake(channel).ok_or(hint)
}

/// The longest name of a channel, in characters (<https://docs.discord.com/developers/resources/channel#channel-object-channel-structure>).
const LONGEST_CHANNEL: usize = 100;
/// And of a person (<https://docs.discord.com/developers/resources/user#usernames-and-nicknames>).
const LONGEST_PERSON: usize = 32;

/// A channel's name in its one spelling, `#general`, or a person's, `@ann lee`.
pub(super) fn name(address: &str) -> Option<String> {
    let (longest, signs) =
        if address.starts_with('#') { (LONGEST_CHANNEL, "-_") } else { (LONGEST_PERSON, names::SIGNS) };
    (names::is_name(address, longest, signs) && !is_id(address)).then(|| address.to_lowercase())
}

/// Whether an address is `@` and digits.
fn is_id(address: &str) -> bool {
    address.strip_prefix('@').is_some_and(|id| id.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether an address in its one spelling is a name.
pub(super) fn is_name(address: &str) -> bool {
    address.starts_with(['#', '@']) && !is_id(address)
}

/// What stands for a person: `@ID`, or as a mention.
fn person(address: &str) -> Option<&str> {
    if let Some(mention) = address.strip_prefix("<@").and_then(|rest| rest.strip_suffix('>')) {
        return Some(mention.strip_prefix('!').unwrap_or(mention));
    }
    address.strip_prefix('@')
}

/// A person's id, however a call writes it.
pub(super) fn user(text: &str) -> &str {
    person(text).or_else(|| text.strip_prefix("discord:")).unwrap_or(text)
}

/// A person's id as rows have it: their number.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    snowflake(user(written)).ok_or(
        "write the person's number, such as discord:123456789012345678 (developer mode, then \"Copy User ID\"): a name can be given to another",
    )
}

/// An id in its one spelling (<https://docs.discord.com/developers/reference#snowflakes>): a number of 64 bits.
pub(super) fn snowflake(text: &str) -> Option<String> {
    let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    number.filter(|number| *number != 0).map(|number| number.to_string())
}

/// An id that may stand in an address.
pub(super) fn id(of: &str, text: &str) -> Result<String, Failure> {
    snowflake(text).ok_or_else(|| {
        let text: String = text.chars().take(40).collect();
        Failure::Permanent(format!("{text:?} is no {of}'s id on Discord, which are numbers"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_and_a_person_have_one_spelling_each() {
        for (address, spelling) in [
            ("1234567890123456789", "1234567890123456789"),
            ("<#42>", "42"),
            ("042", "42"),
            ("@42", "@42"),
            ("<@42>", "@42"),
            ("<@!42>", "@42"),
        ] {
            assert_eq!(canonical(address).as_deref(), Ok(spelling), "{address}");
        }
        for other in [
            "",
            "0",
            "@",
            "@0",
            "@anna ",
            "@an<na",
            "@a\u{200b}nna",
            "general",
            "#",
            "#gene ral",
            "#gen.eral",
            "-5",
            "<@&42>",
            "<#42",
            "99999999999999999999",
            "4 2",
        ] {
            assert!(canonical(other).is_err(), "{other:?}");
        }
        assert_eq!(canonical("#General_Küche").as_deref(), Ok("#general_küche"));
        assert_eq!(canonical("@Ann Löve.2").as_deref(), Ok("@ann löve.2"));
        assert!(canonical(&format!("#{}", "x".repeat(101))).is_err());
        assert!(canonical(&format!("@{}", "x".repeat(33))).is_err());
        assert_eq!(["#42", "@ann", "@42x"].map(is_name), [true; 3]);
        assert_eq!(["42", "@42"].map(is_name), [false; 2]);
        assert_eq!([user("<@42>"), user("@42"), user("discord:42"), user("42")], ["42"; 4]);
    }
}

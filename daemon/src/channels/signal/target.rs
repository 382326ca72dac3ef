//! Who is written to, and which message is meant.
//!
//! An address has one spelling, under which it is stored, shown and compared. A message's id is the time at which it was
//! sent, in milliseconds; since that is unique for its author only, a message that somebody else wrote is `author/time`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::channels::kit::{names, phone};

/// What an address may look like.
pub(super) const HINT: &str = "a number such as +4915112345678, an account's UUID, u:name.01, or group:ID; or @Name of a contact, #Name of a group";

/// A group's id is 32 bytes, in base64.
const GROUP_ID: usize = 44;

/// The longest name that is looked up, in characters.
const LONGEST_NAME: usize = 80;

/// Whether an address is a contact's name, `@Ann Lee`, or a group's, `#The house`.
pub(super) fn is_name(address: &str) -> bool {
    names::is_name(address, LONGEST_NAME, names::SIGNS)
}

/// The one spelling of an address.
pub(super) fn canonical(address: &str) -> Result<String, &'static str> {
    if is_name(address) {
        return Ok(address.to_lowercase());
    }
    if let Some(id) = address.strip_prefix("group:") {
        // An id may have come out of an address of the web.
        let id = id.replace('-', "+").replace('_', "/");
        let digits = id.trim_end_matches('=');
        let id = format!("{digits}=");
        // The bits behind the last byte are zero, or one group would have four ids: this decoder takes no others.
        let fits = digits.len() == GROUP_ID - 1 && STANDARD.decode(&id).is_ok();
        return if fits {
            Ok(format!("group:{id}"))
        } else {
            Err("a group's id has 44 characters of base64: signal-cli listGroups shows it")
        };
    }
    if let Some(name) = address.strip_prefix("u:") {
        return if is_username(name) { Ok(format!("u:{}", name.to_lowercase())) } else { Err(HINT) };
    }
    person(address).ok_or(HINT)
}

/// A number or a UUID.
pub(super) fn person(address: &str) -> Option<String> {
    let bare = address.strip_prefix("phone:").or_else(|| address.strip_prefix("uuid:")).unwrap_or(address);
    if let Some(number) = bare.strip_prefix('+') {
        return phone::digits(number).map(|digits| format!("+{digits}"));
    }
    let uuid = uuid::Uuid::try_parse(bare).ok().filter(|_| bare.len() == 36)?;
    Some(uuid.to_string())
}

/// A person's id as rows have it: an account's UUID, or a number.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    let found = person(written).ok_or(
        "write a number such as phone:+4915112345678, or the account's UUID, which `gatepost people list` shows: a name can be given to another",
    )?;
    Ok(phone::person(&found).unwrap_or(found))
}

/// `name.01`: letters, digits and underscores, then a point and two digits or more.
fn is_username(name: &str) -> bool {
    name.len() <= 48
        && name.split_once('.').is_some_and(|(name, digits)| {
            name.len() >= 3
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && digits.len() >= 2
                && digits.bytes().all(|b| b.is_ascii_digit())
        })
}

/// A request's parameters for an address.
pub(super) fn parameters(account: &str, address: &str) -> Value {
    match address.strip_prefix("group:") {
        Some(group) => json!({ "account": account, "groupId": [group] }),
        None => json!({ "account": account, "recipient": [address] }),
    }
}

/// Who wrote a message, if somebody else than the account did, and when.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MessageId {
    pub(super) author: Option<String>,
    pub(super) time: u64,
}

impl MessageId {
    /// Reads `time` or `author/time`.
    pub(super) fn read(id: &str) -> Option<Self> {
        let (author, time) = match id.rsplit_once('/') {
            Some((author, time)) => (Some(person(author)?), time),
            None => (None, id),
        };
        let digits = !time.is_empty() && time.len() <= 16 && time.bytes().all(|b| b.is_ascii_digit());
        Some(Self { author, time: time.parse().ok().filter(|_| digits)? })
    }
}

/// How a message may have been recorded: with its author before its time, or, as receipts and many bridges have it, without.
pub(super) fn recorded_as(account: &str, id: &str) -> Vec<String> {
    let mut names = vec![id.to_owned()];
    if let Some(MessageId { author, time }) = MessageId::read(id) {
        let author = author.unwrap_or_else(|| account.to_owned());
        names.extend([format!("{author}/{time}"), time.to_string()]);
    }
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        let group = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";
        for (given, is) in [
            ("+4915112345678", "+4915112345678"),
            ("+49 151 1234-5678", "+4915112345678"),
            ("phone:+15551234567", "+15551234567"),
            ("AAAAAAAA-0000-4000-8000-00000000000B", "aaaaaaaa-0000-4000-8000-00000000000b"),
            ("uuid:aaaaaaaa-0000-4000-8000-00000000000b", "aaaaaaaa-0000-4000-8000-00000000000b"),
            ("u:Anna_B.01", "u:anna_b.01"),
        ] {
            assert_eq!(canonical(given).unwrap(), is, "{given}");
        }
        assert_eq!(canonical("@Ann Löve").as_deref(), Ok("@ann löve"));
        assert!(is_name("#the house") && !is_name("+4915112345678"));
        let is = format!("group:{group}");
        for other in ["J", "K", "L"] {
            let other = is.replace("wI=", &format!("w{other}="));
            assert!(canonical(&other).is_err(), "{other} is the same bytes");
        }
        for given in [is.clone(), is.replace('+', "-"), is.trim_end_matches('=').to_owned()] {
            assert_eq!(canonical(&given).unwrap(), is, "{given}");
        }
        for other in [
            "",
            "4915112345678",
            "+49",
            "+0151123456",
            "u:a.1",
            "u:1a_.01",
            "anna",
            "group:",
            "group:abc=",
            "+49x",
            "@",
            "#a,b",
            "@ann ",
        ] {
            assert!(canonical(other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_message_is_its_time_and_its_author_unless_the_account_wrote_it() {
        let id = |author: Option<&str>| {
            Some(MessageId { author: author.map(Into::into), time: 1_700_000_000_000 })
        };
        assert_eq!(MessageId::read("1700000000000"), id(None));
        assert_eq!(MessageId::read("+4915112345678/1700000000000"), id(Some("+4915112345678")));
        for other in ["", "/1", "x/1", "12a", "+4915112345678/", "-1", "99999999999999999999"] {
            assert_eq!(MessageId::read(other), None, "{other}");
        }
    }
}

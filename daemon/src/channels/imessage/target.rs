//! Who is written to: a person's handle, or a conversation by its GUID.
//!
//! `iMessage;-;HANDLE` is the conversation with a person, so it is the handle; all others (`iMessage;+;chat123`, `SMS;-;…`)
//! keep their GUID.

use crate::channels::kit::{mailbox, phone};

/// What an address may look like.
pub(super) const HINT: &str = "a number such as +4915112345678, an e-mail address, or a conversation's GUID such as iMessage;+;chat123456";

/// The longest GUID or handle, in bytes.
const MAX: usize = 254;

/// The one spelling of an address.
pub(super) fn canonical(address: &str) -> Result<String, &'static str> {
    if address.len() > MAX || address.chars().any(char::is_control) {
        return Err(HINT);
    }
    let bare = address.strip_prefix("phone:").unwrap_or(address);
    match bare.split(';').collect::<Vec<_>>().as_slice() {
        [one] | ["iMessage", "-", one] if one.starts_with('+') || one.contains('@') => {
            mailbox::or_number(one)
        }
        ["iMessage", "-", _] => Err(HINT),
        [service @ ("iMessage" | "SMS" | "RCS" | "any"), sign @ ("-" | "+"), id]
            if !id.is_empty() && id.bytes().all(|b| b.is_ascii_graphic()) =>
        {
            Ok(format!("{service};{sign};{id}"))
        }
        _ => Err(HINT),
    }
}

/// Who a canonical address is: a person by their handle, a group by its GUID with the service it was first made by.
///
/// Messages writes one conversation down under several GUIDs: by its service (`iMessage`, `SMS`, `RCS`), and since macOS 26 as
/// `any`. A `+` before a handle makes no group of it. What writes by SMS under a name is nowhere else. Of any other id nobody can
/// say whose it is: it may be somebody's number or mailbox as the Mac of the account would read it. So may digits alone, however
/// few: a short code looks like a number of a country whose numbers are short (six digits on the Faroes).
pub(super) fn identity(address: &str) -> Option<String> {
    match address.split(';').collect::<Vec<_>>().as_slice() {
        [_, "-", id] => handle(id).or_else(|| is_sender(id).then(|| format!("SMS;-;{}", id.to_lowercase()))),
        [_, "+", id] => {
            handle(id).or_else(|| is_group(id).then(|| format!("iMessage;+;{}", id.to_lowercase())))
        }
        _ => Some(address.to_owned()),
    }
}

/// A person's id as rows have it: a number or a mailbox, or what stands for whoever writes by SMS under a name.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    const HINT: &str = "write a number such as phone:+4915112345678, a mailbox such as imessage:ann@example.org, or the id that `gatepost people list` shows";
    let spelt = canonical(written).map_err(|_| HINT)?;
    let who = identity(&spelt).unwrap_or(spelt);
    match who.split(';').collect::<Vec<_>>().as_slice() {
        [handle] => Ok(phone::person(handle).unwrap_or_else(|| who.clone())),
        [_, "-", _] => Ok(who),
        _ => Err("that is a group, and no person"),
    }
}

/// Identities whose entry of a `hold` list holds this one, too: a number with and without the digit that not everybody dials, which
/// a network that carries SMS takes for one, the mailbox that a tagged address leads to if it goes as a mail (MMS), and the mailbox
/// at its provider's other domains.
pub(super) fn held_with(identity: &str) -> Vec<String> {
    match identity.strip_prefix('+') {
        Some(number) => phone::other_form(number).map(|other| format!("+{other}")).into_iter().collect(),
        None => mailbox::held_with(identity),
    }
}

/// A sender's name of up to eleven letters and digits (3GPP TS 23.040, section 9.1.2.5), which begins with a letter: what begins
/// with digits may be a number that is written with letters.
fn is_sender(id: &str) -> bool {
    id.len() <= 11
        && id.starts_with(|c: char| c.is_ascii_alphabetic())
        && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// The id that Messages gives a group: `chat` and a number, or 32 hexadecimal digits.
fn is_group(id: &str) -> bool {
    let hexadecimal = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    hexadecimal
        || id.strip_prefix("chat").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The handle of the person whom a canonical address reaches by iMessage; none for a group, and for what asks for SMS or RCS.
pub(super) fn reached_by_imessage(address: &str) -> Option<String> {
    match address.split(';').collect::<Vec<_>>().as_slice() {
        [person] | ["any" | "iMessage", "-", person] => handle(person),
        _ => None,
    }
}

fn handle(text: &str) -> Option<String> {
    mailbox::or_number(text).ok()
}

/// The GUIDs that the chat with an address may have, the newer ones first.
pub(super) fn guids(address: &str) -> Vec<String> {
    let (service, tail) = match address.split_once(';') {
        Some((service, tail)) => (service, tail.to_owned()),
        None => ("iMessage", format!("-;{address}")),
    };
    let mut guids = vec![format!("any;{tail}"), format!("{service};{tail}")];
    if service != "iMessage" {
        guids.push(format!("iMessage;{tail}"));
    }
    guids.dedup();
    guids
}

/// Whether a chat's GUID, as Messages has it, is the one of an address. The service in it says how its last message went,
/// and changes.
pub(super) fn is_chat_of(chat: &str, address: &str) -> bool {
    fn bare(guid: &str) -> (bool, String) {
        match guid.splitn(3, ';').collect::<Vec<_>>().as_slice() {
            [_, "+", id] => (true, (*id).to_owned()),
            [_, "-", id] => (false, handle(id).unwrap_or_else(|| (*id).to_owned())),
            _ => (false, guid.to_owned()),
        }
    }
    bare(chat) == bare(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        for (given, is) in [
            ("+49 151 1234-5678", "+4915112345678"),
            ("phone:+15551234567", "+15551234567"),
            ("Anna@Example.org", "anna@example.org"),
            ("iMessage;-;+15551234567", "+15551234567"),
            ("iMessage;+;chat123456", "iMessage;+;chat123456"),
            ("SMS;-;+15551234567", "SMS;-;+15551234567"),
        ] {
            assert_eq!(canonical(given).unwrap(), is, "{given}");
        }
        for other in [
            "",
            "anna",
            "15551234567",
            "--to@a.b",
            "iMessage;+;",
            "iMessage;+;a b",
            "X;-;a",
            "a@b",
            "a\n@b.c",
        ] {
            assert!(canonical(other).is_err(), "{other:?}");
        }
        for (given, who) in [
            ("+4915112345678", "+4915112345678"),
            ("any;-;+4915112345678", "+4915112345678"),
            ("RCS;-;+4915112345678", "+4915112345678"),
            ("iMessage;-;+4915112345678", "+4915112345678"),
            ("iMessage;+;+4915112345678", "+4915112345678"),
            ("any;-;Anna@Example.org", "anna@example.org"),
            ("any;+;chat1", "iMessage;+;chat1"),
            ("SMS;+;chat1", "iMessage;+;chat1"),
            ("SMS;-;DHL", "SMS;-;dhl"),
            ("any;+;ABCDEF0123456789ABCDEF0123456789", "iMessage;+;abcdef0123456789abcdef0123456789"),
        ] {
            assert_eq!(identity(&canonical(given).unwrap()).as_deref(), Some(who), "{given}");
        }
        for nobodys in [
            "any;-;4915112345678",
            "any;-;004915112345678",
            "any;-;tel:+4915112345678",
            "any;-;p:+4915112345678",
            "any;-;mailto:a@b.org",
            "any;-;+49.151.12345678",
            "any;-;+49(0)15112345678",
            "any;+;4915112345678",
            // A short code, or a number of the Faroes.
            "SMS;-;123456",
            "any;-;22395",
            "SMS;-;1800FLOWERS",
            "any;-;<anna@example.org>",
            "SMS;-;\"anna\"@example.org",
            "any;-;anna(c)@example.org",
            "any;-;anna@example.org.",
            "any;-;/anna@example.org",
            "any;-;anna%example.org@example.net",
        ] {
            assert_eq!(identity(&canonical(nobodys).unwrap()), None, "{nobodys}");
        }
        for refused in [
            "+49(0)15112345678",
            "+49015112345678",
            "<anna@example.org>",
            "\"anna\"@example.org",
            "anna(c)@example.org",
            "anna@example.org.",
            "/anna@example.org",
            "iMessage;-;/anna@example.org",
            "iMessage;-;123456",
        ] {
            assert!(canonical(refused).is_err(), "{refused}");
        }
        assert_eq!(held_with("+5491112345678"), ["+541112345678"]);
        assert_eq!(held_with("anna+x@example.org"), ["anna@example.org"]);
        assert_eq!(held_with("anna@me.com"), ["anna@icloud.com", "anna@mac.com"]);
        assert!(held_with("+4915112345678").is_empty() && held_with("iMessage;+;chat1").is_empty());
        for (given, person) in [
            ("+4915112345678", Some("+4915112345678")),
            ("any;-;+4915112345678", Some("+4915112345678")),
            ("any;-;Anna@Example.org", Some("anna@example.org")),
            ("SMS;-;+4915112345678", None),
            ("any;+;+4915112345678", None),
            ("any;-;22395", None),
            ("iMessage;+;chat1", None),
        ] {
            assert_eq!(reached_by_imessage(&canonical(given).unwrap()).as_deref(), person, "{given}");
        }
        for (chat, address) in [
            ("iMessage;-;+15551234567", "+15551234567"),
            ("any;-;+15551234567", "+15551234567"),
            ("SMS;-;+15551234567", "+15551234567"),
            ("any;-;Anna@Example.org", "anna@example.org"),
            ("any;+;chat1", "iMessage;+;chat1"),
        ] {
            assert!(is_chat_of(chat, address), "{chat} {address}");
        }
        assert!(!is_chat_of("any;-;+15551234568", "+15551234567"));
        assert!(!is_chat_of("any;+;+15551234567", "+15551234567"));
        assert_eq!(guids("+15551234567"), ["any;-;+15551234567", "iMessage;-;+15551234567"]);
        assert_eq!(guids("iMessage;+;chat1"), ["any;+;chat1", "iMessage;+;chat1"]);
        assert_eq!(guids("SMS;-;123"), ["any;-;123", "SMS;-;123", "iMessage;-;123"]);
        assert_eq!(guids("any;+;chat1"), ["any;+;chat1", "iMessage;+;chat1"]);
    }
}

//! Who is written to: a person's handle, or a conversation by its GUID.
//!
//! `iMessage;-;HANDLE` is the conversation with a person, so it is the handle; all others (`iMessage;+;chat123`, `SMS;-;…`)
//! keep their GUID.

use crate::channels::phone;

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
        [one] => handle(one).ok_or(HINT),
        ["iMessage", "-", one] => handle(one).ok_or(HINT),
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
/// `any`. A `+` before a handle makes no group of it. What writes by SMS and has no number (a short code, a name) is nowhere
/// else. Of any other id nobody can say whose it is: it may be somebody's number as the Mac of the account would read it.
pub(super) fn identity(address: &str) -> Option<String> {
    match address.split(';').collect::<Vec<_>>().as_slice() {
        [_, "-", id] => handle(id).or_else(|| is_sender(id).then(|| format!("SMS;-;{}", id.to_lowercase()))),
        [_, "+", id] => handle(id).or_else(|| is_group(id).then(|| format!("iMessage;+;{id}"))),
        _ => Some(address.to_owned()),
    }
}

/// A short code of up to six digits, or a sender's name of up to eleven letters and digits (3GPP TS 23.040, section 9.1.2.5).
fn is_sender(id: &str) -> bool {
    let is_word = id.len() <= 11 && id.bytes().all(|b| b.is_ascii_alphanumeric());
    is_word && (id.len() <= 6 || id.bytes().any(|b| b.is_ascii_alphabetic()))
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
    if let Some(number) = text.strip_prefix('+') {
        return phone::digits(number).map(|digits| format!("+{digits}"));
    }
    let (name, domain) = text.split_once('@')?;
    let graphic = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && b != b';');
    // Nothing that a program could take for an option.
    let fits = graphic(name)
        && graphic(domain)
        && domain.contains('.')
        && !domain.contains('@')
        && !name.starts_with('-')
        // `mailto:`, `tel:`.
        && !name.contains(':');
    fits.then(|| text.to_lowercase())
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
            ("any;-;22395", "SMS;-;22395"),
            ("SMS;-;DHL", "SMS;-;dhl"),
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
        ] {
            assert_eq!(identity(&canonical(nobodys).unwrap()), None, "{nobodys}");
        }
        for refused in ["+49(0)15112345678", "+49015112345678"] {
            assert!(canonical(refused).is_err(), "{refused}");
        }
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

//! Who is written to, and which message is meant.
//!
//! A person's address is the number's digits, or the id by which Meta names those who hide their number behind a user name;
//! which number is behind that nobody says, so the two are different identities. A group's ends in `@g.us`. A message's id is the platform's own; the Evolution
//! API must be told besides who wrote it, so one that somebody else wrote is `number/id` there. The Cloud API's ids say so
//! themselves, and by their beginning which way they came.

use super::Way;

/// What an address may look like.
pub(super) const HINT: &str = "a number with its country's code, such as +4915112345678, or a business-scoped user id such as US.13491208655302741918";
/// The same for an Evolution API.
pub(super) const GROUP_HINT: &str =
    "a number with its country's code, such as +4915112345678, or a group such as 120363012345678901@g.us";
/// The same where both ways are there.
pub(super) const EVERY_HINT: &str = "a number with its country's code, such as +4915112345678, a group such as 120363012345678901@g.us, or a business-scoped user id such as US.13491208655302741918";

/// What stands behind the country's code in a business-scoped user id, in characters ("up to 128 alphanumeric characters":
/// <https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids>).
const MAX_USER_ID: usize = 128;

/// The longest number (ITU-T E.164: 15 digits), and the shortest that is one with its country.
const DIGITS: std::ops::RangeInclusive<usize> = 7..=15;

/// The one spelling of an address, by the ways that there are: the Cloud API alone takes user ids, the Evolution API alone
/// takes groups.
pub(super) fn canonical(address: &str, users: bool, groups: bool) -> Result<String, &'static str> {
    let hint = match (users, groups) {
        (true, true) => EVERY_HINT,
        (_, false) => HINT,
        (false, true) => GROUP_HINT,
    };
    if is_user_id(address) {
        return match users {
            true => Ok(address.to_owned()),
            false => Err("user ids are reached by the Cloud API only; write to a number"),
        };
    }
    if let Some(group) = address.strip_suffix("@g.us") {
        let id = (10..=64).contains(&group.len())
            && group.bytes().all(|b| b.is_ascii_digit() || b == b'-')
            && group.starts_with(|c: char| c.is_ascii_digit());
        return match (id, groups) {
            (true, true) => Ok(address.to_owned()),
            (true, false) => Err("groups are reached by the Evolution API only; write to a number"),
            _ => Err(hint),
        };
    }
    let bare = address.strip_prefix("phone:").unwrap_or(address);
    let bare = bare.strip_suffix(PERSON).unwrap_or(bare);
    number(bare.strip_prefix('+').unwrap_or(bare)).ok_or(hint)
}

/// Whether it is a business-scoped user id: two letters for the country, `ENT` where it is of several businesses that belong
/// together, and letters and digits. They are taken as they came.
pub(super) fn is_user_id(address: &str) -> bool {
    let Some((country, id)) = address.split_once('.') else { return false };
    let id = id.strip_prefix("ENT.").unwrap_or(id);
    country.len() == 2
        && country.bytes().all(|b| b.is_ascii_uppercase())
        && (1..=MAX_USER_ID).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn number(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')')).collect();
    let is_one = DIGITS.contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
        && !digits.starts_with('0');
    is_one.then_some(digits)
}

/// What stands behind a number in WhatsApp's own protocol.
pub(super) const PERSON: &str = "@s.whatsapp.net";

/// An address as WhatsApp's own protocol has it.
pub(super) fn jid(address: &str) -> String {
    if address.ends_with("@g.us") { address.to_owned() } else { format!("{address}{PERSON}") }
}

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MessageId<'a> {
    /// Who wrote it, if somebody else than the account did and the id does not say so.
    pub(super) author: Option<String>,
    pub(super) id: &'a str,
}

impl<'a> MessageId<'a> {
    /// Reads `id` or `number/id`.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        // An id of the Cloud API is base64, and may have a slash in it.
        let (author, id) = match text.split_once('/').filter(|_| !text.starts_with(WAMID)) {
            Some((author, id)) => (Some(canonical(author, false, false).ok()?), id),
            None => (None, text),
        };
        let is_one = (1..=256).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
        is_one.then_some(Self { author, id })
    }

    /// Which way it came.
    pub(super) fn way(&self) -> Way {
        if self.id.starts_with(WAMID) { Way::Cloud } else { Way::Evolution }
    }
}

/// How the Cloud API's ids begin
/// (<https://developers.facebook.com/docs/whatsapp/cloud-api/guides/send-messages>).
const WAMID: &str = "wamid.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        for given in [
            "4915112345678",
            "+4915112345678",
            "+49 151 1234-5678",
            "phone:+4915112345678",
            "4915112345678@s.whatsapp.net",
        ] {
            assert_eq!(canonical(given, true, false).unwrap(), "4915112345678", "{given}");
        }
        let group = "120363012345678901@g.us";
        assert_eq!(canonical(group, false, true).unwrap(), group);
        assert!(canonical(group, true, false).unwrap_err().contains("Evolution"));
        for other in
            ["", "anna", "015112345678", "12345", "x@g.us", "1234567890123456", "+", "-1@g.us", "a\n1"]
        {
            assert!(canonical(other, true, true).is_err(), "{other}");
        }
        assert_eq!(jid("4915112345678"), "4915112345678@s.whatsapp.net");
        assert_eq!(jid(group), group);
    }

    #[test]
    fn a_user_id_is_an_identity_of_its_own_and_the_cloud_apis() {
        for id in ["US.13491208655302741918", "US.ENT.11815799212886844830", "DE.aB9"] {
            assert_eq!(canonical(id, true, false).as_deref(), Ok(id));
            assert!(canonical(id, false, true).unwrap_err().contains("Cloud API"), "{id}");
        }
        for other in
            ["us.134", "USA.134", "US.", "US.ENT.", "US.1 2", "US.1/2", &format!("US.{}", "1".repeat(129))]
        {
            assert!(canonical(other, true, true).is_err(), "{other}");
        }
    }

    #[test]
    fn an_id_says_which_way_its_message_came_and_who_wrote_it() {
        let cloud = MessageId::read("wamid.HBgL/N==").unwrap();
        assert_eq!((cloud.way(), cloud.author), (Way::Cloud, None));
        let own = MessageId::read("3EB0C5A277F7F9B6C599").unwrap();
        assert_eq!((own.way(), own.author), (Way::Evolution, None));
        let hers = MessageId::read("+4915112345679/3EB0C5A277F7F9B6C599").unwrap();
        assert_eq!((hers.author.as_deref(), hers.id), (Some("4915112345679"), "3EB0C5A277F7F9B6C599"));
        for other in ["", "x/3EB0", "a b", "+4915112345679/"] {
            assert_eq!(MessageId::read(other), None, "{other}");
        }
    }
}

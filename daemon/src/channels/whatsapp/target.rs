//! Who is written to, and which message is meant.
//!
//! A person's address is the number's digits, or the id by which Meta names those who hide their number behind a user name;
//! which number is behind that nobody says, so the two are different identities. A group's ends in `@g.us`. A message's id is the platform's own; the Evolution
//! API must be told besides who wrote it, so one that somebody else wrote is `number/id` there. The Cloud API's ids say so
//! themselves, and by their beginning which way they came.

use super::Route;
use crate::channels::kit::phone;

/// What an address may look like.
pub(super) const HINT: &str = "a number with its country's code, such as +4915112345678, or a business-scoped user id such as US.13491208655302741918";
/// The same for an Evolution API.
pub(super) const GROUP_HINT: &str =
    "a number with its country's code, such as +4915112345678, or a group such as 120363012345678901@g.us";
/// The same where both ways are there.
pub(super) const EVERY_HINT: &str = "a number with its country's code, such as +4915112345678, a group such as 120363012345678901@g.us, or a business-scoped user id such as US.13491208655302741918";

/// Why a message whose id cannot be read is not there.
pub(super) const NO_MESSAGE: &str =
    "there is no such message: write its id, or number/id for one that somebody else wrote";

/// What stands behind the country's code in a business-scoped user id, in characters ("up to 128 alphanumeric characters":
/// <https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids>).
const MAX_USER_ID: usize = 128;

/// What an account can write to beside numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Takes {
    /// Groups, and people of whom WhatsApp tells a hidden id, by the Evolution API.
    pub(super) groups: bool,
    /// People by the id that the Cloud API has for them.
    pub(super) users: bool,
}

/// The one spelling of an address.
pub(super) fn canonical(address: &str, takes: Takes) -> Result<String, &'static str> {
    let hint = match (takes.users, takes.groups) {
        (true, true) => EVERY_HINT,
        (false, true) => GROUP_HINT,
        (_, false) => HINT,
    };
    if let Some(group) = address.strip_suffix("@g.us") {
        let id = (10..=64).contains(&group.len())
            && group.bytes().all(|b| b.is_ascii_digit() || b == b'-')
            && group.starts_with(|c: char| c.is_ascii_digit());
        return match (id, takes.groups) {
            (true, true) => Ok(address.to_owned()),
            (true, false) => Err("groups are reached by the Evolution API only; write to a number"),
            _ => Err(hint),
        };
    }
    if is_lid(address) && takes.groups {
        return Ok(address.to_owned());
    }
    if is_user(address) {
        return match takes.users {
            true => Ok(address.to_owned()),
            false => Err("a user's id is known to the Cloud API only; write to a number"),
        };
    }
    let bare = address.strip_prefix("phone:").unwrap_or(address);
    let bare = bare.strip_suffix(PERSON).unwrap_or(bare);
    phone::digits(bare.strip_prefix('+').unwrap_or(bare)).ok_or(hint)
}

/// Whether an address is the id that Meta has for a person towards one business (a business-scoped user id): a country's two
/// letters, `ENT` where it is for several businesses that belong together, and letters and digits
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids>).
pub(super) fn is_user(address: &str) -> bool {
    let Some((country, id)) = address.split_once('.') else { return false };
    let id = id.strip_prefix("ENT.").unwrap_or(id);
    country.len() == 2
        && country.bytes().all(|b| b.is_ascii_uppercase())
        && (1..=MAX_USER_ID).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether an address is the id under which WhatsApp hides somebody's number from those who do not have it (a LID). The Evolution API
/// sends there as it is written (`createJid`, `src/utils/createJid.ts`).
pub(super) fn is_lid(address: &str) -> bool {
    address
        .strip_suffix("@lid")
        .is_some_and(|id| (5..=20).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_digit()))
}

/// Who a canonical address is: a number in the one form of those that people dial it in. None for a user's id, and for a number
/// that its country's plan does not have.
///
/// In three countries a mobile number has a digit that is dialled from some places and left out in others, and WhatsApp knows
/// people by either form: [`phone::one_form`] is the one that stands for both. The Evolution API drops *whatever* digit stands there, so that it delivers
/// `+54 2 11…` to whoever has `+54 9 11…` (`formatMXOrARNumber` and `formatBRNumber` of
/// <https://github.com/EvolutionAPI/evolution-api/blob/2.3.6/src/utils/createJid.ts>). No plan has such numbers, and what the
/// Cloud API makes of them Meta does not say: by any way, nobody knows whose they are.
pub(super) fn identity(address: &str) -> Option<String> {
    if is_user(address) || is_lid(address) {
        return None;
    }
    if address.ends_with("@g.us") {
        return Some(address.to_owned());
    }
    phone::one_form(address)
}

/// A person's id as rows have it: a number, or an id by which WhatsApp hides one.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    const HINT: &str = "write a number with its country's code, such as phone:+4915112345678, or the id that `gatepost people list` shows";
    if is_user(written) || is_lid(written) {
        return Ok(written.to_owned());
    }
    let digits = canonical(written, Takes::default()).map_err(|_| HINT)?;
    phone::person(&digits).ok_or(HINT)
}

/// Numbers whose entry of a `hold` list holds this identity, too. A landline in Brazil and the mobile number that has a 9 more are
/// two people's, but the Evolution API takes one for the other if it wrote to that before (`getAvailableNumbers` of
/// <https://github.com/EvolutionAPI/evolution-api/blob/2.3.6/src/utils/onWhatsappCache.ts>).
pub(super) fn held_with(identity: &str) -> Option<String> {
    phone::other_form(identity)
}

/// Whom a mention of this id calls, as WhatsApp's own protocol has them.
pub(super) fn called(id: &str) -> Option<String> {
    let bare = id.strip_prefix('+').unwrap_or(id);
    let is_one = is_lid(id) || phone::digits(bare).is_some_and(|digits| digits == bare);
    is_one.then(|| jid(bare))
}

/// What stands behind a number in WhatsApp's own protocol.
pub(super) const PERSON: &str = "@s.whatsapp.net";

/// An address as WhatsApp's own protocol has it.
pub(super) fn jid(address: &str) -> String {
    if address.contains('@') { address.to_owned() } else { format!("{address}{PERSON}") }
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
            Some((author, id)) if is_lid(author) => (Some(author.to_owned()), id),
            Some((author, id)) => (Some(canonical(author, Takes::default()).ok()?), id),
            None => (None, text),
        };
        let is_one = (1..=256).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
        is_one.then_some(Self { author, id })
    }

    /// Which way it came.
    pub(super) fn way(&self) -> Route {
        if self.id.starts_with(WAMID) { Route::Cloud } else { Route::Evolution }
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
            assert_eq!(canonical(given, Takes::default()).unwrap(), "4915112345678", "{given}");
        }
        let group = "120363012345678901@g.us";
        assert_eq!(canonical(group, Takes { groups: true, users: false }).unwrap(), group);
        assert!(canonical(group, Takes::default()).unwrap_err().contains("Evolution"));
        for other in
            ["", "anna", "015112345678", "12345", "x@g.us", "1234567890123456", "+", "-1@g.us", "a\n1"]
        {
            assert!(canonical(other, Takes { groups: true, users: true }).is_err(), "{other}");
        }
        let users = Takes { groups: false, users: true };
        let user = "US.13491208655302741918";
        assert_eq!(canonical(user, users).unwrap(), user);
        assert!(canonical(user, Takes::default()).unwrap_err().contains("Cloud"));
        for other in ["us.1349", "USA.1349", "US.", "US.a b", "U1.5"] {
            assert!(canonical(other, users).is_err(), "{other}");
        }
        assert_eq!(jid("4915112345678"), "4915112345678@s.whatsapp.net");
        assert_eq!(jid(group), group);
    }

    #[test]
    fn a_user_id_is_an_identity_of_its_own_and_the_cloud_apis() {
        let users = Takes { groups: false, users: true };
        for id in ["US.13491208655302741918", "US.ENT.11815799212886844830", "DE.aB9"] {
            assert_eq!(canonical(id, users).as_deref(), Ok(id));
            assert!(
                canonical(id, Takes { groups: true, users: false }).unwrap_err().contains("Cloud API"),
                "{id}"
            );
        }
        for other in
            ["us.134", "USA.134", "US.", "US.ENT.", "US.1 2", "US.1/2", &format!("US.{}", "1".repeat(129))]
        {
            assert!(canonical(other, Takes { groups: true, users: true }).is_err(), "{other}");
        }
    }

    #[test]
    fn a_hidden_number_is_reached_by_the_evolution_api_alone_and_is_nobody_known() {
        let lid = "175105850253361@lid";
        assert_eq!(canonical(lid, Takes { groups: true, users: false }).as_deref(), Ok(lid));
        assert!(canonical(lid, Takes { groups: false, users: true }).is_err());
        assert_eq!((identity(lid), jid(lid).as_str()), (None, lid));
        let hers = MessageId::read("175105850253361@lid/3EB0").unwrap();
        assert_eq!((hers.author.as_deref(), hers.way()), (Some(lid), Route::Evolution));
        for other in ["@lid", "12a45@lid", "1234@lid", "123456789012345678901@lid"] {
            assert!(canonical(other, Takes { groups: true, users: true }).is_err(), "{other}");
        }
    }

    #[test]
    fn a_number_is_one_with_and_without_the_digit_that_not_everybody_dials() {
        for (one, other) in [
            ("5511987654321", "551187654321"),
            ("5551987654321", "555187654321"),
            ("5215512345678", "525512345678"),
            ("5491112345678", "541112345678"),
        ] {
            assert!(identity(one).is_some());
            assert_eq!(identity(one), identity(other), "{one}");
        }
        // A landline in Brazil, with and without a 9 before it, is two people's.
        assert_ne!(identity("551123456789"), identity("5511923456789"));
        for other in ["4915112345678", "120363012345678901@g.us", "5511923456789", "525512345678"] {
            assert_eq!(identity(other).as_deref(), Some(other));
        }
        for nobodys in ["52551234567", "5421112345678", "5551287654321", "5245512345678", "US.1349"] {
            assert_eq!(identity(nobodys), None, "{nobodys}");
        }
    }

    /// `createJid` of an Evolution API, for digits: `src/utils/createJid.ts`, 2.3.6, `formatMXOrARNumber` (lines 2 to 14) and `formatBRNumber` (lines 17 to 35)
    /// in the order of its lines 72 to 76.
    fn create_jid(digits: &str) -> String {
        let mut digits = digits.to_owned();
        if (digits.starts_with("52") || digits.starts_with("54")) && digits.len() == 13 {
            digits.remove(2);
        }
        if digits.len() == 13 && digits.starts_with("55") {
            let (area, first): (u8, u8) = (digits[2..4].parse().unwrap(), digits[5..6].parse().unwrap());
            if first >= 7 && area >= 31 {
                digits.remove(4);
            }
        }
        digits
    }

    /// `getAvailableNumbers` of an Evolution API: by which numbers one that it wrote to before is found again
    /// (`src/utils/onWhatsappCache.ts`).
    fn available(known: &str) -> [String; 2] {
        let (at, digit) = match &known[..2] {
            "55" => (4, '9'),
            "52" => (2, '1'),
            "54" => (2, '9'),
            _ => return [known.to_owned(), known.to_owned()],
        };
        let (mut with, mut without) = (known.to_owned(), known.to_owned());
        if known.len() != 13 || !known[at..].starts_with(digit) {
            with.insert(at, digit);
        }
        if known.len() != 12 {
            without.remove(at);
        }
        [with, without]
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4096))]

        /// For each pair of numbers that an Evolution API takes for one: both are one identity, or a person is asked.
        #[test]
        fn what_an_evolution_api_takes_for_one_number_is_one_or_nobodys(
            code in proptest::sample::select(vec!["52", "54", "55"]),
            local in "[1-9][0-9]{9}",
            infix in "[0-9]",
            other in "[0-9]",
        ) {
            let at = if code == "55" { 4 } else { 2 };
            let short = format!("{code}{local}");
            let long = |digit: &str| format!("{}{digit}{}", &short[..at], &short[at..]);
            let forms = [short.clone(), long(&infix), long(&other), long("1"), long("9")];
            let forms: Vec<_> = forms.iter().filter_map(|one| canonical(one, Takes::default()).ok()).collect();
            for one in &forms {
                for two in &forms {
                    let (who, also) = (identity(one), identity(two));
                    let (Some(who), Some(also)) = (who, also) else { continue };
                    if create_jid(one) == create_jid(two) {
                        proptest::prop_assert_eq!(&who, &also, "{} and {}", one, two);
                    }
                    if available(two).contains(&create_jid(one)) {
                        let is_held = who == also || held_with(&who).as_ref() == Some(&also);
                        proptest::prop_assert!(is_held, "{} and {}", one, two);
                    }
                }
            }
        }
    }

    #[test]
    fn an_id_says_which_way_its_message_came_and_who_wrote_it() {
        let cloud = MessageId::read("wamid.HBgL/N==").unwrap();
        assert_eq!((cloud.way(), cloud.author), (Route::Cloud, None));
        let own = MessageId::read("3EB0C5A277F7F9B6C599").unwrap();
        assert_eq!((own.way(), own.author), (Route::Evolution, None));
        let hers = MessageId::read("+4915112345679/3EB0C5A277F7F9B6C599").unwrap();
        assert_eq!((hers.author.as_deref(), hers.id), (Some("4915112345679"), "3EB0C5A277F7F9B6C599"));
        for other in ["", "x/3EB0", "a b", "+4915112345679/"] {
            assert_eq!(MessageId::read(other), None, "{other}");
        }
    }
}

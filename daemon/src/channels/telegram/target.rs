//! Addresses: the numbers of chats and people, and the public names of channels and supergroups.
//!
//! Each has one spelling, under which it is stored, shown and compared with the allowlist.

use serde_json::{Map, Value};

/// Ids have at most 52 significant bits (<https://core.telegram.org/bots/api#chat>).
const MOST: u64 = 1 << 52;

/// The one spelling of an address, or what to write instead.
pub(super) fn canonical(address: &str) -> Result<String, &'static str> {
    let bare = ["tg:", "telegram:"].iter().find_map(|prefix| address.strip_prefix(prefix)).unwrap_or(address);
    if let Some(name) = bare.strip_prefix('@') {
        return match is_name(name) {
            // Names are found however they are written.
            true => Ok(format!("@{}", name.to_ascii_lowercase())),
            false => Err("a public name has 4 to 32 letters, digits and underscores: @channelname"),
        };
    }
    if bare.contains("t.me/") {
        return Err("a link is no address: write the @channelname in it, or the chat's number");
    }
    let digits = bare.strip_prefix('-').unwrap_or(bare);
    let number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| bare.parse::<i64>().ok()).flatten();
    match number {
        Some(number) if number != 0 && number.unsigned_abs() < MOST => Ok(number.to_string()),
        _ => Err(
            "use the chat's number, such as -1001234567890, or a channel's @name; a person has a number only, and has \
             to write to the bot first",
        ),
    }
}

/// A person's id as rows have it: their number, or that of the chat in whose name somebody writes.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    const HINT: &str = "write the person's number, such as tg:123456789, which `gatepost people list` shows: a name can be given to another";
    canonical(written).ok().filter(|id| !id.starts_with('@')).ok_or(HINT)
}

/// Numbers of basic groups are not below this (<https://core.telegram.org/api/bots/ids>); those of supergroups and channels are.
const BASIC_GROUPS: i64 = -999_999_999_999;

/// Whether an address is its chat's for good: a person's, a supergroup's or a channel's number.
pub(super) fn tells(address: &str) -> bool {
    address.parse::<i64>().is_ok_and(|number| !(BASIC_GROUPS..=0).contains(&number))
}

/// Why a request can never be done, if something that it names by an id is no id. What is a number stands in it as one.
pub(super) fn unfit(body: &Map<String, Value>) -> Option<String> {
    let answered =
        body.get("reply_parameters").map(|answered| ("replyToId", "message", &answered["message_id"]));
    let of = |member: &str, what, kind| body.get(member).map(|value| (what, kind, value));
    let named = [
        of("message_id", "messageId", "message"),
        of("user_id", "userId", "person"),
        of("message_thread_id", "threadId", "topic"),
        answered,
    ];
    let several = body.get("message_ids").and_then(Value::as_array).into_iter().flatten();
    let mut all = named.into_iter().flatten().chain(several.map(|id| ("messageId", "message", id)));
    all.find(|(_, _, id)| !id.is_i64()).map(|(what, kind, id)| {
        let id: String = id.as_str().unwrap_or_default().chars().take(40).collect();
        format!("{what} {id:?} is no {kind}'s id on Telegram: it is a number, as a receipt or an inbound message names it")
    })
}

/// <https://core.telegram.org/method/account.checkUsername>: letters, digits and underscores, no digit first; 5 to 32 of
/// them, or 4 where the name was bought.
fn is_name(name: &str) -> bool {
    (4..=32).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_number_is_nobodys_id() {
        let refused = |body: Value| unfit(body.as_object().unwrap());
        let fit = json!({"chat_id": "@channel", "message_id": 7, "user_id": 5, "message_ids": [1]});
        assert_eq!(refused(fit), None);
        for (body, what) in [
            (json!({"message_id": "latest"}), "messageId"),
            (json!({"user_id": "@ann"}), "userId"),
            (json!({"message_thread_id": "general"}), "threadId"),
            (json!({"reply_parameters": {"message_id": "x"}}), "replyToId"),
            (json!({"message_ids": [1, "x"]}), "messageId"),
        ] {
            assert!(refused(body).unwrap().starts_with(what), "{what}");
        }
    }

    #[test]
    fn numbers_and_public_names_are_addresses_in_one_spelling() {
        for (address, spelling) in [
            ("-1001234567890", "-1001234567890"),
            ("123456", "123456"),
            ("tg:123456", "123456"),
            ("telegram:-5", "-5"),
            ("007", "7"),
            ("@Gatepost_News", "@gatepost_news"),
        ] {
            assert_eq!(canonical(address).as_deref(), Ok(spelling), "{address}");
        }
    }

    #[test]
    fn names_and_basic_groups_do_not_tell_whose_they_are() {
        for tells_it in ["5", "-1001234567890"] {
            assert!(tells(tells_it), "{tells_it}");
        }
        for other in ["@news", "-5", "-999999999999"] {
            assert!(!tells(other), "{other}");
        }
    }

    #[test]
    fn what_is_no_address_is_answered_with_what_to_write() {
        for other in [
            "",
            "0",
            "-",
            "+49",
            "1e5",
            "- 5",
            "9999999999999999999",
            "-9223372036854775808",
            "4503599627370496",
            "anna",
            "@",
            "@abc",
            "@1abc",
        ] {
            assert!(canonical(other).is_err(), "{other:?}");
        }
        assert!(canonical("https://t.me/news").unwrap_err().contains("link"));
        assert!(canonical("anna").unwrap_err().contains("number"));
    }
}

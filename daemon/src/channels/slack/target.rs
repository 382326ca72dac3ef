//! Slack's addresses: the ids of conversations and people, and names that are looked up.
//!
//! A channel's name can be given to another channel between the approval and the sending; its id cannot. So a name becomes the id when a
//! message is taken, and that is what is shown, approved and sent to.

use serde_json::{Map, Value};

use crate::channels::kit::names;

/// The shortest and the longest id that is taken for one. Slack promises no length; they have nine to eleven characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=24;

/// Whether an id is a person's: `U…`, or `W…` in an Enterprise organisation. The API takes it for the direct conversation
/// in few of its methods.
pub(super) fn is_person(address: &str) -> bool {
    address.starts_with(['U', 'W'])
}

/// A person's id as rows have it: `U…` or `W…`, and a program's `B…`.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    let is_one = (is_person(written) || written.starts_with('B'))
        && LENGTHS.contains(&written.len())
        && written.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    is_one.then(|| written.to_owned()).ok_or(
        "write the member id in capitals, such as slack:U012AB3CD, which stands in the menu of a profile: a name can be given to another",
    )
}

/// Whether an id is a direct conversation's with one person. One with several (`G…`, or `C…`) is a place of its own.
pub(super) fn is_direct(address: &str) -> bool {
    address.starts_with('D')
}

/// Why a request can never be done, if it names a message by what is no message's id: two numbers, with a dot between them
/// (<https://docs.slack.dev/messaging/retrieving-messages#individual_messages>).
pub(super) fn unfit(body: &Map<String, Value>) -> Option<String> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_id = |id: &str| id.split_once('.').is_some_and(|(seconds, rest)| number(seconds) && number(rest));
    let named = [("ts", "messageId"), ("timestamp", "messageId"), ("thread_ts", "threadId or replyToId")];
    let mut named = named.into_iter().filter_map(|(member, what)| Some((what, body.get(member)?.as_str()?)));
    named.find(|(_, id)| !is_id(id)).map(|(what, id)| {
        let id: String = id.chars().take(40).collect();
        format!("{what} {id:?} is no message's id on Slack: write it as 1700000000.000100, as a receipt or an inbound message names it")
    })
}

/// The longest name, in characters (<https://docs.slack.dev/reference/methods/conversations.create>: 80).
const LONGEST_NAME: usize = 80;

/// Whether an address is a channel's name, `#general`, or a person's, `@ann` or `@Ann Lee`.
pub(super) fn is_name(address: &str) -> bool {
    names::is_name(address, LONGEST_NAME, if address.starts_with('#') { "-_" } else { names::SIGNS })
}

/// The one spelling of an id or a name, or what to write instead.
pub(super) fn canonical(address: &str) -> Result<String, &'static str> {
    if is_name(address) {
        return Ok(address.to_lowercase());
    }
    let is_id = LENGTHS.contains(&address.len())
        && address.starts_with(['C', 'G', 'D', 'U', 'W'])
        && address.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if is_id {
        return Ok(address.to_owned());
    }
    Err(match address.chars().next() {
        Some('#') => {
            "a channel's name has letters, digits, - and _: or use its id, which stands last in the channel's details"
        }
        Some('@') => {
            "a person is called by letters, digits and few signs: or use their member id, which stands in the menu of their profile and begins with U"
        }
        Some('B') => "that is a bot's own id: use the id of a conversation or a person",
        Some('T' | 'E') => "that is a workspace's id: use the id of a conversation or a person",
        Some('<') => "write the id without <, > and signs: C012AB3CD",
        _ => {
            "use an id in capitals such as C012AB3CD (a conversation's details show it) or U012AB3CD (a profile's menu)"
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::channels::sender::members;

    #[test]
    fn a_messages_id_is_two_numbers() {
        assert_eq!(
            unfit(&members(json!({"ts": "1700000000.000100", "thread_ts": "1.1", "text": "x"}))),
            None
        );
        for id in ["latest", "1700000000", ".", "1.x", ""] {
            assert!(unfit(&members(json!({"timestamp": id}))).unwrap().starts_with("messageId"), "{id}");
        }
        assert!(unfit(&members(json!({"thread_ts": "general"}))).unwrap().starts_with("threadId"));
    }

    #[test]
    fn only_ids_are_addresses() {
        for id in ["C012AB3CD", "G012AB3CD", "D012AB3CDEF", "U012AB3CD", "W012AB3CD"] {
            assert_eq!(canonical(id).unwrap(), id);
        }
        for other in [
            "",
            "C",
            "general",
            "c012ab3cd",
            "B012AB3CD",
            "T012AB3CD",
            "C012 AB3CD",
            "#",
            "@",
            "# general",
            "#a b",
            "#a,b",
            "@ada ",
            "@ada<x>",
            "@a\u{200b}da",
            "@@ada",
        ] {
            assert!(canonical(other).is_err(), "{other:?}");
        }
        assert!(canonical(&"C".repeat(25)).is_err());
        assert!(canonical(&format!("#{}", "x".repeat(81))).is_err());
        assert!(canonical("#a b").unwrap_err().contains("details"));
        assert!(canonical("@ada<x>").unwrap_err().contains("member id"));
    }

    #[test]
    fn names_are_the_same_in_any_letters() {
        for (written, one) in [("#General", "#general"), ("@Ada Löve", "@ada löve"), ("#日本語", "#日本語")]
        {
            assert_eq!(canonical(written).as_deref(), Ok(one));
            assert!(is_name(one));
        }
        assert!(!is_name("C012AB3CD") && !is_name("U012AB3CD"));
    }
}

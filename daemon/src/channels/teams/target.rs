//! Addresses on Teams: the ids of conversations.
//!
//! A conversation's id is all that a bot needs to write there, and it says nothing to people: it stands in what the bot
//! receives, and in a channel's link. A thread is a part of it in Teams' own spelling; here it stands behind a `#` as
//! everywhere, so that the address of a conversation is one.

/// The longest that is taken; they have up to about 160 characters.
const LONGEST: usize = 240;

/// How ids of channels and of chats of several end.
const PLACES: &[&str] = &["@thread.tacv2", "@thread.v2", "@thread.skype"];

/// A workflow's webhook posts to one place.
const ITS_PLACE: &str = "webhook";

/// The one spelling of an id, or what to write instead.
pub(super) fn canonical(address: &str) -> Result<String, &'static str> {
    if address.contains(";messageid=") {
        return Err("write the thread behind a #: 19:…@thread.tacv2#1700000000000");
    }
    if address.starts_with("28:") || address.starts_with("29:") {
        return Err(
            "that is a bot or a person: use the id of your conversation with them, which begins with a:",
        );
    }
    let is_id = (8..=LONGEST).contains(&address.len())
        && address.bytes().all(|b| b.is_ascii_alphanumeric() || b":@._-+=".contains(&b))
        && (address.starts_with("19:") || address.starts_with("a:") || is_guid(address));
    if is_id {
        return Ok(if is_guid(address) { address.to_ascii_lowercase() } else { address.to_owned() });
    }
    Err("use a conversation's id: 19:…@thread.tacv2 stands in a channel's link, a:… in what the bot receives")
}

/// Whether an id tells which conversation it is. One of another form may be a second id of it: what a bot has as `a:…` is
/// `19:…@unq.gbl.spaces` to Microsoft Graph (<https://learn.microsoft.com/graph/api/resources/chat>). Where a workflow posts is
/// set up in Teams, and stands in no address: it may be any conversation.
pub(super) fn tells(address: &str) -> bool {
    is_personal(address) || PLACES.iter().any(|end| address.ends_with(end))
}

/// Why nobody says which conversation an address is.
pub(super) fn untold(address: &str) -> &'static str {
    match address {
        ITS_PLACE => "the workflow's owner chose in Teams where it posts, and its address does not say it",
        _ => "Teams does not say which conversation has this id",
    }
}

/// Whether a bot's conversation there is one with a single person; the playground's may be.
pub(super) fn is_personal(address: &str) -> bool {
    address.starts_with("a:") || is_guid(address)
}

/// Whether an id is one person's: the one that a bot has for them, theirs in Entra, or the name by which they sign in
/// (<https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format#microsoft-entra-object-id-and-upn-in-user-mention>).
pub(super) fn is_person(id: &str) -> bool {
    is_guid(id) || is_bots_own(id) || is_principal(id)
}

/// A person's id as rows have it: the one that a bot has for them, or theirs in Entra. By the name with which they sign in Teams tells
/// nobody.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    match (is_guid(written), is_bots_own(written)) {
        (true, _) => Ok(written.to_ascii_lowercase()),
        (_, true) => Ok(written.to_owned()),
        _ => Err(
            "write the person's id in Entra, or the one that begins with 29: and that `gatepost people list` shows",
        ),
    }
}

/// `29:…`, which is another for each bot.
pub(super) fn is_bots_own(id: &str) -> bool {
    id.strip_prefix("29:").is_some_and(|id| {
        !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    })
}

fn is_principal(id: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+".contains(&b))
    };
    id.split_once('@').is_some_and(|(name, host)| {
        name.split('.').all(is_part) && host.contains('.') && host.split('.').all(is_part)
    })
}

/// Where a webhook posts.
pub(super) fn of_webhook(address: &str) -> Result<String, &'static str> {
    match address {
        ITS_PLACE => Ok(address.to_owned()),
        _ => Err("the workflow posts to one place only: write teams:webhook"),
    }
}

/// Ids of the Agents Playground, in which bots are tried out.
fn is_guid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_conversations_are_addresses() {
        for id in [
            "19:abc_d-e0@thread.tacv2",
            "19:meeting_NDdk@thread.v2",
            "19:a_b@unq.gbl.spaces",
            "a:1xYz-_0123",
            "9d2b4ca1-966e-443b-af30-4a4cd8ce6770",
        ] {
            assert_eq!(canonical(id).unwrap(), id);
            assert_eq!(is_personal(id), !id.starts_with("19:"));
        }
        for other in [
            "",
            "general",
            "19:",
            "29:1abc0123",
            "28:1abc0123",
            "19:abc/../x@thread.v2",
            "ada@hub.test",
            "19:a b@thread.v2",
        ] {
            assert!(canonical(other).is_err(), "{other:?}");
        }
        assert!(canonical("19:abc@thread.tacv2;messageid=17").unwrap_err().contains('#'));
        assert!(canonical(&format!("19:{}", "a".repeat(300))).is_err());
        assert!(of_webhook("webhook").is_ok() && of_webhook("19:abc@thread.tacv2").is_err());
        assert!(!tells("webhook") && tells("19:abc@thread.tacv2"));
    }
}

//! What Telegram marks in a text: mentions of the bot, and the addresses behind links.
//!
//! Offsets and lengths are in UTF-16 units (<https://core.telegram.org/bots/api#messageentity>). One that falls between the
//! halves of a sign, or behind the text, marks nothing.

use std::ops::Range;

use serde_json::Value;

use super::read::Me;

/// Entities of one text that are looked at. Telegram's servers mark a hundred at most.
const MOST: usize = 200;
/// The longest address behind a link that is shown, in bytes.
const MAX_URL: usize = 2048;

/// The bytes that an entity marks.
fn marked(text: &str, entity: &Value) -> Option<Range<usize>> {
    let unit = |name: &str| entity[name].as_u64().and_then(|unit| usize::try_from(unit).ok());
    let (offset, length) = (unit("offset")?, unit("length")?);
    let start = byte_at(text, offset)?;
    let end = start + byte_at(&text[start..], length)?;
    Some(start..end)
}

/// Where the unit begins.
fn byte_at(text: &str, unit: usize) -> Option<usize> {
    let mut units = 0;
    for (at, sign) in text.char_indices() {
        if units >= unit {
            return (units == unit).then_some(at);
        }
        units += sign.len_utf16();
    }
    (units == unit).then_some(text.len())
}

fn each<'a>(text: &'a str, entities: &'a Value) -> impl Iterator<Item = (Range<usize>, &'a Value)> {
    let entities = entities.as_array().into_iter().flatten().take(MOST);
    entities.filter_map(move |entity| Some((marked(text, entity)?, entity)))
}

/// Whether the bot is mentioned, or a command is to it. A command without a name is to every bot that there is.
pub(super) fn mention(text: &str, entities: &Value, me: &Me) -> bool {
    let is_me = |name: &str| !me.username.is_empty() && name.eq_ignore_ascii_case(&me.username);
    each(text, entities).any(|(range, entity)| {
        let named = text[range].split_once('@').map(|(_, name)| name);
        match entity["type"].as_str() {
            Some("mention" | "bot_command") => named.is_some_and(is_me),
            Some("text_mention") => entity["user"]["id"].as_i64() == Some(me.id),
            _ => false,
        }
    })
}

/// The text with the addresses behind its links, which it does not show.
pub(super) fn with_links(text: &str, entities: &Value) -> String {
    let url = |entity: &Value| {
        let url = entity["url"].as_str().filter(|url| entity["type"] == "text_link" && url.len() <= MAX_URL);
        url.map(str::to_owned)
    };
    let mut links: Vec<(Range<usize>, String)> =
        each(text, entities).filter_map(|(range, entity)| Some((range, url(entity)?))).collect();
    links.sort_by_key(|(range, _)| range.end);
    let mut whole = String::with_capacity(text.len());
    let mut written = 0;
    for (range, url) in links {
        whole.push_str(&text[written..range.end]);
        written = range.end;
        if text[range] != url {
            whole.push_str(&format!(" ({url})"));
        }
    }
    whole + &text[written..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn me() -> Me {
        Me { id: 99, username: "House_Bot".into(), topics_in_chats: false }
    }

    #[test]
    fn a_mention_is_one_by_its_mark_and_units_are_those_of_utf_16() {
        let text = "👍🏽 @house_bot";
        let at = |offset: usize, kind: &str| json!([{"type": kind, "offset": offset, "length": 10}]);
        assert!(mention(text, &at(5, "mention"), &me()));
        assert!(!mention(text, &at(9, "mention"), &me()), "bytes are no units");
        assert!(!mention(text, &at(1, "mention"), &me()), "between two halves");
        assert!(!mention(text, &at(5, "bold"), &me()) && !mention(text, &json!([]), &me()));
        let command = json!([{"type": "bot_command", "offset": 0, "length": 15}]);
        assert!(mention("/help@House_Bot", &command, &me()));
        assert!(!mention("/help@Other_Bot", &command, &me()));
        assert!(!mention("/help", &json!([{"type": "bot_command", "offset": 0, "length": 5}]), &me()));
        let by_id = |id: i64| json!([{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": id}}]);
        assert!(mention("Home", &by_id(99), &me()) && !mention("Home", &by_id(98), &me()));
    }

    #[test]
    fn who_has_no_name_is_not_named_by_an_empty_one() {
        let nameless = Me { username: String::new(), ..me() };
        assert!(!mention("@", &json!([{"type": "mention", "offset": 0, "length": 1}]), &nameless));
    }

    #[test]
    fn an_address_behind_a_link_stands_after_its_words() {
        let link = |offset: usize, length: usize, url: &str| json!({"type": "text_link", "offset": offset, "length": length, "url": url});
        let entities = json!([link(4, 4, "https://b.test/"), link(0, 2, "https://a.test/")]);
        assert_eq!(with_links("👍, here.", &entities), "👍 (https://a.test/), here (https://b.test/).");
        assert_eq!(
            with_links("https://a.test/", &json!([link(0, 15, "https://a.test/")])),
            "https://a.test/"
        );
    }

    proptest! {
        #[test]
        fn any_marks_on_any_text_only_add(
            text in ".{0,20}", marks in prop::collection::vec((0..30_u64, 0..30_u64), 0..6),
        ) {
            let entities: Value = marks
                .iter()
                .map(|(offset, length)| json!({"type": "text_link", "offset": offset, "length": length, "url": "u"}))
                .collect();
            mention(&text, &entities, &me());
            prop_assert!(with_links(&text, &entities).len() >= text.len());
        }
    }
}

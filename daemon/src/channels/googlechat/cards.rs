//! Cards of Google Chat: buttons beneath a text, a poll's stand-in, and the ones that agents write themselves.
//!
//! A card of an agent's own is looked at before anybody is asked to approve it: what it is made of, and that it calls
//! nobody. That it is right in all its parts only Google can say; it says so with `INVALID_ARGUMENT` and the part's name.

use serde_json::{Map, Value, json};

use crate::message::operation::{Button, Poll, Press};

/// The longest card, in bytes. A message has 32,000, of which its text may take half.
pub(super) const MAX_BYTES: usize = 12_000;

/// <https://developers.google.com/workspace/chat/api/reference/rest/v1/cards#card>: "a card supports up to 100 widgets".
const WIDGETS: usize = 100;

/// Members of a card: <https://developers.google.com/workspace/chat/api/reference/rest/v1/cards#card>.
const MEMBERS: &[&str] = &[
    "header",
    "sections",
    "sectionDividerStyle",
    "cardActions",
    "name",
    "fixedFooter",
    "displayStyle",
    "peekCardHeader",
];

/// The function that a press calls, by which the app knows a press on a button of ours.
pub(super) const PRESSED: &str = "gatepost_button";
pub(super) const VOTED: &str = "gatepost_poll";

/// The cards of a message.
pub(super) fn of(card: Option<&Value>, buttons: &[Vec<Button>]) -> Vec<Value> {
    let mut cards: Vec<Value> = card.map(normal).into_iter().collect();
    if !buttons.is_empty() {
        let rows: Vec<Value> = buttons
            .iter()
            .map(|row| {
                let buttons: Vec<Value> = row.iter().map(|pressed| button(pressed, PRESSED)).collect();
                json!({ "buttonList": { "buttons": buttons } })
            })
            .collect();
        cards.push(json!({ "cardId": "buttons", "card": { "sections": [{ "widgets": rows }] } }));
    }
    cards
}

/// A poll's stand-in: its question, and a button for each answer.
pub(super) fn poll(poll: &Poll) -> Value {
    let answers = poll.options.iter().enumerate().map(|(n, option)| {
        let answer = Button { text: option.clone(), press: Press::Data(n.to_string()) };
        json!({ "buttonList": { "buttons": [button(&answer, VOTED)] } })
    });
    let question = json!({ "textParagraph": { "text": escaped(&poll.question) } });
    let widgets: Vec<Value> = std::iter::once(question).chain(answers).collect();
    json!({ "cardId": "poll", "card": { "sections": [{ "widgets": widgets }] } })
}

/// <https://developers.google.com/workspace/chat/api/reference/rest/v1/cards#button>
fn button(button: &Button, function: &str) -> Value {
    let press = match &button.press {
        Press::Data(data) => {
            json!({ "action": { "function": function, "parameters": [{ "key": "data", "value": data }] } })
        }
        Press::Url(url) => json!({ "openLink": { "url": url } }),
        // Admission refuses them for this channel.
        Press::Form(_) => json!({}),
    };
    json!({ "text": button.text, "onClick": press })
}

/// A paragraph in a card reads some HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A card with its id, however it was written.
fn normal(card: &Value) -> Value {
    match card.get("card") {
        Some(inner) => json!({ "cardId": card.get("cardId").unwrap_or(&json!("card")), "card": inner }),
        None => json!({ "cardId": "card", "card": card }),
    }
}

/// Says what is wrong with a card.
pub(super) fn check(card: &Value) -> Result<(), String> {
    const WHAT: &str = "a card on googlechat is {\"sections\": [{\"widgets\": [...]}]} with a header or without, or \
                        {\"cardId\": \"…\", \"card\": {…}} around one";
    let outer = card.as_object().ok_or(WHAT)?;
    let card: &Map<String, Value> = match outer.get("card") {
        Some(inner) => match outer.keys().find(|name| !matches!(name.as_str(), "card" | "cardId")) {
            Some(other) => return Err(format!("{other} is no member of a card with its id; {WHAT}")),
            None => inner.as_object().ok_or(WHAT)?,
        },
        None => outer,
    };
    if let Some(other) = card.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(format!("{other} is no member of a card: there are {}", MEMBERS.join(", ")));
    }
    let sections =
        card.get("sections").and_then(Value::as_array).filter(|list| !list.is_empty()).ok_or(WHAT)?;
    let mut widgets = 0;
    for (n, section) in sections.iter().enumerate() {
        let list = section["widgets"].as_array().filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| format!("section {} has no widgets", n + 1))?;
        if let Some(at) = list.iter().position(|widget| widget.as_object().is_none_or(Map::is_empty)) {
            return Err(format!(
                "section {}, widget {}: it is no object with a kind of widget",
                n + 1,
                at + 1
            ));
        }
        widgets += list.len();
    }
    if widgets > WIDGETS {
        return Err(format!("it has {widgets} widgets; {WIDGETS} are the most"));
    }
    if calls(&Value::Object(card.clone())) {
        return Err("it calls people (<users/…>), which a card may not".into());
    }
    Ok(())
}

/// Whether there is a mention in any of its texts
/// (<https://developers.google.com/workspace/chat/format-messages#messages-@mention>).
fn calls(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("<users/"),
        Value::Array(list) => list.iter().any(calls),
        Value::Object(members) => members.values().any(calls),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(text: &str) -> Value {
        json!({ "textParagraph": { "text": text } })
    }

    #[test]
    fn buttons_and_a_card_of_ones_own_stand_beside_each_other() {
        let own = json!({ "sections": [{ "widgets": [paragraph("x")] }] });
        let buttons = vec![vec![
            Button { text: "Yes".into(), press: Press::Data("y".into()) },
            Button { text: "See".into(), press: Press::Url("https://a.test/".into()) },
        ]];
        assert_eq!(
            of(Some(&own), &buttons),
            [
                json!({ "cardId": "card", "card": own }),
                json!({ "cardId": "buttons", "card": { "sections": [{ "widgets": [{ "buttonList": { "buttons": [
                    { "text": "Yes", "onClick": { "action": {
                        "function": "gatepost_button", "parameters": [{ "key": "data", "value": "y" }],
                    } } },
                    { "text": "See", "onClick": { "openLink": { "url": "https://a.test/" } } },
                ] } }] }] } }),
            ]
        );
        assert!(of(None, &[]).is_empty());
        let named = json!({ "cardId": "mine", "card": own });
        assert_eq!(of(Some(&named), &[]), [named]);
    }

    #[test]
    fn a_bad_card_is_refused_with_its_place() {
        let good = json!({ "header": { "title": "T" }, "sections": [{ "widgets": [paragraph("x")] }] });
        assert_eq!(check(&good), Ok(()));
        assert_eq!(check(&json!({ "cardId": "a", "card": good })), Ok(()));
        for (card, why) in [
            (json!([]), "a card on googlechat"),
            (json!({}), "a card on googlechat"),
            (json!({ "sections": [] }), "a card on googlechat"),
            (json!({ "blocks": [] }), "blocks is no member"),
            (json!({ "sections": [{}] }), "section 1 has no widgets"),
            (json!({ "sections": [{ "widgets": [{}] }] }), "section 1, widget 1"),
            (json!({ "sections": [{ "widgets": vec![paragraph("x"); 101] }] }), "101 widgets"),
            (json!({ "sections": [{ "widgets": [paragraph("<users/all>")] }] }), "calls people"),
            (json!({ "card": good, "text": "x" }), "text is no member"),
        ] {
            let said = check(&card).unwrap_err();
            assert!(said.contains(why), "{card}: {said}");
        }
    }
}

//! Adaptive Cards: a text with what goes along, a poll's stand-in, and the cards that agents write themselves.
//!
//! A card of an agent's own is looked at before anybody is asked to approve it: what it is made of, and that it calls
//! nobody and fetches nothing anew by itself.

use serde_json::{Map, Value, json};

use crate::message::operation::{Button, Extras, Poll, Press};

/// The type of its attachment: <https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-reference#adaptive-card>.
const TYPE: &str = "application/vnd.microsoft.card.adaptive";

/// Understood by Teams everywhere, by mobile too (same page, "Support for Adaptive Cards"); the newest that it knows.
const VERSION: &str = "1.4";
const VERSIONS: &[&str] = &["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"];

/// The longest card of an agent's own, in bytes: with its text and buttons it stays under 25,000.
pub(super) const MAX_BYTES: usize = 12_000;

/// Members of a card: <https://adaptivecards.io/explorer/AdaptiveCard.html>. Not there: `refresh` and `authentication`,
/// by which a card asks for something by itself.
const MEMBERS: &[&str] = &[
    "type",
    "$schema",
    "version",
    "body",
    "actions",
    "fallbackText",
    "speak",
    "lang",
    "minHeight",
    "rtl",
    "backgroundImage",
    "verticalContentAlignment",
    "selectAction",
    "msteams",
];

/// What it may be made of: <https://adaptivecards.io/explorer/>.
const ELEMENTS: &[&str] = &[
    "ActionSet",
    "CodeBlock",
    "ColumnSet",
    "Container",
    "FactSet",
    "Image",
    "ImageSet",
    "Input.ChoiceSet",
    "Input.Date",
    "Input.Number",
    "Input.Text",
    "Input.Time",
    "Input.Toggle",
    "RichTextBlock",
    "Table",
    "TextBlock",
];
/// `Action.Execute` is answered with another card, for which nobody listens here.
const ACTIONS: &[&str] = &["Action.OpenUrl", "Action.ShowCard", "Action.Submit", "Action.ToggleVisibility"];

/// Actions that Teams shows of a list
/// (<https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-actions>).
const MOST_ACTIONS: usize = 6;

/// How deep things may stand in each other.
const DEPTH: usize = 12;

/// By what the bot knows its own presses.
pub(super) const OURS: &str = "gatepost";
/// What stands there in a poll, and the name of its list.
pub(super) const POLL: &str = "poll";
pub(super) const POLL_ANSWER: &str = "answer";

/// A card as an attachment.
pub(super) fn attachment(card: &Value) -> Value {
    json!({ "contentType": TYPE, "content": card })
}

/// A text, with the entities by which it calls people, and beneath it what goes with it; nothing of either may be there.
pub(super) fn with(text: &str, extras: &Extras, called: &[Value]) -> Value {
    let mut card = match &extras.card {
        Some(Value::Object(own)) => own.clone(),
        _ => Map::new(),
    };
    let mut body = Vec::new();
    if !text.is_empty() {
        body.push(json!({ "type": "TextBlock", "text": text, "wrap": true }));
    }
    if let Some(Value::Array(own)) = card.remove("body") {
        body.extend(own);
    }
    body.extend(extras.buttons.iter().map(|row| {
        let actions: Vec<Value> = row.iter().map(action).collect();
        json!({ "type": "ActionSet", "actions": actions })
    }));
    card.insert("type".into(), json!("AdaptiveCard"));
    card.entry("version").or_insert_with(|| json!(VERSION));
    card.insert("body".into(), json!(body));
    if !called.is_empty() {
        // <https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format#mention-support-within-adaptive-cards>
        let mut own = match card.remove("msteams") {
            Some(Value::Object(own)) => own,
            _ => Map::new(),
        };
        own.insert("entities".into(), json!(called));
        card.insert("msteams".into(), Value::Object(own));
    }
    Value::Object(card)
}

/// A poll's stand-in: its question, a list to choose from, and a button.
pub(super) fn poll(poll: &Poll) -> Value {
    let choices: Vec<Value> = poll
        .options
        .iter()
        .enumerate()
        .map(|(n, option)| json!({ "title": option, "value": n.to_string() }))
        .collect();
    json!({
        "type": "AdaptiveCard",
        "version": VERSION,
        "body": [
            // In a run no sign means anything.
            { "type": "RichTextBlock", "inlines": [{ "type": "TextRun", "text": poll.question, "weight": "bolder" }] },
            {
                "type": "Input.ChoiceSet", "id": POLL_ANSWER, "style": "expanded",
                "isMultiSelect": poll.multiple, "choices": choices,
            },
        ],
        "actions": [{ "type": "Action.Submit", "title": "OK", "data": { OURS: POLL } }],
    })
}

fn action(button: &Button) -> Value {
    match &button.press {
        Press::Data(data) => json!({ "type": "Action.Submit", "title": button.text, "data": { OURS: data } }),
        Press::Url(url) => json!({ "type": "Action.OpenUrl", "title": button.text, "url": url }),
        // Admission refuses them for this channel.
        Press::Form(_) => json!({ "type": "Action.Submit", "title": button.text }),
    }
}

/// Says what is wrong with a card.
pub(super) fn check(card: &Value) -> Result<(), String> {
    let members = card.as_object().ok_or("an Adaptive Card is an object")?;
    if card["type"] != "AdaptiveCard" {
        return Err("an Adaptive Card has \"type\": \"AdaptiveCard\"".into());
    }
    if let Some(other) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(format!("{other} is no member of a card here; there are {}", MEMBERS.join(", ")));
    }
    if let Some(version) = members.get("version")
        && !version.as_str().is_some_and(|version| VERSIONS.contains(&version))
    {
        return Err(format!("its version is {version}; Teams knows {}", VERSIONS.join(", ")));
    }
    if let Some(teams) = members.get("msteams")
        && !teams.as_object().is_some_and(|teams| teams.keys().all(|name| name == "width"))
    {
        return Err("of msteams a card may have width alone: entities call people".into());
    }
    let body = members.get("body").and_then(Value::as_array).filter(|body| !body.is_empty());
    for (n, element) in body.ok_or("a card has a body of one element at least")?.iter().enumerate() {
        whole(element, DEPTH).map_err(|why| format!("element {}: {why}", n + 1))?;
    }
    few(card)?;
    for (n, action) in members.get("actions").and_then(Value::as_array).into_iter().flatten().enumerate() {
        acts(action, DEPTH).map_err(|why| format!("action {}: {why}", n + 1))?;
    }
    members.get("selectAction").map_or(Ok(()), |action| acts(action, DEPTH))
}

fn whole(element: &Value, depth: usize) -> Result<(), String> {
    let kind = kind(element, ELEMENTS)?;
    let depth = depth.checked_sub(1).ok_or("it stands too deep")?;
    let needed = match kind {
        "TextBlock" => &["text"] as &[&str],
        "Image" => &["url"],
        "Container" => &["items"],
        "ColumnSet" => &["columns"],
        "FactSet" => &["facts"],
        "ActionSet" => &["actions"],
        "RichTextBlock" => &["inlines"],
        "ImageSet" => &["images"],
        "Table" => &["rows"],
        "CodeBlock" => &["codeSnippet"],
        "Input.ChoiceSet" => &["id", "choices"],
        "Input.Toggle" => &["id", "title"],
        _ => &["id"],
    };
    if let Some(missing) = needed.iter().find(|name| element.get(name).is_none()) {
        return Err(format!("{kind} needs {missing}"));
    }
    few(element)?;
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    for inner in list(element, "items").iter().chain(&list(element, "images")) {
        whole(inner, depth)?;
    }
    // A column is a container, a row's cell too; neither has to say its type.
    for column in list(element, "columns")
        .iter()
        .chain(list(element, "rows").iter().flat_map(|row| row["cells"].as_array()).flatten())
    {
        list(column, "items").iter().try_for_each(|inner| whole(inner, depth))?;
    }
    for action in list(element, "actions").iter().chain(element.get("selectAction")) {
        acts(action, depth)?;
    }
    Ok(())
}

/// Fails if there are more actions in a list than are shown.
fn few(of: &Value) -> Result<(), String> {
    match list_of(of, "actions").len() {
        n if n > MOST_ACTIONS => Err(format!("it has {n} actions, and Teams shows {MOST_ACTIONS}")),
        _ => Ok(()),
    }
}

fn acts(action: &Value, depth: usize) -> Result<(), String> {
    let kind = kind(action, ACTIONS)?;
    let depth = depth.checked_sub(1).ok_or("it stands too deep")?;
    match kind {
        "Action.OpenUrl" if !is_address(&action["url"]) => {
            Err("Action.OpenUrl needs an https:// address as its url".into())
        }
        "Action.ShowCard" => {
            let inner = list_of(&action["card"], "body").iter().try_for_each(|element| whole(element, depth));
            inner.and_then(|()| {
                list_of(&action["card"], "actions").iter().try_for_each(|action| acts(action, depth))
            })
        }
        // `msteams` in its data makes Teams do something of its own, such as send a message as the person.
        "Action.Submit" if action["data"].get("msteams").is_some() => {
            Err("a button may not make Teams act for a person".into())
        }
        _ => Ok(()),
    }
}

fn list_of<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map_or(&[], Vec::as_slice)
}

fn is_address(url: &Value) -> bool {
    url.as_str().is_some_and(|url| url.starts_with("https://") || url.starts_with("http://"))
}

fn kind<'a>(of: &'a Value, known: &[&str]) -> Result<&'a str, String> {
    let kind = of["type"].as_str().unwrap_or_default();
    if known.contains(&kind) {
        Ok(kind)
    } else {
        Err(format!("its type is {kind:?}; there are {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(body: Value) -> Value {
        json!({ "type": "AdaptiveCard", "version": "1.4", "body": body })
    }

    fn block(text: &str) -> Value {
        json!({ "type": "TextBlock", "text": text })
    }

    #[test]
    fn a_text_stands_above_its_card_and_its_buttons_beneath() {
        let extras = Extras {
            card: Some(json!({ "type": "AdaptiveCard", "body": [block("own")], "lang": "de" })),
            buttons: vec![vec![
                Button { text: "Yes".into(), press: Press::Data("y".into()) },
                Button { text: "See".into(), press: Press::Url("https://a.test/".into()) },
            ]],
            ..Extras::default()
        };
        assert_eq!(
            with("**Tea?**", &extras, &[]),
            json!({
                "type": "AdaptiveCard", "version": "1.4", "lang": "de",
                "body": [
                    { "type": "TextBlock", "text": "**Tea?**", "wrap": true },
                    { "type": "TextBlock", "text": "own" },
                    { "type": "ActionSet", "actions": [
                        { "type": "Action.Submit", "title": "Yes", "data": { "gatepost": "y" } },
                        { "type": "Action.OpenUrl", "title": "See", "url": "https://a.test/" },
                    ] },
                ],
            })
        );
    }

    #[test]
    fn a_bad_card_is_refused_with_its_place() {
        let good = card(json!([
            block("x"),
            { "type": "ColumnSet", "columns": [{ "width": "auto", "items": [block("c")] }] },
            { "type": "Table", "columns": [{ "width": 1 }], "rows": [{ "cells": [{ "items": [block("t")] }] }] },
            { "type": "ActionSet", "actions": [{ "type": "Action.OpenUrl", "url": "https://a.test/" }] },
        ]));
        assert_eq!(check(&good), Ok(()));
        let mut deep = block("x");
        for _ in 0..20 {
            deep = json!({ "type": "Container", "items": [deep] });
        }
        for (card, why) in [
            (json!([]), "an object"),
            (json!({ "body": [block("x")] }), "\"type\""),
            (card(json!([])), "a body"),
            (card(json!([block("x"), { "type": "Video" }])), "element 2: its type"),
            (card(json!([{ "type": "TextBlock" }])), "needs text"),
            (card(json!([{ "type": "Container", "items": [{ "type": "X" }] }])), "element 1: its type"),
            (card(json!([deep])), "too deep"),
            (
                card(
                    json!([{ "type": "ActionSet", "actions": vec![json!({ "type": "Action.Submit" }); 7] }]),
                ),
                "7 actions",
            ),
            (json!({ "type": "AdaptiveCard", "version": "2.0", "body": [block("x")] }), "version"),
            (json!({ "type": "AdaptiveCard", "body": [block("x")], "refresh": {} }), "refresh is no member"),
            (
                json!({ "type": "AdaptiveCard", "body": [block("x")], "msteams": { "entities": [] } }),
                "call people",
            ),
            (
                json!({ "type": "AdaptiveCard", "body": [block("x")], "actions": [{ "type": "Action.Execute" }] }),
                "action 1",
            ),
            (
                card(
                    json!([{ "type": "ActionSet", "actions": [{ "type": "Action.OpenUrl", "url": "javascript:x" }] }]),
                ),
                "https://",
            ),
            (
                card(
                    json!([{ "type": "ActionSet", "actions": [{ "type": "Action.Submit", "data": { "msteams": {} } }] }]),
                ),
                "for a person",
            ),
        ] {
            let said = check(&card).unwrap_err();
            assert!(said.contains(why), "{card}: {said}");
        }
    }
}

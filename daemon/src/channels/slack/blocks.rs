//! What a message is made of where text alone does not do: sections of it, rows of buttons, lists, a poll's stand-in.
//!
//! Where a message has blocks, Slack shows them and not its text, which then is what a notification reads; so the text
//! goes into sections, cut where it shows least.

use serde_json::{Value, json};

use super::card::verbatim;
use crate::{
    message::operation::{Button, Extras, Poll, Press, Select},
    render::Part,
};

/// <https://docs.slack.dev/reference/block-kit/blocks/section-block>: 3,000 characters.
const SECTION: usize = 3000;

const FENCE: &str = "```";

/// The blocks of a text and what goes with it, or none where the text alone will do: a notification would read all of it, so
/// one with spoilers is in blocks.
pub(super) fn of(part: &Part, extras: &Extras) -> Option<Value> {
    if extras.is_empty() && part.preview.is_none() {
        return None;
    }
    let mut blocks: Vec<Value> = sections(&part.text)
        .into_iter()
        .map(
            |text| json!({ "type": "section", "text": { "type": "mrkdwn", "text": text, "verbatim": true } }),
        )
        .collect();
    match &extras.card {
        Some(Value::Array(card)) => blocks.extend(card.iter().cloned().map(verbatim)),
        Some(card) => {
            blocks.extend(card["blocks"].as_array().into_iter().flatten().cloned().map(verbatim));
        }
        None => {}
    }
    blocks.extend(extras.buttons.iter().enumerate().map(|(row, buttons)| {
        let elements: Vec<Value> = buttons
            .iter()
            .enumerate()
            .map(|(n, pressed)| button(&format!("button_{row}_{n}"), pressed))
            .collect();
        json!({ "type": "actions", "elements": elements })
    }));
    blocks.extend(extras.selects.iter().map(|list| json!({ "type": "actions", "elements": [select(list)] })));
    Some(Value::Array(blocks))
}

/// A poll's stand-in: its question, and a button for each answer.
pub(super) fn poll(poll: &Poll) -> Value {
    let answers: Vec<Value> = poll
        .options
        .iter()
        .enumerate()
        .map(|(n, option)| {
            let pressed = Button { text: option.clone(), press: Press::Data(format!("poll:{n}")) };
            button(&format!("poll_{n}"), &pressed)
        })
        .collect();
    json!([
        { "type": "section", "text": plain(&poll.question) },
        { "type": "actions", "elements": answers },
    ])
}

fn button(id: &str, button: &Button) -> Value {
    let mut element = json!({ "type": "button", "action_id": id, "text": plain(&button.text) });
    match &button.press {
        Press::Data(data) => element["value"] = json!(data),
        Press::Url(url) => element["url"] = json!(url),
        // Admission refuses them for this channel.
        Press::Form(_) => {}
    }
    element
}

fn select(select: &Select) -> Value {
    let options: Vec<Value> = select
        .options
        .iter()
        .map(|choice| json!({ "text": plain(&choice.label), "value": choice.value }))
        .collect();
    let mut element = json!({ "type": "static_select", "action_id": select.id, "options": options });
    if let Some(placeholder) = &select.placeholder {
        element["placeholder"] = plain(placeholder);
    }
    element
}

/// Text in which no sign means anything; `emoji` off leaves `:name:` as it is written.
fn plain(text: &str) -> Value {
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

/// A text in pieces that a section takes. Slack does not say what it counts; bytes are never fewer. It is cut at the last
/// line break that fits, a fence closed and opened again; a line too long for a section at its last space.
fn sections(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut fenced = false;
    while !rest.is_empty() {
        let opening = if fenced { "```\n" } else { "" };
        let room = SECTION - 2 * (FENCE.len() + 1);
        if rest.len() <= room {
            pieces.push(format!("{opening}{rest}"));
            break;
        }
        let fits = &rest[..rest.floor_char_boundary(room)];
        let at = fits.rfind('\n').or_else(|| fits.rfind(' ')).filter(|&at| at > 0).unwrap_or(fits.len());
        let piece = &rest[..at];
        fenced ^= piece.matches(FENCE).count() % 2 == 1;
        let closing = if fenced { "\n```" } else { "" };
        pieces.push(format!("{opening}{piece}{closing}"));
        rest = rest[at..].strip_prefix(['\n', ' ']).unwrap_or(&rest[at..]);
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::testing::sample::part;
    use crate::message::operation::Choice;

    #[test]
    fn text_alone_needs_no_blocks() {
        assert_eq!(of(&part("Hello"), Extras::NONE), None);
    }

    #[test]
    fn buttons_and_lists_stand_beneath_the_text() {
        let extras = Extras {
            buttons: vec![
                vec![Button { text: "Yes".into(), press: Press::Data("y".into()) }],
                vec![Button { text: "See".into(), press: Press::Url("https://a.test/".into()) }],
            ],
            selects: vec![Select {
                id: "day".into(),
                placeholder: Some("When?".into()),
                options: vec![Choice { label: "Monday".into(), value: "1".into() }],
            }],
            ..Extras::default()
        };
        let plain = |text: &str| json!({ "type": "plain_text", "text": text, "emoji": false });
        assert_eq!(
            of(&part("*Tea?*"), &extras).unwrap(),
            json!([
                { "type": "section", "text": { "type": "mrkdwn", "text": "*Tea?*", "verbatim": true } },
                { "type": "actions", "elements": [
                    { "type": "button", "action_id": "button_0_0", "text": plain("Yes"), "value": "y" },
                ] },
                { "type": "actions", "elements": [
                    { "type": "button", "action_id": "button_1_0", "text": plain("See"), "url": "https://a.test/" },
                ] },
                { "type": "actions", "elements": [{
                    "type": "static_select", "action_id": "day", "placeholder": plain("When?"),
                    "options": [{ "text": plain("Monday"), "value": "1" }],
                }] },
            ])
        );
    }

    #[test]
    fn a_card_is_its_blocks_in_either_form() {
        let blocks = |verbatim: bool| {
            let text = json!({ "type": "mrkdwn", "text": "@here", "verbatim": verbatim });
            json!([{ "type": "divider" }, { "type": "section", "text": text }])
        };
        for card in [blocks(false), json!({ "blocks": blocks(false) })] {
            let extras = Extras { card: Some(card), ..Extras::default() };
            assert_eq!(of(&part(""), &extras).unwrap(), blocks(true), "a word in it calls nobody");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_lines_and_its_fences_are_whole() {
        let code: String = (0..400).map(|n| format!("line {n}\n")).collect();
        let text = format!("Before\n```\n{code}```\nafter {}", "ä ".repeat(2000));
        let pieces = sections(&text);
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() <= SECTION), "{pieces:#?}");
        assert!(pieces.iter().all(|piece| piece.matches(FENCE).count() % 2 == 0), "{pieces:#?}");
        let lines = |text: &str| {
            text.lines().filter(|line| line.starts_with("line")).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(lines(&pieces.join("\n")), lines(&text));
        assert_eq!(pieces.concat().matches('ä').count(), 2000);
        assert_eq!(sections(&"x".repeat(7000)).concat().len(), 7000);
    }
}

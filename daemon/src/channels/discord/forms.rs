//! Forms: Discord's modals, opened in answer to a press on a button of ours
//! (<https://docs.discord.com/developers/interactions/receiving-and-responding>).
//!
//! A button carries the part that it belongs to in its id; the form itself stays with the stored request, where it was
//! approved. What people do with one comes over the Gateway, and is answered there.

use serde_json::{Map, Value, json};

use crate::{channels::PartKey, message::form::Form};

/// What the id of a button begins with that opens a form. No other button of the hub's has one that does.
pub(super) const PREFIX: &str = "gatepost:form:";

/// <https://docs.discord.com/developers/components/reference#component-object-component-types>.
const TEXT_INPUT: u8 = 4;
const LABEL: u8 = 18;

/// The id of a button in a request that is stored, and in one that leaves.
pub(super) fn stored_id(form: usize) -> String {
    format!("{PREFIX}{form}")
}

/// The id of a button that leaves, and of the form that it opens.
pub(super) fn id(key: &PartKey, form: usize) -> String {
    format!("{PREFIX}{}:{form}", key.0)
}

/// Puts the part's key into the ids of the buttons that open its forms.
pub(super) fn named(body: &mut Map<String, Value>, forms: usize, key: &PartKey) {
    let rows = body.get_mut("components").and_then(Value::as_array_mut).into_iter().flatten();
    let buttons = rows.filter_map(|row| row.get_mut("components")?.as_array_mut()).flatten();
    for button in buttons {
        let which = (0..forms).find(|form| button["custom_id"] == stored_id(*form));
        if let Some(form) = which {
            button["custom_id"] = id(key, form).into();
        }
    }
}

/// What Discord will not take of a form: it says so only when somebody has pressed the button.
///
/// <https://docs.discord.com/developers/components/reference#text-input>: `value` has at least `min_length` characters, and a
/// line has no line break. What is longer than its max is refused for every channel.
pub(super) fn unfit(form: &Form) -> Option<String> {
    form.fields.iter().find_map(|field| {
        let value = field.value.as_deref()?;
        let (length, name) = (value.chars().count(), &field.name);
        let fewest = usize::from(field.min.unwrap_or(0));
        if value.contains('\n') && !field.long {
            Some(format!(
                "the value of the field {name:?} has several lines, and the field one: give it long: true"
            ))
        } else if length < fewest {
            Some(format!(
                "the value of the field {name:?} has {length} characters, fewer than its min of {fewest}"
            ))
        } else {
            None
        }
    })
}

/// The part and the number of its form that an id names; nothing, where it is none of ours.
pub(super) fn named_by(id: &str) -> Option<(PartKey, usize)> {
    let (key, form) = id.strip_prefix(PREFIX)?.split_once(':')?;
    let is_key = key.len() == 32 && key.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    Some((PartKey(is_key.then(|| key.to_owned())?), form.parse().ok()?))
}

/// <https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal>.
pub(super) fn modal(form: &Form, id: &str) -> Value {
    // <https://docs.discord.com/developers/components/reference#text-input-text-input-styles>: 1 is a line, 2 are several.
    let fields = form.fields.iter().map(|field| {
        let mut input = json!({
            "type": TEXT_INPUT, "custom_id": field.name, "style": if field.long { 2 } else { 1 }, "required": field.required,
        });
        let more = [
            ("min_length", field.min.map(Value::from)),
            ("max_length", field.max.map(Value::from)),
            ("placeholder", field.placeholder.as_deref().map(Value::from)),
            ("value", field.value.as_deref().map(Value::from)),
        ];
        for (name, value) in more {
            value.into_iter().for_each(|value| input[name] = value);
        }
        json!({"type": LABEL, "label": field.label, "component": input})
    });
    json!({"custom_id": id, "title": form.title, "components": fields.collect::<Vec<_>>()})
}

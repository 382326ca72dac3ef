//! What people press, choose and enter in cards
//! (<https://developers.google.com/workspace/chat/read-form-data>).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::cards::{PRESSED, VOTED},
    event::{About, Draft},
};
use crate::{
    channels::received::{Dropped, Event, unreadable},
    message::form::Entry,
};

/// Fields of one card that are told, and choices of one of them.
const MOST: usize = 50;
/// The longest name of a field, and what was entered into one, in characters.
const MAX_NAME: usize = 100;
const MAX_VALUE: usize = 4_000;

/// Reads one.
///
/// # Errors
/// It does not say which button of which message.
pub(super) fn read(event: &Value, about: &About<'_>) -> Result<Draft, Dropped> {
    let card = about.message_name().ok_or_else(|| unreadable("CARD_CLICKED"))?;
    let (action, common) = (&event["action"], &event["common"]);
    let function = [&action["actionMethodName"], &action["function"], &common["invokedFunction"]];
    let function = function.into_iter().find_map(Value::as_str).ok_or_else(|| unreadable("CARD_CLICKED"))?;
    let mut given = parameters(action, common);
    let entered = inputs(&common["formInputs"]);
    let mut draft = about.about(None, Some(card.clone()), Event::Join)?;
    let author = &draft.received.author;
    let ours = matches!(function, PRESSED | VOTED).then(|| given.remove("data")).flatten();
    draft.received.event = match (function, ours) {
        // Its options count from zero; people count from one.
        (VOTED, Some(data)) => {
            let option = data.parse::<u32>().map_err(|_| unreadable("CARD_CLICKED"))?;
            Event::Vote { options: vec![option.saturating_add(1).to_string()] }
        }
        (_, Some(data)) if entered.is_empty() => Event::Press { data },
        (_, None) if entered.is_empty() && given.is_empty() => Event::Press { data: function.to_owned() },
        (function, data) => {
            given.extend(entered);
            Event::Entry(Entry {
                form: clipped(data.as_deref().unwrap_or(function), MAX_NAME),
                by: author.id.clone(),
                name: author.name.clone().unwrap_or_default(),
                message: Some(card),
                values: given,
            })
        }
    };
    draft.received.mentions_me = true;
    Ok(draft)
}

/// What the button's maker put into it: a list in the one place, an object in the other.
fn parameters(action: &Value, common: &Value) -> BTreeMap<String, String> {
    let listed = action["parameters"].as_array().into_iter().flatten();
    let listed = listed.filter_map(|one| Some((one["key"].as_str()?, one["value"].as_str()?)));
    let named = common["parameters"].as_object().into_iter().flatten();
    let named = named.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let all = listed.chain(named).take(MOST);
    all.map(|(name, value)| (clipped(name, MAX_NAME), clipped(value, MAX_VALUE))).collect()
}

/// What stands in a card's fields, each as text.
fn inputs(fields: &Value) -> BTreeMap<String, String> {
    let fields = fields.as_object().into_iter().flatten().take(MOST);
    let value = |field: &Value| match field["stringInputs"]["value"].as_array() {
        Some(all) => all.iter().filter_map(Value::as_str).take(MOST).collect::<Vec<_>>().join(", "),
        // A date or a time, as Google writes it.
        None => field.as_object().and_then(|field| field.values().next()).unwrap_or(field).to_string(),
    };
    fields.map(|(name, field)| (clipped(name, MAX_NAME), clipped(&value(field), MAX_VALUE))).collect()
}

fn clipped(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

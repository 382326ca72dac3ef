//! What people press, choose and enter in cards: a message without words, whose `value` is the data of the card's `Action.Submit` with
//! what stands in the card's inputs
//! (<https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-actions#actionsubmit>).
//!
//! Whether the card is one of an agent's, and of which, its message's id says, which the router knows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::activity::{About, Draft, id};
use crate::{
    channels::{
        received::{Dropped, Event, unreadable},
        teams::cards::{OURS, POLL, POLL_ANSWER},
    },
    message::form::Entry,
};

/// Inputs of one card that are told, and choices of one poll.
const MOST: usize = 50;
/// The longest name of an input, and what was entered into one, in characters.
const MAX_NAME: usize = 100;
const MAX_VALUE: usize = 4_000;

/// Whether a message is one.
pub(super) fn is_one(activity: &Value) -> bool {
    activity["value"].as_object().is_some_and(|value| !value.is_empty())
        && activity["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

/// Reads one.
///
/// # Errors
/// It does not say under which message.
pub(super) fn read(activity: &Value, about: &About<'_>) -> Result<Vec<Draft>, Dropped> {
    let card = id(&activity["replyToId"]).ok_or_else(|| unreadable("press"))?;
    let value = activity["value"].as_object().ok_or_else(|| unreadable("press"))?;
    let mut draft = about.draft(None, &about.name(), Some(card.clone()), Event::Join)?;
    let author = &draft.received.author;
    draft.received.event = match (value.get(OURS).and_then(Value::as_str), value.get(POLL_ANSWER)) {
        (Some(POLL), Some(answer)) => Event::Vote { options: chosen(answer) },
        (Some(data), _) if value.len() == 1 => Event::Press { data: data.to_owned() },
        (data, _) => Event::Entry(Entry {
            form: clipped(data.unwrap_or("card"), MAX_NAME),
            by: author.id.clone(),
            name: author.name.clone().unwrap_or_default(),
            message: Some(card),
            values: entered(value),
        }),
    };
    draft.received.mentions_me = true;
    Ok(vec![draft])
}

/// What was chosen in a poll's card, whose options count from zero; people count from one.
fn chosen(answer: &Value) -> Vec<String> {
    let numbers = answer.as_str().unwrap_or_default().split(',');
    let numbers = numbers.filter_map(|number| number.trim().parse::<u32>().ok()).take(MOST);
    numbers.map(|number| number.saturating_add(1).to_string()).collect()
}

/// What stands in a card's inputs, and what its maker put into the button.
fn entered(value: &Map<String, Value>) -> BTreeMap<String, String> {
    let fields = value.iter().filter(|(name, _)| *name != OURS && *name != "msteams").take(MOST);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.map(|(name, value)| (clipped(name, MAX_NAME), clipped(&text(value), MAX_VALUE))).collect()
}

fn clipped(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

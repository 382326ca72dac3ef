//! What a call wants done: its operation, from the parameters of its action.

use serde_json::Value;

use super::{
    action::Action,
    bounds::{self, MAX_BUTTON_DATA, MAX_CARD_BYTES, MAX_CHOICE},
    form::Form,
    given::{Given, clip, line, member, missing, object, wrong_type, wrong_value},
    operation::{Button, Choice, Extras, Operation, Poll, Presence, Press, Select},
    refusal::{Code, Refusal},
};

/// The operation of an action. `reply_to` is what it answers, `thread` where.
pub(super) fn operation(given: Given<'_>, action: Action) -> Result<Operation, Refusal> {
    let message = || given.needed("messageId", action);
    let user = || given.needed("userId", action);
    let reason = || given.short("reason");
    Ok(match action {
        Action::Send
        | Action::Broadcast
        | Action::Reply
        | Action::ThreadReply
        | Action::SendAttachment
        | Action::Ask => Operation::Send(extras(given)?),
        Action::SendWithEffect => {
            Operation::Send(Extras { effect: Some(given.needed("effect", action)?), ..Extras::default() })
        }
        Action::Poll => Operation::Poll(poll(given)?),
        Action::Thread => Operation::Thread {
            name: given.needed("threadName", action)?,
            message: given.short("messageId")?,
        },
        Action::React => Operation::React {
            message: message()?,
            emoji: given.needed("emoji", action)?,
            remove: given.flag("remove")?,
        },
        Action::Edit => Operation::Edit { message: message()? },
        Action::Delete => Operation::Delete { message: message()? },
        Action::Pin => Operation::Pin { message: message()? },
        Action::Unpin => Operation::Unpin { message: message()? },
        Action::Timeout => {
            let minutes =
                given.number("durationMinutes")?.ok_or_else(|| missing("durationMinutes", action))?;
            Operation::Timeout { user: user()?, seconds: minutes * 60, reason: reason()? }
        }
        Action::Kick => Operation::Kick { user: user()?, reason: reason()? },
        Action::Ban => Operation::Ban { user: user()?, reason: reason()? },
        Action::SetPresence => {
            let status = match given.text("status")?.as_deref() {
                Some("online") => Presence::Online,
                Some("away") => Presence::Away,
                Some("busy") => Presence::Busy,
                Some("offline") => Presence::Offline,
                Some(_) => {
                    return Err(wrong_type("status", "\"online\", \"away\", \"busy\" or \"offline\""));
                }
                None => return Err(missing("status", action)),
            };
            Operation::Presence { status, text: given.short("statusText")? }
        }
    })
}

fn extras(given: Given<'_>) -> Result<Extras, Refusal> {
    let buttons = given.list("buttons", bounds::MOST_ROWS)?;
    let selects = given.list("selects", bounds::MOST_SELECTS)?;
    let card = match given.value("card")? {
        None => None,
        Some(card @ Value::Object(_)) if card.to_string().len() <= MAX_CARD_BYTES => Some(card.clone()),
        Some(Value::Object(_)) => {
            let error = format!("the card has more than {MAX_CARD_BYTES} bytes");
            return Err(Refusal::new(Code::TooLarge, error, "shorten it"));
        }
        Some(other) => return Err(wrong_value("card", other, "a JSON object")),
    };
    Ok(Extras {
        buttons: buttons.map(|rows| rows.iter().map(row).collect()).transpose()?.unwrap_or_default(),
        selects: selects.map(|lists| lists.iter().map(select).collect()).transpose()?.unwrap_or_default(),
        card,
        effect: None,
    })
}

fn row(value: &Value) -> Result<Vec<Button>, Refusal> {
    let written = "[[{\"text\": …, \"callback_data\": …}]]: an array of rows, each an array of buttons";
    match value.as_array() {
        Some(row) if !row.is_empty() && row.len() <= bounds::MOST_BUTTONS => row.iter().map(button).collect(),
        _ => Err(Refusal::input("\"buttons\" is not rows of buttons", format!("write {written}"))
            .because("wrong_type")),
    }
}

fn button(value: &Value) -> Result<Button, Refusal> {
    let members = object("buttons", value, &["text", "callback_data", "url", "form"])?;
    let press = match (members.get("callback_data"), members.get("url"), members.get("form")) {
        (Some(data), None, None) => {
            let data = data.as_str().filter(|data| (1..=MAX_BUTTON_DATA).contains(&data.chars().count()));
            Press::Data(
                data.ok_or_else(|| {
                    wrong_type("callback_data", &format!("a string of 1 to {MAX_BUTTON_DATA} characters"))
                })?
                .to_owned(),
            )
        }
        (None, Some(url), None) => {
            let url = url.as_str().filter(|url| url.starts_with("https://") || url.starts_with("http://"));
            let url = url.ok_or_else(|| wrong_type("url", "an http or https address"))?;
            Press::Url(line("url", url, bounds::MAX_BUTTON_URL)?)
        }
        (None, None, Some(form)) => Press::Form(Form::parse(form)?),
        _ => {
            let error = "a button has exactly one of \"callback_data\", \"url\" and \"form\"";
            return Err(
                Refusal::input(error, "write {\"text\": …, \"callback_data\": …}").because("contradictory")
            );
        }
    };
    Ok(Button { text: member("text", members, bounds::MAX_BUTTON_TEXT)?, press })
}

fn select(value: &Value) -> Result<Select, Refusal> {
    let members = object("selects", value, &["id", "placeholder", "options"])?;
    let options = members.get("options").and_then(Value::as_array);
    let options = options
        .filter(|options| (1..=bounds::MOST_CHOICES).contains(&options.len()))
        .ok_or_else(|| wrong_type("options", "an array of {label, value}"))?;
    let choice = |value: &Value| {
        let members = object("options", value, &["label", "value"])?;
        Ok(Choice {
            label: member("label", members, MAX_CHOICE)?,
            value: member("value", members, MAX_CHOICE)?,
        })
    };
    Ok(Select {
        id: member("id", members, bounds::MAX_SELECT_ID)?,
        placeholder: members
            .contains_key("placeholder")
            .then(|| member("placeholder", members, bounds::MAX_SELECT_PLACEHOLDER))
            .transpose()?,
        options: options.iter().map(choice).collect::<Result<_, Refusal>>()?,
    })
}

fn poll(given: Given<'_>) -> Result<Poll, Refusal> {
    let hours = given.number("pollDurationHours")?.map(|hours| hours * 3600);
    let seconds = given.number("pollDurationSeconds")?;
    if hours.is_some() && seconds.is_some() {
        let error = "\"pollDurationHours\" and \"pollDurationSeconds\" both say how long";
        return Err(Refusal::input(error, "give one of them").because("contradictory"));
    }
    let options = given.texts("pollOption")?.ok_or_else(|| missing("pollOption", Action::Poll))?;
    if options.len() < 2 {
        let error = "a poll has two answers at least";
        return Err(Refusal::input(error, "give \"pollOption\" as [\"one\", \"other\"]").because("too_few"));
    }
    if let Some(twice) = options.iter().enumerate().find(|(n, option)| options[n + 1..].contains(option)) {
        let error = format!("the poll has the answer {:?} twice", clip(twice.1));
        return Err(Refusal::input(error, "give each answer once").because("contradictory"));
    }
    Ok(Poll {
        question: given.needed("pollQuestion", Action::Poll)?,
        options,
        multiple: given.flag("pollMulti")?,
        seconds: hours.or(seconds),
        anonymous: given.choice("pollAnonymous")?,
    })
}

#[cfg(test)]
mod tests;

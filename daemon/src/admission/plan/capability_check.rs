//! Whether a platform can do what a call asks, by its capabilities alone; refused on admission, with what it can instead.

use gatepost_chunk::Unit;

use crate::{
    channels::Capabilities,
    message::{
        action::Action,
        call::Call,
        form::Form,
        operation::{Button, Extras, Operation, Poll, Press, Select},
        refusal::{Code, Refusal},
    },
};

/// Refuses a call that its channel cannot do.
pub(super) fn check(can: &Capabilities, call: &Call) -> Result<(), Refusal> {
    let channel = can.channel;
    if call.reply_to.is_some() && !can.replies {
        return Err(without(channel, "replies", "leave replyToId out, and say in the text what you answer"));
    }
    if call.silent && !can.silent {
        return Err(without(channel, "silent messages", "leave silent out"));
    }
    if !call.attachments.is_empty() && can.files.is_none() {
        return Err(without(channel, "files", "put what matters into the text, or send a link to it"));
    }
    match &call.operation {
        Operation::Send(extras) => dressed(can, extras),
        Operation::Poll(poll) => polled(can, poll),
        operation if !can.does(operation.action()) => Err(lacks(can, operation.action())),
        Operation::Presence { text: Some(text), .. } => {
            long(can, "statusText", text, can.status_text, Unit::CodePoints)
        }
        Operation::Thread { name, .. } => long(can, "threadName", name, can.thread_name, Unit::CodePoints),
        _ => Ok(()),
    }
}

/// The channel has no such action.
pub(super) fn lacks(can: &Capabilities, action: Action) -> Refusal {
    let error = format!("{} has no action {:?}", can.channel, action.word());
    Refusal::input(error, can.instead_of(action)).because("not_supported")
}

/// The words of all that a channel can do, the tool's own order.
pub fn actions(can: &Capabilities) -> Vec<&'static str> {
    let has = |action: Action| match action {
        Action::Send | Action::Broadcast => true,
        Action::Reply => can.replies,
        Action::ThreadReply => can.threads,
        Action::SendWithEffect => !can.effects.is_empty(),
        Action::SendAttachment => can.files.is_some(),
        Action::Poll => can.polls.is_some(),
        other => can.does(other),
    };
    Action::ALL.iter().copied().filter(|&action| has(action)).map(Action::word).collect()
}

/// The channel has nothing of a kind.
pub(super) fn without(channel: &str, what: &str, hint: &str) -> Refusal {
    Refusal::input(format!("{channel} has no {what}"), hint).because("not_supported")
}

fn dressed(can: &Capabilities, extras: &Extras) -> Result<(), Refusal> {
    if let Some(effect) = &extras.effect {
        if can.effects.is_empty() {
            return Err(lacks(can, Action::SendWithEffect));
        }
        if !can.effects.contains(&effect.as_str()) {
            let error = format!("{} has no effect {effect:?}", can.channel);
            let hint = format!("effects are: {}", can.effects.join(", "));
            return Err(Refusal::input(error, hint).because("not_supported"));
        }
    }
    if !extras.buttons.is_empty() {
        buttons(can, &extras.buttons)?;
    }
    if !extras.selects.is_empty() {
        selects(can, &extras.selects)?;
    }
    if let Some(card) = &extras.card {
        let Some(rules) = can.cards else {
            return Err(without(can.channel, "cards", "write its content as text"));
        };
        over(can, "the card", card.to_string().len(), rules.max_bytes, "bytes")?;
        (rules.check)(card).map_err(|wrong| {
            Refusal::input(format!("the card is not {}: {wrong}", rules.what), "mend the card")
                .because("bad_card")
        })?;
    }
    Ok(())
}

fn buttons(can: &Capabilities, rows: &[Vec<Button>]) -> Result<(), Refusal> {
    let Some(rules) = can.buttons else {
        let hint = "write the choices into the text, as a numbered list";
        return Err(without(can.channel, "buttons", hint));
    };
    over(can, "rows of buttons", rows.len(), rules.rows, "rows")?;
    over(can, "buttons", rows.iter().map(Vec::len).sum(), rules.in_all, "buttons")?;
    for row in rows {
        over(can, "a row", row.len(), rules.per_row, "buttons")?;
        for button in row {
            long(can, "the text of a button", &button.text, rules.text, Unit::CodePoints)?;
            match &button.press {
                Press::Url(_) if rules.url == 0 => {
                    let hint = "write the link into the text";
                    return Err(without(can.channel, "buttons that open an address", hint));
                }
                Press::Url(url) => long(can, "the url of a button", url, rules.url, Unit::CodePoints)?,
                Press::Form(form) => self::form(can, form)?,
                Press::Data(_) if rules.data == 0 => {
                    let hint = "give buttons an url";
                    return Err(without(can.channel, "buttons that tell the bot something", hint));
                }
                Press::Data(data) => long(can, "callback_data", data, rules.data, rules.data_unit)?,
            }
        }
    }
    Ok(())
}

fn form(can: &Capabilities, form: &Form) -> Result<(), Refusal> {
    let rules = can.forms.map_err(|instead| without(can.channel, "buttons that open a form", instead))?;
    over(can, "a form", form.fields.len(), rules.fields, "fields")?;
    let long = |what, text: &str, most| long(can, what, text, most, Unit::CodePoints);
    long("the title of a form", &form.title, rules.title)?;
    for field in &form.fields {
        long("the label of a field", &field.label, rules.label)?;
        long("the name of a field", &field.name, rules.name)?;
        long("a placeholder", field.placeholder.as_deref().unwrap_or_default(), rules.placeholder)?;
        let value = field.value.as_deref().unwrap_or_default();
        long("the value of a field", value, rules.value.min(field.most()))?;
        over(can, "the max of a field", field.max.unwrap_or(0).into(), rules.value, "characters")?;
    }
    Ok(())
}

fn selects(can: &Capabilities, lists: &[Select]) -> Result<(), Refusal> {
    let Some(rules) = can.selects else {
        let hint = "use buttons, or write the choices into the text";
        return Err(without(can.channel, "lists to choose from", hint));
    };
    over(can, "lists to choose from", lists.len(), rules.in_all, "lists")?;
    let long = |what, text: &str, most| long(can, what, text, most, Unit::CodePoints);
    for list in lists {
        over(can, "a list", list.options.len(), rules.options, "choices")?;
        long("a list's id", &list.id, rules.id)?;
        long("a placeholder", list.placeholder.as_deref().unwrap_or_default(), rules.placeholder)?;
        for choice in &list.options {
            long("a choice", &choice.label, rules.text)?;
            long("a choice's value", &choice.value, rules.text)?;
        }
    }
    Ok(())
}

pub(super) fn polled(can: &Capabilities, poll: &Poll) -> Result<(), Refusal> {
    let Some(rules) = can.polls else { return Err(lacks(can, Action::Poll)) };
    over(can, "the poll", poll.options.len(), rules.options, "answers")?;
    long(can, "the question", &poll.question, rules.question, rules.unit)?;
    for option in &poll.options {
        long(can, "an answer", option, rules.option, rules.unit)?;
    }
    if poll.multiple && !rules.multiple {
        return Err(without(can.channel, "polls with several answers", "leave pollMulti out"));
    }
    match poll.seconds {
        Some(_) if rules.seconds == 0 => {
            let hint = "leave pollDurationHours and pollDurationSeconds out";
            return Err(without(can.channel, "polls that end by themselves", hint));
        }
        Some(seconds) if seconds > rules.seconds => {
            let error = format!("a poll on {} is open for {} s at most", can.channel, rules.seconds);
            return Err(Refusal::input(error, "make it shorter").because("not_supported"));
        }
        _ => {}
    }
    if poll.anonymous.is_some() && !rules.anonymous {
        let hint = "leave pollAnonymous out";
        return Err(without(can.channel, "choice of whether a poll is anonymous", hint));
    }
    Ok(())
}

/// Refuses a text that is longer than the platform takes, in its unit.
fn long(can: &Capabilities, what: &str, text: &str, most: usize, unit: Unit) -> Result<(), Refusal> {
    let word = match unit {
        Unit::Bytes => "bytes",
        Unit::Utf16 => "UTF-16 units",
        Unit::CodePoints | Unit::Graphemes => "characters",
    };
    over(can, what, unit.count(text), most, word)
}

fn over(can: &Capabilities, what: &str, is: usize, most: usize, unit: &str) -> Result<(), Refusal> {
    if is <= most {
        return Ok(());
    }
    let error = format!("{what}: {is} {unit}, and {} takes {most} at most", can.channel);
    Err(Refusal::new(Code::InputInvalid, error, "use fewer or shorter ones").because("over_the_bound"))
}

#[cfg(test)]
mod tests;

//! The parameters of the `message` tool: one table, from which calls are read, refused and described.
//!
//! What is unknown, or does not go with the action, is refused with the way to write it: a parameter that is silently
//! dropped is a message that arrives otherwise than it was meant.

use serde_json::{Map, Value};

use super::{
    action::Action::{self, *},
    aliases, bounds,
    refusal::Refusal,
    target::{MAX_ADDRESS, fits_an_id},
};
use crate::spelling::nearest;

/// What a parameter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The action's word.
    Action,
    /// Text of any length that is taken.
    Text,
    /// An id: at most [`MAX_ADDRESS`] characters, without control characters. A number is read as its digits.
    Short,
    /// Words on one line, at most so many characters.
    Line(usize),
    /// True or false.
    Flag,
    /// A whole number, from the first to the second.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Ids, at most so many.
    Texts(usize),
    /// Lines, at most so many, each of at most so many characters.
    Lines(usize, usize),
    /// Files.
    Files,
    /// One file.
    File,
    /// Rows of buttons.
    Buttons,
    /// Lists to choose from.
    Selects,
    /// The platform's own JSON.
    Object,
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name, then the names that agents know from other tools.
    pub names: &'static [&'static str],
    /// What it holds.
    pub holds: Holds,
    /// The actions that take it; all, where none is named.
    pub of: &'static [Action],
    /// What it is, for whoever calls.
    pub about: &'static str,
}

const fn parameter(
    names: &'static [&'static str],
    holds: Holds,
    of: &'static [Action],
    about: &'static str,
) -> Parameter {
    Parameter { names, holds, of, about }
}

/// Those that make a new message of text and files.
const SENDING: &[Action] = &[Send, Broadcast, Reply, ThreadReply, SendWithEffect, SendAttachment];
const ANSWERING: &[Action] = &[Send, Broadcast, Reply, ThreadReply, SendWithEffect, SendAttachment, Poll];
const WRITING: &[Action] =
    &[Send, Broadcast, Reply, ThreadReply, SendWithEffect, SendAttachment, Poll, Thread, Edit];
const ABOUT_A_MESSAGE: &[Action] = &[Reply, Thread, React, Edit, Delete, Pin, Unpin];
const ABOUT_A_PERSON: &[Action] = &[Timeout, Kick, Ban];
const SOMEWHERE: &[Action] = &[
    Send,
    Reply,
    ThreadReply,
    Thread,
    React,
    Poll,
    Edit,
    Delete,
    Pin,
    Unpin,
    Timeout,
    Kick,
    Ban,
    SendWithEffect,
    SendAttachment,
];
/// Those under which buttons, lists and cards stand.
const DRESSED: &[Action] = &[Send, Broadcast, Reply, ThreadReply];

/// The longest that a person may be kept from writing: what Discord takes, 28 days.
const LONGEST_TIMEOUT: u64 = 28 * 24 * 60;
/// The longest poll: what Discord takes, 32 days.
const LONGEST_POLL: u64 = 32 * 24;
/// The longest that a call may wait for its end.
pub const LONGEST_WAIT: u64 = 600;
/// The most targets of a broadcast.
pub const MOST_TARGETS: usize = 100;
/// The longest time to live.
const LONGEST_TTL: u64 = 366 * 86_400;

/// All of them.
pub const PARAMETERS: &[Parameter] = &[
    parameter(&["action"], Holds::Action, &[], "What to do; send where it is left out."),
    parameter(&["message", "body", "text"], Holds::Text, WRITING, "The text, in Markdown."),
    parameter(
        &["to", "target"],
        Holds::Short,
        SOMEWHERE,
        "Where to: channel:address, channel:address#thread, a name from the address book, or current.",
    ),
    parameter(
        &["targets"],
        Holds::Texts(MOST_TARGETS),
        &[Broadcast],
        "Where to, several times, each as in `to`.",
    ),
    parameter(
        &["channels"],
        Holds::Texts(MOST_TARGETS),
        &[Broadcast],
        "Channels on which targets without one are tried, each.",
    ),
    parameter(
        &["channel", "platform"],
        Holds::Short,
        &[],
        "The channel, where the target does not begin with it.",
    ),
    parameter(&["accountId"], Holds::Short, &[], "The account to use, where the channel has several."),
    parameter(&["threadId"], Holds::Short, SOMEWHERE, "The thread within the conversation."),
    parameter(
        &["replyToId", "replyTo"],
        Holds::Short,
        ANSWERING,
        "The platform's id of the message to answer.",
    ),
    parameter(
        &["messageId"],
        Holds::Short,
        ABOUT_A_MESSAGE,
        "The platform's id of the message that it is about.",
    ),
    parameter(&["emoji"], Holds::Short, &[React], "The emoji to react with."),
    parameter(&["remove"], Holds::Flag, &[React], "Take the reaction back."),
    parameter(&["pollQuestion"], Holds::Line(bounds::MAX_QUESTION), &[Poll], "The question."),
    parameter(
        &["pollOption", "pollOptions"],
        Holds::Lines(bounds::MOST_ANSWERS, bounds::MAX_ANSWER),
        &[Poll],
        "The answers, two at least.",
    ),
    parameter(&["pollMulti"], Holds::Flag, &[Poll], "Whether a person may choose several answers."),
    parameter(
        &["pollDurationHours"],
        Holds::Number(1, LONGEST_POLL),
        &[Poll],
        "For how many hours it is open.",
    ),
    parameter(
        &["pollDurationSeconds"],
        Holds::Number(5, LONGEST_POLL * 3600),
        &[Poll],
        "For how many seconds it is open.",
    ),
    parameter(&["pollAnonymous"], Holds::Flag, &[Poll], "Whether nobody sees who chose what."),
    parameter(
        &["threadName"],
        Holds::Line(bounds::MAX_THREAD_NAME),
        &[Thread],
        "What the new thread is called.",
    ),
    parameter(
        &["buttons"],
        Holds::Buttons,
        DRESSED,
        "Rows of buttons: [[{text, callback_data}]], or url or form in place of callback_data.",
    ),
    parameter(
        &["selects"],
        Holds::Selects,
        DRESSED,
        "Lists to choose from: [{id, placeholder, options: [{label, value}]}].",
    ),
    parameter(&["card"], Holds::Object, DRESSED, "A card in the platform's own JSON."),
    parameter(&["effect", "effectId"], Holds::Short, &[SendWithEffect], "The effect that it arrives with."),
    parameter(
        &["voice"],
        Holds::File,
        SENDING,
        "A voice message: {path}, {url}, {base64} or {file}, sent after the text.",
    ),
    parameter(
        &["attachments"],
        Holds::Files,
        SENDING,
        "Files: [{path}], [{url}], [{base64}] or [{file}], each with name, mime and caption if need be.",
    ),
    parameter(&["media"], Holds::Files, SENDING, "Files, as URLs or paths; the same as attachments."),
    parameter(&["userId", "user"], Holds::Short, ABOUT_A_PERSON, "The platform's id of the person."),
    parameter(
        &["durationMinutes", "durationMin"],
        Holds::Number(0, LONGEST_TIMEOUT),
        &[Timeout],
        "For how many minutes the person may not write; 0 ends it.",
    ),
    parameter(
        &["reason"],
        Holds::Line(bounds::MAX_REASON),
        ABOUT_A_PERSON,
        "Why, for the platform's own log.",
    ),
    parameter(
        &["status"],
        Holds::Word(&["online", "away", "busy", "offline"]),
        &[SetPresence],
        "The account's status.",
    ),
    parameter(
        &["statusText"],
        Holds::Line(bounds::MAX_STATUS_TEXT),
        &[SetPresence],
        "What it says beside its status.",
    ),
    parameter(&["silent"], Holds::Flag, ANSWERING, "Without a notification."),
    parameter(&["dryRun"], Holds::Flag, &[], "Say exactly what would be sent, and send nothing."),
    parameter(&["context"], Holds::Short, &[], "The token of the conversation that the turn came from."),
    parameter(
        &["wait"],
        Holds::Number(0, LONGEST_WAIT),
        &[],
        "For how many seconds to wait for its end; what is not over by then is told later.",
    ),
    parameter(
        &["ttlSeconds"],
        Holds::Number(1, LONGEST_TTL),
        &[],
        "For how many seconds it may try to arrive.",
    ),
    parameter(
        &["bestEffort"],
        Holds::Flag,
        &[],
        "Try once, and drop it where it would have to be tried again.",
    ),
    parameter(
        &["onUnknown"],
        Holds::Word(&["report", "resend"]),
        &[],
        "What to do when nobody can tell whether it arrived.",
    ),
];

impl Parameter {
    /// Whether an action takes it.
    pub fn goes_with(&self, action: Action) -> bool {
        self.of.is_empty() || self.of.contains(&action)
    }
}

/// What a call gives.
#[derive(Clone, Copy)]
pub(super) struct Given<'a>(&'a Map<String, Value>);

impl<'a> Given<'a> {
    /// Of a call whose parameters are all known.
    pub(super) fn known(fields: &'a Map<String, Value>) -> Result<Self, Refusal> {
        let known = || PARAMETERS.iter().flat_map(|parameter| parameter.names.iter().copied());
        match fields.keys().find(|name| !known().any(|known| known == name.as_str())) {
            None => Ok(Self(fields)),
            Some(unknown) => {
                let error = format!("unknown parameter {:?}", clip(unknown));
                let hint = match (aliases::parameter(unknown), nearest(unknown, known())) {
                    (Some(meant), _) => meant.to_owned(),
                    (None, Some(near)) => format!("did you mean {near:?}?"),
                    (None, None) => format!("parameters are: {}", known().collect::<Vec<_>>().join(", ")),
                };
                Err(Refusal::input(error, hint).because("unknown_parameter"))
            }
        }
    }

    /// Refuses what does not go with the action.
    pub(super) fn go_with(self, action: Action) -> Result<(), Refusal> {
        let stray = PARAMETERS.iter().find(|parameter| {
            let given = |name: &&str| self.0.get(*name).is_some_and(|value| !value.is_null());
            !parameter.goes_with(action) && parameter.names.iter().any(given)
        });
        match stray {
            None => Ok(()),
            Some(stray) => {
                let words: Vec<&str> = stray.of.iter().map(|action| action.word()).collect();
                let error = format!("{:?} does not go with the action {:?}", stray.names[0], action.word());
                let hint = match aliases::stray(stray.names[0], action) {
                    Some(meant) => meant.to_owned(),
                    None => format!("leave it out; it goes with: {}", words.join(", ")),
                };
                Err(Refusal::input(error, hint).because("contradictory"))
            }
        }
    }

    /// The one value of a parameter under any of its names; two that differ contradict each other.
    pub(super) fn value(self, name: &'static str) -> Result<Option<&'a Value>, Refusal> {
        let names = &PARAMETERS
            .iter()
            .find(|parameter| parameter.names[0] == name)
            .expect("only parameters of the table are asked for")
            .names;
        let mut given =
            names.iter().filter_map(|alias| Some((*alias, self.0.get(*alias).filter(|v| !v.is_null())?)));
        let Some((first_name, first)) = given.next() else { return Ok(None) };
        match given.find(|(_, other)| *other != first) {
            None => Ok(Some(first)),
            Some((other, _)) => {
                let error = format!("{first_name:?} and {other:?} mean the same and differ");
                Err(Refusal::input(error, format!("give {first_name:?} alone")).because("contradictory"))
            }
        }
    }

    /// A text.
    pub(super) fn text(self, name: &'static str) -> Result<Option<String>, Refusal> {
        match self.value(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong_type(name, "a string")),
        }
    }

    /// An id or a line. Ids are numbers on some platforms, and models write them so.
    pub(super) fn short(self, name: &'static str) -> Result<Option<String>, Refusal> {
        match (self.value(name)?, holds(name)) {
            (None, _) => Ok(None),
            (Some(Value::Number(number)), _) => Ok(Some(number.to_string())),
            (Some(Value::String(text)), Some(Holds::Line(most))) => line(name, text, most).map(Some),
            (Some(Value::String(text)), _) => short(name, text).map(Some),
            (Some(_), _) => Err(wrong_type(name, "a string")),
        }
    }

    /// An id or a name without which the action is none.
    pub(super) fn needed(self, name: &'static str, action: Action) -> Result<String, Refusal> {
        self.short(name)?.ok_or_else(|| missing(name, action))
    }

    pub(super) fn flag(self, name: &'static str) -> Result<bool, Refusal> {
        self.choice(name).map(Option::unwrap_or_default)
    }

    /// A flag that may be left to somebody else.
    pub(super) fn choice(self, name: &'static str) -> Result<Option<bool>, Refusal> {
        match self.value(name)? {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(wrong_value(name, other, "true or false")),
        }
    }

    pub(super) fn number(self, name: &'static str) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let Some(Holds::Number(least, most)) = holds(name) else { return Ok(None) };
        match value.as_u64().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let refusal = wrong_value(name, value, &format!("a whole number from {least} to {most}"));
                let point = value.as_f64().filter(|_| !value.is_u64() && !value.is_i64());
                Err(match point {
                    Some(_) => Refusal { hint: format!("{}, without a point", refusal.hint), ..refusal },
                    None => refusal,
                })
            }
        }
    }

    /// Ids or lines, as many as the parameter holds.
    pub(super) fn texts(self, name: &'static str) -> Result<Option<Vec<String>>, Refusal> {
        let (most, longest) = match holds(name) {
            Some(Holds::Lines(most, longest)) => (most, Some(longest)),
            Some(Holds::Texts(most)) => (most, None),
            _ => return Ok(None),
        };
        if let Some(Value::String(text)) = self.value(name)?
            && !text.trim_start().starts_with('[')
        {
            // Most likely it is what belongs into it.
            let members: Vec<String> =
                text.split(',').map(|member| format!("{:?}", clip(member.trim()))).take(4).collect();
            let hint = format!("give an array of strings: \"{name}\": [{}]", members.join(", "));
            return Err(Refusal { hint, ..wrong_type(name, "an array") });
        }
        let Some(list) = self.list(name, most)? else { return Ok(None) };
        let text = |value: &Value| match (value, longest) {
            (Value::String(text), Some(longest)) => line(name, text, longest),
            (Value::String(text), None) => short(name, text),
            (Value::Number(number), _) => Ok(number.to_string()),
            _ => Err(wrong_type(name, "an array of strings")),
        };
        list.iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// An array, of at most `most`.
    pub(super) fn list(self, name: &'static str, most: usize) -> Result<Option<&'a Vec<Value>>, Refusal> {
        match self.value(name)? {
            None => Ok(None),
            Some(Value::Array(list)) if list.len() > most => {
                let error = format!("{name:?} has {} members, at most {most} are taken", list.len());
                Err(Refusal::input(error, "give fewer").because("too_many"))
            }
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(wrong_value(name, other, "an array")),
        }
    }
}

/// What a parameter holds.
fn holds(name: &str) -> Option<Holds> {
    PARAMETERS.iter().find(|parameter| parameter.names[0] == name).map(|found| found.holds)
}

/// A line of at most so many characters, checked.
pub(super) fn line(name: &str, text: &str, most: usize) -> Result<String, Refusal> {
    let length = text.chars().count();
    if length > most {
        let error = format!("{name:?} has {length} characters, at most {most} are taken");
        return Err(Refusal::input(error, "write it shorter").because("over_the_bound"));
    }
    if text.trim().is_empty() || text.contains(|c: char| c.is_control()) {
        let error = format!("{name:?} is empty or has control characters");
        return Err(Refusal::input(error, "write it on one line, or leave it out if it may be missing"));
    }
    Ok(text.to_owned())
}

/// An id, checked.
pub(super) fn short(name: &str, text: &str) -> Result<String, Refusal> {
    if text.trim().is_empty() || !fits_an_id(text) || text.contains(|c: char| c.is_control()) {
        let error =
            format!("{name:?} is empty, longer than {MAX_ADDRESS} characters, or has control characters");
        return Err(Refusal::input(
            error,
            "write it shorter, on one line, or leave it out if it may be missing",
        ));
    }
    Ok(text.to_owned())
}

/// A parameter without which the action is none.
pub(super) fn missing(name: &'static str, action: Action) -> Refusal {
    let about = PARAMETERS
        .iter()
        .find(|parameter| parameter.names[0] == name)
        .map_or("", |parameter| parameter.about);
    Refusal::input(format!("the action {:?} needs {name:?}", action.word()), format!("{name}: {about}"))
        .because("missing")
}

pub(super) fn wrong_type(name: &str, expected: &str) -> Refusal {
    Refusal::input(format!("{name:?} is not {expected}"), format!("give {expected}")).because("wrong_type")
}

/// The same for this value. A model that is unsure puts into quotes what has none: then that is said.
pub(super) fn wrong_value(name: &str, value: &Value, expected: &str) -> Refusal {
    let held = value.as_str().and_then(|text| match text.trim() {
        text if text.starts_with('[') => Some("an array"),
        text if text.starts_with('{') => Some("an object"),
        "true" | "false" => Some("true or false"),
        text if text.parse::<f64>().is_ok() => Some("a number"),
        _ => None,
    });
    match held {
        None => wrong_type(name, expected),
        Some(held) => {
            let error = format!("{name:?} is a string that holds {held}");
            Refusal::input(error, format!("give {expected}, without the quotes around it"))
                .because("wrong_type")
        }
    }
}

/// Outside text for an error message: bounded.
pub(super) fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_things_and_every_action_has_its_parameters() {
        let names: Vec<&str> = PARAMETERS.iter().flat_map(|parameter| parameter.names).copied().collect();
        for (n, name) in names.iter().enumerate() {
            assert!(!names[n + 1..].contains(name), "{name}");
        }
        for parameter in PARAMETERS {
            assert!(parameter.about.ends_with('.'), "{}", parameter.names[0]);
        }
        for &action in Action::ALL {
            let own = PARAMETERS.iter().filter(|p| !p.of.is_empty() && p.goes_with(action)).count();
            assert!(own > 0, "{}", action.word());
        }
    }
}

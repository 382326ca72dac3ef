//! What a call gives, read by the table of parameters.
//!
//! What is unknown, or does not go with the action, is refused with the way to write it: a parameter that is silently
//! dropped is a message that arrives otherwise than it was meant.

use serde_json::{Map, Value};

use super::{
    action::Action,
    aliases,
    parameters::{Holds, PARAMETERS, Parameter},
    refusal::Refusal,
    target::{MAX_ADDRESS, fits_an_id},
};
use crate::spelling::nearest;

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
        let names = Parameter::named(name).expect("only parameters of the table are asked for").names;
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
    Parameter::named(name).map(|found| found.holds)
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
    let about = Parameter::named(name).map_or("", |parameter| parameter.about);
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

/// The members of an object that has no others than these.
pub(super) fn object<'a>(
    of: &str,
    value: &'a Value,
    known: &[&str],
) -> Result<&'a Map<String, Value>, Refusal> {
    let members = value
        .as_object()
        .ok_or_else(|| wrong_type(of, &format!("made of objects with {}", known.join(", "))))?;
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(members),
        Some(unknown) => {
            let error = format!("{of:?} has an unknown member {:?}", clip(unknown));
            Err(Refusal::input(error, format!("members are: {}", known.join(", ")))
                .because("unknown_parameter"))
        }
    }
}

/// A member that is a line of at most so many characters.
pub(super) fn member(
    name: &'static str,
    members: &Map<String, Value>,
    most: usize,
) -> Result<String, Refusal> {
    let text = members.get(name).and_then(Value::as_str);
    line(name, text.ok_or_else(|| wrong_type(name, "a string"))?, most)
}

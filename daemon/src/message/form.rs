//! A form behind a button: what it asks, and what somebody entered into it.
//!
//! A form belongs to the message that its button stands beneath, and is read and approved with it. What comes back is what a
//! stranger may have typed: it is kept as it is, within bounds, and told to the message's agent as that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    bounds::{MAX_FORM_LABEL, MAX_FORM_NAME, MOST_FIELDS},
    given::{clip, line, member, object, wrong_type},
    refusal::Refusal,
};

/// The longest text that may be entered, in characters: what Discord takes.
pub const LONGEST: u16 = 4000;

/// What a field may have.
pub(super) const MEMBERS: [&str; 8] =
    ["name", "label", "long", "required", "min", "max", "placeholder", "value"];

/// A form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// What stands above it.
    pub title: String,
    /// What it asks, in order.
    pub fields: Vec<Field>,
}

/// One line, or several, to write into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// By which the agent is told what was entered here.
    pub name: String,
    /// What people read above it.
    pub label: String,
    /// Whether there is room for several lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long: bool,
    /// Whether something must stand in it.
    pub required: bool,
    /// The fewest characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u16>,
    /// The most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u16>,
    /// What is shown while nothing stands in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// What stands in it at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What somebody entered into a form. All of it is theirs to choose, their name too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Entry {
    /// The form's title.
    pub form: String,
    /// The platform's id of the person.
    pub by: String,
    /// What the person is called there.
    pub name: String,
    /// The platform's id of the message that the form belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What was entered, by the names of the fields.
    pub values: BTreeMap<String, String>,
}

/// What became of something that somebody entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is written down.
    Now,
    /// It was written down before.
    Before,
    /// So many have answered that no more is taken.
    Full,
}

impl Form {
    /// Reads one.
    pub(super) fn parse(value: &Value) -> Result<Self, Refusal> {
        let members = object("form", value, &["title", "fields"])?;
        let fields = members.get("fields").and_then(Value::as_array);
        let fields = fields.filter(|fields| (1..=MOST_FIELDS).contains(&fields.len())).ok_or_else(|| {
            wrong_type("fields", &format!("an array of 1 to {MOST_FIELDS} {{name, label}}"))
        })?;
        let form = Self {
            title: member("title", members, MAX_FORM_LABEL)?,
            fields: fields.iter().map(Field::parse).collect::<Result<_, _>>()?,
        };
        let twice = form
            .fields
            .iter()
            .enumerate()
            .find(|(n, field)| form.fields[n + 1..].iter().any(|other| other.name == field.name));
        match twice {
            None => Ok(form),
            Some((_, field)) => {
                let error = format!("the form has two fields named {:?}", clip(&field.name));
                Err(Refusal::input(error, "give each field a name of its own").because("contradictory"))
            }
        }
    }
}

impl Field {
    fn parse(value: &Value) -> Result<Self, Refusal> {
        let members = object("fields", value, &MEMBERS)?;
        let flag = |name, usual| match members.get(name) {
            None => Ok(usual),
            Some(value) => value.as_bool().ok_or_else(|| wrong_type(name, "true or false")),
        };
        let number = |name| match members.get(name) {
            None => Ok(None),
            Some(value) => match value.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| *n <= LONGEST)
            {
                Some(number) => Ok(Some(number)),
                None => Err(wrong_type(name, &format!("a whole number from 0 to {LONGEST}"))),
            },
        };
        let placeholder = members.get("placeholder").and_then(Value::as_str);
        let placeholder = match (members.get("placeholder"), placeholder) {
            (None, _) => None,
            (Some(_), Some(text)) => Some(line("placeholder", text, MAX_FORM_NAME)?),
            (Some(_), None) => return Err(wrong_type("placeholder", "a string")),
        };
        let field = Self {
            name: member("name", members, MAX_FORM_NAME)?,
            label: member("label", members, MAX_FORM_LABEL)?,
            long: flag("long", false)?,
            required: flag("required", true)?,
            min: number("min")?,
            max: number("max")?,
            placeholder,
            value: members.get("value").map(prefilled).transpose()?,
        };
        if field.max == Some(0) || field.min.unwrap_or(0) > field.max.unwrap_or(LONGEST) {
            let error = format!("nothing fits into the field {:?}: min is over max", clip(&field.name));
            return Err(Refusal::input(error, "leave min and max out, or make max the larger one")
                .because("contradictory"));
        }
        Ok(field)
    }

    /// The most characters that may be entered.
    pub fn most(&self) -> usize {
        self.max.unwrap_or(LONGEST).into()
    }
}

/// What stands in a field at first: it may have lines.
fn prefilled(value: &Value) -> Result<String, Refusal> {
    let text = value.as_str().filter(|text| {
        text.chars().count() <= LONGEST.into() && !text.contains(|c: char| c.is_control() && c != '\n')
    });
    let text = text.ok_or_else(|| wrong_type("value", &format!("a string of up to {LONGEST} characters")))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_has_a_title_and_fields_and_says_what_is_left_out() {
        let form = Form::parse(&json!({"title": "Report", "fields": [
            {"name": "what", "label": "What happened?", "long": true, "min": 1, "max": 1000, "value": "It\nbroke"},
            {"name": "when", "label": "When?", "required": false, "placeholder": "yesterday"},
        ]}))
        .unwrap();
        let [what, when] = form.fields.as_slice() else { panic!() };
        assert!(what.long && what.required && !when.long && !when.required);
        assert_eq!((what.most(), when.most()), (1000, 4000));
        let text = serde_json::to_string(&form).unwrap();
        assert_eq!(serde_json::from_str::<Form>(&text).unwrap(), form);
    }

    #[test]
    fn what_is_no_form_is_refused_with_how_to_write_it() {
        let field = |more: Value| {
            let mut field = json!({"name": "a", "label": "A"});
            field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"title": "T", "fields": [field]})
        };
        for (form, hint) in [
            (json!("T"), "objects with title, fields"),
            (json!({"title": "T"}), "array of 1 to 5"),
            (json!({"title": "T", "fields": []}), "array of 1 to 5"),
            (json!({"title": "T", "fields": vec![json!({"name": "a", "label": "A"}); 6]}), "array of 1 to 5"),
            (json!({"fields": [{"name": "a", "label": "A"}]}), "a string"),
            (json!({"title": "T", "fields": [{"name": "a"}]}), "a string"),
            (
                json!({"title": "T", "fields": [{"name": "a", "label": "A"}, {"name": "a", "label": "B"}]}),
                "its own",
            ),
            (field(json!({"kind": "select"})), "members are: name, label, long"),
            (field(json!({"long": "yes"})), "true or false"),
            (field(json!({"min": -1})), "0 to 4000"),
            (field(json!({"max": 4001})), "0 to 4000"),
            (field(json!({"max": 0})), "min and max"),
            (field(json!({"min": 5, "max": 4})), "min and max"),
            (field(json!({"value": "x".repeat(4001)})), "4000 characters"),
            (field(json!({"value": "a\u{7}"})), "4000 characters"),
            (field(json!({"placeholder": 5})), "a string"),
        ] {
            let refusal = Form::parse(&form).unwrap_err();
            assert!(refusal.hint.contains(hint), "{form}: {refusal:?}");
        }
    }
}

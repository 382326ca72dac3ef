//! The JSON Schema of a call, from the table of its parameters.
//!
//! [`of`] is how a parameter is to be written: a tool's description has that, and so has the OpenAPI document, since clients are
//! generated from it and choose one type for each parameter. [`Message::taken`] is all that is taken, every alias too: what it does not
//! allow is refused, though not all that it allows is taken, for what goes with which action only the parser knows.

use serde_json::{Map, Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    action::Action,
    attachment_spec::{self, MEMBERS},
    bounds,
    call::MAX_TEXT,
    form::LONGEST,
    parameters::{Holds, PARAMETERS},
    target::MAX_ADDRESS,
};

/// How what a parameter holds is written.
pub fn of(holds: Holds) -> Value {
    match holds {
        Holds::Action => {
            json!({"type": "string", "enum": Action::ALL.iter().map(|action| action.word()).collect::<Vec<_>>()})
        }
        Holds::Text => json!({"type": "string", "maxLength": MAX_TEXT}),
        Holds::Short => short(),
        Holds::Flag => json!({"type": "boolean"}),
        Holds::Number(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Holds::Word(words) => json!({"type": "string", "enum": words}),
        Holds::Line(most) => line(most),
        Holds::Texts(most) => json!({"type": "array", "items": short(), "maxItems": most}),
        Holds::Lines(most, longest) => json!({"type": "array", "items": line(longest), "maxItems": most}),
        // Words to be spoken are a recording too.
        Holds::File => {
            let mut file = file();
            file["properties"][attachment_spec::WORDS] = text();
            file
        }
        Holds::Files => json!({"type": "array", "items": file(), "maxItems": attachment_spec::MOST}),
        Holds::Buttons => {
            let members = [
                ("text", line(bounds::MAX_BUTTON_TEXT)),
                ("callback_data", line(bounds::MAX_BUTTON_DATA)),
                ("url", line(bounds::MAX_BUTTON_URL)),
                ("form", form()),
            ];
            let button = object(&members, &["text"]);
            let row = json!({"type": "array", "items": button, "maxItems": bounds::MOST_BUTTONS});
            json!({"type": "array", "items": row, "maxItems": bounds::MOST_ROWS})
        }
        Holds::Selects => {
            let one = || line(bounds::MAX_CHOICE);
            let choice = object(&[("label", one()), ("value", one())], &["label", "value"]);
            let choices = json!({"type": "array", "items": choice, "maxItems": bounds::MOST_CHOICES});
            let members = [
                ("id", line(bounds::MAX_SELECT_ID)),
                ("placeholder", line(bounds::MAX_SELECT_PLACEHOLDER)),
                ("options", choices),
            ];
            let list = object(&members, &["id", "options"]);
            json!({"type": "array", "items": list, "maxItems": bounds::MOST_SELECTS})
        }
        Holds::Object => json!({"type": "object"}),
    }
}

/// What a press on a button may open.
fn form() -> Value {
    let (flag, number) =
        (json!({"type": "boolean"}), json!({"type": "integer", "minimum": 0, "maximum": LONGEST}));
    let field = [
        ("name", line(bounds::MAX_FORM_NAME)),
        ("label", line(bounds::MAX_FORM_LABEL)),
        ("long", flag.clone()),
        ("required", flag),
        ("min", number.clone()),
        ("max", number),
        ("placeholder", line(bounds::MAX_FORM_NAME)),
        ("value", json!({"type": "string", "maxLength": LONGEST})),
    ];
    let fields = json!({"type": "array", "items": object(&field, &["name", "label"]), "minItems": 1, "maxItems": bounds::MOST_FIELDS});
    object(&[("title", line(bounds::MAX_FORM_LABEL)), ("fields", fields)], &["title", "fields"])
}

fn text() -> Value {
    json!({"type": "string"})
}

fn short() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_ADDRESS})
}

/// Words on one line, of at most so many characters.
fn line(most: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most})
}

/// An address or a path stands for itself.
fn file() -> Value {
    let names = MEMBERS.iter().flat_map(|names| names.iter());
    let properties: Map<String, Value> =
        names.map(|name| ((*name).to_owned(), json!({"type": ["string", "null"]}))).collect();
    json!({"type": ["object", "string"], "properties": properties, "additionalProperties": false})
}

fn object(members: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The call, for the description of doors that take one.
#[derive(Debug)]
pub struct Message;

impl Message {
    /// How it is to be written.
    pub fn written() -> Value {
        let properties: Map<String, Value> = PARAMETERS
            .iter()
            .map(|parameter| {
                let mut schema = match parameter.holds {
                    Holds::File => as_object(of(Holds::File)),
                    Holds::Files => {
                        json!({"type": "array", "items": as_object(file()), "maxItems": attachment_spec::MOST})
                    }
                    holds => of(holds),
                };
                schema["description"] = parameter.about.into();
                (parameter.names[0].to_owned(), schema)
            })
            .collect();
        described(properties)
    }

    /// All that is taken of it.
    pub fn taken() -> Value {
        let mut properties = Map::new();
        for parameter in PARAMETERS {
            let mut schema = taken(parameter.holds);
            schema["description"] = parameter.about.into();
            for alias in &parameter.names[1..] {
                let mut same = schema.clone();
                same["description"] = format!("The same as `{}`.", parameter.names[0]).into();
                properties.insert((*alias).to_owned(), same);
            }
            properties.insert(parameter.names[0].to_owned(), schema);
        }
        described(properties)
    }
}

fn described(properties: Map<String, Value>) -> Value {
    json!({
        "type": "object",
        "description": "The parameters of the `message` tool. Which of them go together, the tool's own description says.",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A file, written as an object with texts.
fn as_object(mut file: Value) -> Value {
    file["type"] = "object".into();
    for property in file["properties"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        property["type"] = "string".into();
    }
    file
}

/// All that is taken for a parameter: null is as good as nothing, a number as its digits, and one file as a list of it.
fn taken(holds: Holds) -> Value {
    let mut schema = of(holds);
    let kinds: &[&str] = match holds {
        Holds::Action | Holds::Text | Holds::Word(_) => &["string", "null"],
        Holds::Short | Holds::Line(_) => &["string", "number", "null"],
        Holds::Flag => &["boolean", "null"],
        Holds::Number(..) => &["integer", "null"],
        Holds::Texts(_) | Holds::Lines(..) => {
            schema["items"]["type"] = json!(["string", "number"]);
            &["array", "null"]
        }
        Holds::File => &["object", "string", "null"],
        Holds::Files => {
            let mut one = file();
            one["type"] = json!(["object", "string", "null"]);
            return json!({"anyOf": [schema, one]});
        }
        Holds::Buttons | Holds::Selects => &["array", "null"],
        Holds::Object => &["object", "null"],
    };
    schema["type"] = json!(kinds);
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
    schema
}

impl PartialSchema for Message {
    fn schema() -> RefOr<Schema> {
        serde_json::from_value(Self::written()).expect("a schema reads as one")
    }
}

impl ToSchema for Message {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_has_every_name_and_loses_nothing_on_its_way_into_the_document() {
        let taken = Message::taken();
        for name in PARAMETERS.iter().flat_map(|parameter| parameter.names) {
            assert!(taken["properties"][name]["description"].is_string(), "{name}");
        }
        assert_eq!(serde_json::to_value(Message::schema()).unwrap(), Message::written());
    }

    #[test]
    fn a_generated_client_has_one_type_for_each_parameter() {
        for (name, schema) in Message::written()["properties"].as_object().unwrap() {
            assert!(schema["type"].is_string(), "{name}: {schema}");
        }
    }
}

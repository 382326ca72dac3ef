use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::{
    call::{Call, MAX_TEXT},
    parameters::{Holds, PARAMETERS, Parameter},
    schema::Message,
    target::MAX_ADDRESS,
};

fn parse_all(value: Value) -> Result<Vec<Call>, Refusal> {
    Call::parse_all(&value, &["local", "discord", "telegram"])
}

fn parse(value: Value) -> Result<Call, Refusal> {
    parse_all(value).map(|mut calls| calls.remove(0))
}

/// The smallest call of each action.
fn smallest() -> Vec<Value> {
    let to = |more: Value| {
        let mut call = json!({"to": "discord:5"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    vec![
        to(json!({"message": "hi"})),
        json!({"action": "broadcast", "targets": ["discord:5", "telegram:6"], "message": "hi"}),
        to(json!({"action": "reply", "replyToId": "9", "message": "hi"})),
        to(json!({"action": "thread-reply", "threadId": "9", "message": "hi"})),
        to(json!({"action": "thread", "threadName": "Plans"})),
        to(json!({"action": "react", "messageId": "9", "emoji": "👍"})),
        to(json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]})),
        to(json!({"action": "edit", "messageId": "9", "message": "ho"})),
        to(json!({"action": "delete", "messageId": "9"})),
        to(json!({"action": "pin", "messageId": "9"})),
        to(json!({"action": "unpin", "messageId": "9"})),
        to(json!({"action": "timeout", "userId": "7", "durationMinutes": 5})),
        to(json!({"action": "kick", "userId": "7"})),
        to(json!({"action": "ban", "userId": "7", "reason": "spam"})),
        to(json!({"action": "sendWithEffect", "effect": "slam", "message": "hi"})),
        to(json!({"action": "sendAttachment", "attachments": [{"path": "a.png"}]})),
        json!({"action": "setPresence", "channel": "discord", "status": "away"}),
    ]
}

#[test]
fn every_action_is_understood_and_needs_all_that_its_smallest_call_has() {
    let calls = smallest();
    for (call, action) in calls.iter().zip(Action::ALL) {
        let parsed = parse(call.clone()).unwrap_or_else(|refusal| panic!("{call}: {refusal:?}"));
        assert_eq!(parsed.action, *action);
        for left_out in call.as_object().unwrap().keys() {
            // Without its word another action is meant; nothing is said of why.
            if ["action", "reason", "channel"].contains(&left_out.as_str()) {
                continue;
            }
            let mut less = call.clone();
            less.as_object_mut().unwrap().remove(left_out);
            let refusal = parse(less.clone()).unwrap_err();
            assert_eq!(refusal.code, Code::InputInvalid, "{less}");
            assert!(!refusal.hint.is_empty(), "{less}");
        }
    }
    assert_eq!(calls.len(), Action::ALL.len());
}

#[test]
fn a_broadcast_is_a_call_for_each_target_on_each_channel_that_it_may_be_on() {
    let targets = |call: Value| {
        parse_all(call).map(|calls| {
            let name = |call: &Call| match &call.destination {
                crate::message::target::Destination::Address { channel, address, .. } => {
                    format!("{}:{address}", channel.as_ref().or(call.channel.as_ref()).unwrap())
                }
                crate::message::target::Destination::Current => "current".to_owned(),
            };
            calls.iter().map(name).collect::<Vec<_>>()
        })
    };
    let broadcast = |more: Value| {
        let mut call = json!({"action": "broadcast", "message": "hi"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let several = broadcast(json!({"targets": ["5", "local:ann"], "channels": ["discord", "telegram"]}));
    assert_eq!(targets(several).unwrap(), ["discord:5", "telegram:5", "local:ann"]);
    let one = broadcast(json!({"targets": ["5", 6], "channel": "discord"}));
    assert_eq!(targets(one).unwrap(), ["discord:5", "discord:6"]);
    for (wrong, reason) in [
        (json!({"targets": []}), "missing"),
        (json!({"targets": "[\"discord:5\"]"}), "wrong_type"),
        (json!({"targets": ["local:a", "local:a"]}), "contradictory"),
        (json!({"targets": ["5"], "channel": "discord", "channels": ["telegram"]}), "contradictory"),
        (json!({"targets": ["local:a"], "to": "local:b"}), "contradictory"),
    ] {
        assert_eq!(targets(broadcast(wrong.clone())).unwrap_err().reason, Some(reason), "{wrong}");
    }
}

#[test]
fn what_contradicts_itself_is_refused_with_the_way_to_write_it() {
    let poll = |more: Value| {
        let mut call = json!({"to": "discord:5", "action": "poll", "pollQuestion": "Tea?"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let with = |buttons: Value| json!({"to": "discord:5", "message": "hi", "buttons": buttons});
    for (call, hint) in [
        (poll(json!({"pollOption": ["one"]})), "[\"one\", \"other\"]"),
        (poll(json!({"pollOption": ["one", "one"]})), "each answer once"),
        (poll(json!({"pollOption": "[\"one\", \"two\"]"})), "without the quotes"),
        (
            poll(json!({"pollOption": ["a", "b"], "pollDurationHours": 1, "pollDurationSeconds": 60})),
            "one of them",
        ),
        (poll(json!({"pollOption": ["a", "b"], "emoji": "👍"})), "it goes with: react"),
        (json!({"to": "discord:5", "message": "hi", "pollQuestion": "Tea?"}), "it goes with: poll"),
        (with(json!([{"text": "Go", "callback_data": "g"}])), "an array of rows"),
        (with(json!([[{"text": "Go"}]])), "callback_data"),
        (with(json!([[{"text": "Go", "callback_data": "g", "style": 1}]])), "members are"),
        (with(json!([[{"text": "Go", "url": "javascript:x"}]])), "http"),
        (with(json!([[{"text": "Go", "form": {"title": "T"}, "callback_data": "g"}]])), "callback_data"),
        (with(json!([[{"text": "Go", "form": {"title": "T"}}]])), "{name, label}"),
        (json!({"to": "discord:5", "action": "shout", "message": "hi"}), "actions are"),
        (json!({"to": "discord:5", "action": "sned", "message": "hi"}), "\"send\""),
        (json!({"to": "discord:5", "message": "hi", "card": "{}"}), "JSON object"),
    ] {
        let refusal = parse(call.clone()).unwrap_err();
        assert_eq!(refusal.code, Code::InputInvalid, "{call}");
        assert!(refusal.hint.contains(hint), "{call}: {}", refusal.hint);
    }
}

#[test]
fn a_models_usual_mistakes_get_a_hint_that_says_how_to_write_it() {
    let to = |more: Value| {
        let mut call = json!({"to": "discord:5", "message": "hi"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let cast = |more: Value| {
        let mut call = json!({"action": "broadcast", "message": "hi"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    for (call, hint) in [
        (to(json!({"to": ["discord:5", "discord:6"]})), "\"action\": \"broadcast\" and \"targets\""),
        (to(json!({"to": "[\"discord:5\"]"})), "\"action\": \"broadcast\" and \"targets\""),
        (cast(json!({"targets": "discord:5"})), "\"targets\": [\"discord:5\"]"),
        (cast(json!({"targets": "discord:5, local:ann"})), "[\"discord:5\", \"local:ann\"]"),
        (json!({"to": "discord:5", "content": "hi"}), "the text is \"message\""),
        (json!({"chat_id": 5, "message": "hi"}), "where to is \"to\""),
        (
            to(json!({"components": []})),
            "rows of buttons are \"buttons\", lists to choose from are \"selects\"",
        ),
        (to(json!({"embeds": []})), "\"card\""),
        (to(json!({"files": ["a.png"]})), "\"attachments\""),
        (to(json!({"action": "unreact", "emoji": "👍"})), "\"action\": \"react\" with \"remove\": true"),
        (to(json!({"action": "thread_reply", "threadId": "5"})), "did you mean \"thread-reply\"?"),
        (to(json!({"wait": 5.0})), "a whole number from 0 to 600, without a point"),
        (to(json!({"wait": "5"})), "a whole number from 0 to 600, without the quotes"),
        (to(json!({"wait": -5})), "a whole number from 0 to 600"),
        (
            to(json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": "Yes, No"})),
            "\"pollOption\": [\"Yes\", \"No\"]",
        ),
        (to(json!({"to": "discord:5,local:ann"})), "\"action\": \"broadcast\" and \"targets\""),
        (to(json!({"to": {"channel": "discord", "address": "5"}})), "one string: \"channel:address\""),
        (json!({"message": "hi"}), "write \"channel:address\""),
        (to(json!({"action": "broadcast"})), "\"targets\": [\"channel:address\", …]"),
        (json!({"targets": ["discord:5"], "message": "hi"}), "\"action\": \"broadcast\""),
        (to(json!({"action": "SEND"})), "did you mean \"send\"?"),
        (json!({"to": "discord:5", "action": "sendAttachment"}), "attachments: "),
        (json!({"to": "discord:5", "action": "setPresence", "status": "away"}), "say whose by \"channel\""),
    ] {
        let refusal = parse_all(call.clone()).unwrap_err();
        assert_eq!(refusal.code, Code::InputInvalid, "{call}");
        assert!(refusal.hint.contains(hint), "{call}: {refusal:?}");
    }
}

#[test]
fn a_channel_is_known_in_any_letters_and_its_neighbour_is_named() {
    for call in [
        json!({"to": "DISCORD:5", "message": "hi"}),
        json!({"channel": "Discord", "to": "5", "message": "hi"}),
    ] {
        let call = parse_all(call).unwrap().remove(0);
        let named = call.destination.to_string();
        assert!(
            named == "discord:5" || call.channel.as_deref() == Some("discord") && named == "5",
            "{call:?}"
        );
    }
    for call in [
        json!({"to": "dicord:5", "message": "hi"}),
        json!({"channel": "Discrod", "to": "5", "message": "hi"}),
    ] {
        let refusal = parse_all(call).unwrap_err();
        assert_eq!(refusal.hint, "did you mean \"discord\"?", "{refusal:?}");
    }
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "x{400}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(
                "text|url|callback_data|form|title|fields|name|label|id|options|[a-z]{1,5}",
                inner,
                0..4
            )
            .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The smallest call of an action that takes this parameter.
fn call_with(parameter: &Parameter, value: Value) -> Value {
    let takes = |(_, action): &(Value, &Action)| parameter.goes_with(**action);
    let (mut call, _) = smallest().into_iter().zip(Action::ALL).find(takes).unwrap();
    call[parameter.names[0]] = value;
    call
}

/// Whether a schema allows a value, as far as ours say something.
fn allows(schema: &Value, value: &Value) -> bool {
    if let Some(any) = schema["anyOf"].as_array() {
        return any.iter().any(|schema| allows(schema, value));
    }
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no schema of ours says {other}"),
    };
    let kinds = &schema["type"];
    if !kinds.as_array().map_or_else(|| is(kinds), |kinds| kinds.iter().any(is)) {
        return false;
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return false;
    }
    let bound = |name: &str| schema[name].as_u64();
    match value {
        Value::String(text) => {
            let length = text.chars().count() as u64;
            bound("minLength").is_none_or(|least| length >= least)
                && bound("maxLength").is_none_or(|most| length <= most)
        }
        Value::Number(number) => {
            let over = |most| number.as_u64().is_some_and(|number| number <= most);
            bound("maximum").is_none_or(over)
                && bound("minimum").is_none_or(|least| number.as_u64().is_some_and(|number| number >= least))
        }
        Value::Array(members) => {
            bound("maxItems").is_none_or(|most| members.len() as u64 <= most)
                && (schema["items"].is_null()
                    || members.iter().all(|member| allows(&schema["items"], member)))
        }
        Value::Object(members) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let mut required = required.filter_map(Value::as_str);
            required.all(|name| members.contains_key(name))
                && members.iter().all(|(name, member)| match &schema["properties"][name] {
                    Value::Null => schema["additionalProperties"] != false,
                    property => allows(property, member),
                })
        }
        _ => true,
    }
}

#[test]
fn the_checker_of_schemas_sees_what_is_wrong() {
    let schema = &Message::taken()["properties"];
    for (parameter, right, wrong) in [
        ("silent", json!(true), json!("true")),
        ("wait", json!(600), json!(601)),
        ("wait", json!(null), json!(-1)),
        ("action", json!("send"), json!("shout")),
        ("to", json!(5), json!("")),
        ("pollOption", json!(["a", 5]), json!(["a", []])),
        ("buttons", json!([[{"text": "Go", "url": "u"}]]), json!([[{"url": "u"}]])),
        ("buttons", json!([]), json!([[{"text": "Go", "style": 1}]])),
        (
            "buttons",
            json!([[{"text": "Go", "form": {"title": "T", "fields": [{"name": "a", "label": "A", "max": 9}]}}]]),
            json!([[{"text": "Go", "form": {"title": "T", "fields": [{"name": "a"}]}}]]),
        ),
        ("attachments", json!({"path": "a"}), json!([{"pth": "a"}])),
        ("card", json!({"a": 1}), json!([])),
    ] {
        assert!(allows(&schema[parameter], &right), "{parameter}: {right}");
        assert!(!allows(&schema[parameter], &wrong), "{parameter}: {wrong}");
    }
}

#[test]
fn what_is_too_long_or_of_another_type_is_refused_by_its_name() {
    for parameter in PARAMETERS {
        let name = parameter.names[0];
        let mut wrong = vec![json!([[[]]]), json!({"no": {"such": "member"}})];
        match parameter.holds {
            Holds::Text => wrong.extend([json!(5), json!("x".repeat(MAX_TEXT + 1))]),
            Holds::Short => {
                wrong.extend([json!(true), json!("x".repeat(MAX_ADDRESS + 1)), json!("a\u{7}b")]);
            }
            Holds::Flag => wrong.extend([json!("true"), json!(1)]),
            Holds::Number(least, most) => {
                wrong.extend([json!(most + 1), json!(least.to_string()), json!(-1), json!(1.5)]);
            }
            Holds::Action | Holds::Word(_) => wrong.extend([json!("shout"), json!(5)]),
            Holds::Texts(most) => wrong.extend([
                json!("[\"a\", \"b\"]"),
                json!(["x".repeat(MAX_ADDRESS + 1)]),
                json!((0..=most).map(|n| format!("local:{n}")).collect::<Vec<_>>()),
            ]),
            Holds::Line(most) => {
                wrong.extend([json!(true), json!("漢".repeat(most + 1)), json!("a\u{7}b"), json!(" ")]);
            }
            Holds::Lines(most, longest) => wrong.extend([
                json!("[\"a\", \"b\"]"),
                json!(["a", "漢".repeat(longest + 1)]),
                json!((0..=most).map(|n| n.to_string()).collect::<Vec<_>>()),
            ]),
            Holds::Files | Holds::File => wrong.extend([json!("[{\"path\": \"a\"}]"), json!(5)]),
            Holds::Buttons | Holds::Selects => wrong.extend([json!("[]"), json!([5])]),
            // Any object is the platform's to judge.
            Holds::Object => wrong = vec![json!("{}"), json!([]), json!(5)],
        }
        for value in wrong {
            let call = call_with(parameter, value.clone());
            let refusal = parse(call).expect_err(name);
            let names = parameter.names.iter().any(|name| refusal.error.contains(name));
            // A text that is too long, a file or a word says what it is itself.
            let speaks =
                ["message", "attachment", "action", "files"].iter().any(|word| refusal.error.contains(word));
            assert!(names || speaks, "{name} {value}: {}", refusal.error);
            assert!(!refusal.hint.is_empty(), "{name} {value}");
        }
    }
}

#[test]
fn what_its_schema_allows_at_the_longest_is_taken_in_any_script() {
    // One, two, three and four bytes.
    for letter in ["x", "я", "漢", "🦀"] {
        for parameter in PARAMETERS {
            let name = parameter.names[0];
            let schema = &Message::taken()["properties"][name];
            let (value, longer) = match parameter.holds {
                Holds::Short => (json!(letter.repeat(MAX_ADDRESS)), json!(letter.repeat(MAX_ADDRESS + 1))),
                Holds::Line(most) => (json!(letter.repeat(most)), json!(letter.repeat(most + 1))),
                Holds::Texts(_) => {
                    (json!([letter.repeat(MAX_ADDRESS)]), json!([letter.repeat(MAX_ADDRESS + 1)]))
                }
                Holds::Lines(_, longest) => {
                    (json!(["a", letter.repeat(longest)]), json!(["a", letter.repeat(longest + 1)]))
                }
                _ => continue,
            };
            assert!(allows(schema, &value) && !allows(schema, &longer), "{name}: {letter}");
            // A word that is no channel or no effect is refused as such, and not for its length.
            let says =
                |value: Value| parse_all(call_with(parameter, value)).err().map(|refusal| refusal.error);
            let is_of_length = |error: &str| error.contains("characters") || error.contains("bytes");
            let taken = says(value);
            assert!(taken.as_deref().is_none_or(|error| !is_of_length(error)), "{name}: {letter}: {taken:?}");
            assert!(says(longer).is_some(), "{name}: {letter}");
        }
    }
}

#[test]
fn what_stands_in_quotes_and_should_not_is_told_so() {
    for (name, value) in [
        ("pollOption", "[\"a\", \"b\"]"),
        ("targets", "[\"local:ann\"]"),
        ("buttons", "[[{\"text\": \"Go\"}]]"),
        ("selects", "[]"),
        ("card", "{\"title\": \"T\"}"),
        ("attachments", "[{\"path\": \"a.png\"}]"),
        ("media", "[\"a.png\"]"),
        ("voice", "{\"path\": \"a.ogg\"}"),
        ("silent", "true"),
        ("wait", "20"),
    ] {
        let parameter = PARAMETERS.iter().find(|parameter| parameter.names[0] == name).unwrap();
        let refusal = parse(call_with(parameter, value.into())).unwrap_err();
        assert_eq!(refusal.reason, Some("wrong_type"), "{name}: {refusal:?}");
        assert!(refusal.hint.contains("without the quotes"), "{name}: {refusal:?}");
    }
}

proptest! {
    /// What the description of the call does not allow, the parser does not take.
    #[test]
    fn what_its_schema_does_not_allow_is_refused(parameter in 0..PARAMETERS.len(), value in anything()) {
        let parameter = &PARAMETERS[parameter];
        let schema = &Message::taken()["properties"][parameter.names[0]];
        if !allows(schema, &value) {
            prop_assert!(parse_all(call_with(parameter, value.clone())).is_err(), "{} {}", parameter.names[0], value);
        }
    }

    /// Whatever a call is made of, by whatever names, it is taken or refused with a hint.
    #[test]
    fn any_call_at_all_is_taken_or_refused_with_a_hint(
        members in proptest::collection::vec((any::<prop::sample::Index>(), 0..4_u8, anything()), 0..6),
    ) {
        let names: Vec<&str> = PARAMETERS.iter().flat_map(|parameter| parameter.names).copied().collect();
        let mut call = serde_json::Map::new();
        for (index, slip, value) in members {
            let name = *index.get(&names);
            let name = if slip == 0 { name[1..].to_owned() } else { name.to_owned() };
            call.insert(name, value);
        }
        if let Err(refusal) = parse_all(call.into()) {
            prop_assert!(!refusal.error.is_empty() && !refusal.hint.is_empty(), "{:?}", refusal);
            prop_assert!(refusal.error.len() + refusal.hint.len() < 2048, "{:?}", refusal);
        }
    }

    /// Nothing that a model can write panics, and every refusal says what to do.
    #[test]
    fn any_value_of_any_parameter_is_taken_or_refused_with_a_hint(
        which in 0..smallest().len(),
        parameter in 0..PARAMETERS.len(),
        value in anything(),
    ) {
        let mut call = smallest().swap_remove(which);
        let name = PARAMETERS[parameter].names[0];
        call.as_object_mut().unwrap().insert(name.to_owned(), value);
        if let Err(refusal) = parse(call) {
            prop_assert!(!refusal.error.is_empty() && !refusal.hint.is_empty(), "{:?}", refusal);
            prop_assert!(refusal.error.len() + refusal.hint.len() < 1024, "{:?}", refusal);
        }
    }
}

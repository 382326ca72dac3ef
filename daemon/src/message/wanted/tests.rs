use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::{call::Call, parameters::PARAMETERS};

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
        (json!({"to": "discord:5", "action": "shout", "message": "hi"}), "actions are"),
        (json!({"to": "discord:5", "action": "sned", "message": "hi"}), "\"send\""),
        (json!({"to": "discord:5", "message": "hi", "card": "{}"}), "JSON object"),
    ] {
        let refusal = parse(call.clone()).unwrap_err();
        assert_eq!(refusal.code, Code::InputInvalid, "{call}");
        assert!(refusal.hint.contains(hint), "{call}: {}", refusal.hint);
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
            proptest::collection::btree_map("text|url|callback_data|id|options|[a-z]{1,5}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
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

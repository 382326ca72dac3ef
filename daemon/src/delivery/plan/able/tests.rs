use serde_json::{Value, json};

use super::*;
use crate::channels::{contract, registry};

/// Something that a channel may lack, and a call that has it.
fn features(can: &Capabilities) -> Vec<(&'static str, bool, Value)> {
    let press = match can.buttons {
        Some(rules) if rules.data == 0 => json!({"text": "Yes", "url": "https://a.test"}),
        _ => json!({"text": "Yes", "callback_data": "y"}),
    };
    let field = json!({"name": "n", "label": "Name"});
    let form = json!({"text": "Fill in", "form": {"title": "Who", "fields": [field]}});
    let options = json!([{"label": "One", "value": "1"}, {"label": "Two", "value": "2"}]);
    let effect = can.effects.first().copied().unwrap_or("slam");
    vec![
        ("replies", can.replies, json!({"replyToId": "9"})),
        ("silence", can.silent, json!({"silent": true})),
        ("files", can.files.is_some(), json!({"attachments": [{"base64": "aGk="}]})),
        ("buttons", can.buttons.is_some(), json!({"buttons": [[press]]})),
        ("forms", can.forms.is_ok() && can.buttons.is_some(), json!({"buttons": [[form]]})),
        ("lists", can.selects.is_some(), json!({"selects": [{"id": "s", "options": options}]})),
        ("effects", !can.effects.is_empty(), json!({"action": "sendWithEffect", "effect": effect})),
        ("a card", can.cards.is_some(), json!({"card": {}})),
    ]
}

#[test]
fn what_a_channel_lacks_is_refused_with_what_to_do_instead_and_what_it_has_is_not() {
    let (mut had, mut lacked) = (0, 0);
    for (name, address, adapter) in contract::accounts() {
        let can = adapter.capabilities();
        for (what, has, more) in features(can) {
            let mut call = json!({"to": format!("{}:{address}", can.channel), "message": "Hello"});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let call = Call::parse(&call, &registry::NAMES).unwrap();
            match (check(can, &call), has) {
                (Ok(()), true) => had += 1,
                // Which cards there are is the platform's own matter.
                (Err(refusal), true) if what == "a card" => assert_ne!(refusal.reason, Some("not_supported")),
                (Err(refusal), false) => {
                    lacked += 1;
                    assert_eq!(refusal.reason, Some("not_supported"), "{name}, {what}: {refusal:?}");
                    assert!(refusal.error.starts_with(can.channel), "{name}, {what}: {refusal:?}");
                    assert!(refusal.hint.len() > 10, "{name}, {what}: {refusal:?}");
                }
                (checked, has) => panic!("{name}, {what}: has it: {has}, and {checked:?}"),
            }
        }
    }
    assert!(had > 20 && lacked > 40, "{had} had, {lacked} lacked");
}

use gatepost_chunk::Unit;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use super::*;
use crate::channels::{registry, testing::contract};

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

/// A text in a call, which makes one of it, the most that the channel takes of it, and in which unit.
struct Length {
    what: &'static str,
    most: usize,
    unit: Unit,
    call: fn(&str) -> Value,
}

/// All texts of a call that a channel bounds.
fn lengths(can: &Capabilities) -> Vec<Length> {
    let mut all = Vec::new();
    let mut add = |what, most, unit, call| all.push(Length { what, most, unit, call });
    if let Some(polls) = can.polls {
        add(
            "pollQuestion",
            polls.question,
            polls.unit,
            |text| json!({"action": "poll", "pollQuestion": text, "pollOption": ["Yes", "No"]}),
        );
        add(
            "pollOption",
            polls.option,
            polls.unit,
            |text| json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": [text, "No"]}),
        );
    }
    if can.does(Action::Thread) {
        add(
            "threadName",
            can.thread_name,
            Unit::CodePoints,
            |text| json!({"action": "thread", "threadName": text}),
        );
    }
    if can.does(Action::SetPresence) {
        add(
            "statusText",
            can.status_text,
            Unit::CodePoints,
            |text| json!({"action": "setPresence", "status": "online", "statusText": text}),
        );
    }
    if let Some(buttons) = can.buttons {
        if buttons.url > 0 {
            add(
                "the text of a button",
                buttons.text,
                Unit::CodePoints,
                |text| json!({"message": "Hi", "buttons": [[{"text": text, "url": "https://a.test"}]]}),
            );
            add("url", buttons.url, Unit::CodePoints, |text| {
                let url = format!("https://a.test/{}", text.chars().skip(15).collect::<String>());
                json!({"message": "Hi", "buttons": [[{"text": "Go", "url": url}]]})
            });
        }
        if buttons.data > 0 {
            add(
                "callback_data",
                buttons.data,
                buttons.data_unit,
                |text| json!({"message": "Hi", "buttons": [[{"text": "Go", "callback_data": text}]]}),
            );
        }
    }
    if let Some(selects) = can.selects {
        add(
            "label",
            selects.text,
            Unit::CodePoints,
            |text| json!({"message": "Hi", "selects": [{"id": "s", "options": [{"label": text, "value": "1"}]}]}),
        );
        add(
            "value",
            selects.text,
            Unit::CodePoints,
            |text| json!({"message": "Hi", "selects": [{"id": "s", "options": [{"label": "One", "value": text}]}]}),
        );
        add(
            "id",
            selects.id,
            Unit::CodePoints,
            |text| json!({"message": "Hi", "selects": [{"id": text, "options": [{"label": "One", "value": "1"}]}]}),
        );
        add("placeholder", selects.placeholder, Unit::CodePoints, |text| {
            let options = json!([{"label": "One", "value": "1"}]);
            json!({"message": "Hi", "selects": [{"id": "s", "placeholder": text, "options": options}]})
        });
    }
    if let Ok(forms) = can.forms {
        add("title", forms.title, Unit::CodePoints, |text| {
            let form = json!({"title": text, "fields": [{"name": "a", "label": "A"}]});
            json!({"message": "Hi", "buttons": [[{"text": "Go", "form": form}]]})
        });
        add("label of a field", forms.label, Unit::CodePoints, |text| {
            let form = json!({"title": "T", "fields": [{"name": "a", "label": text}]});
            json!({"message": "Hi", "buttons": [[{"text": "Go", "form": form}]]})
        });
        add("name of a field", forms.name, Unit::CodePoints, |text| {
            let form = json!({"title": "T", "fields": [{"name": text, "label": "A"}]});
            json!({"message": "Hi", "buttons": [[{"text": "Go", "form": form}]]})
        });
    }
    all
}

/// A text of so many units, or of the fewest that are more, of these signs over and over.
fn filled(signs: &[&str], units: usize, unit: Unit) -> String {
    let (mut text, mut is) = (String::new(), 0);
    for sign in signs.iter().cycle() {
        if is >= units {
            break;
        }
        text.push_str(sign);
        is += unit.count(sign);
    }
    text
}

/// Whether the parser takes a text where it stands, and the channel then does.
fn is_taken(can: &Capabilities, address: &str, length: &Length, text: &str) -> Result<(), Refusal> {
    let mut call = (length.call)(text);
    if length.what != "statusText" {
        call["to"] = json!(format!("{}:{address}", can.channel));
    } else {
        call["channel"] = json!(can.channel);
    }
    check(can, &Call::parse(&call, &registry::NAMES)?)
}

#[test]
fn what_people_read_is_bounded_in_the_platforms_unit_and_not_in_bytes() {
    let taken = |channel: &str, what: &str, text: &str| {
        let of = |can: &Capabilities| lengths(can).into_iter().find(|length| length.what == what);
        let (_, address, adapter) = contract::accounts()
            .find(|(_, _, adapter)| {
                let can = adapter.capabilities();
                can.channel == channel && of(can).is_some()
            })
            .unwrap();
        let can = adapter.capabilities();
        is_taken(can, address, &of(can).unwrap(), text)
    };
    assert_eq!(taken("telegram", "pollQuestion", &"ж".repeat(210)), Ok(()));
    assert_eq!(taken("telegram", "threadName", &"漢".repeat(120)), Ok(()));
    assert_eq!(taken("slack", "url", &"x".repeat(414)), Ok(()));
    assert_eq!(taken("discord", "callback_data", &"ж".repeat(100)), Ok(()));
    assert!(taken("telegram", "callback_data", &"ж".repeat(33)).is_err());
    assert!(taken("signal", "pollQuestion", &"😀".repeat(51)).is_err());
    assert!(taken("discord", "threadName", &"漢".repeat(101)).is_err());
}

/// No bound before a channel's own, none beyond it, whatever the text is made of.
#[test]
fn a_text_is_taken_if_and_only_if_its_channel_takes_as_many_units() {
    let accounts: Vec<_> = contract::accounts().collect();
    let signs = proptest::collection::vec(proptest::sample::select(&["x", "é", "ж", "漢", "😀"][..]), 1..5);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(24));
    let held = runner.run(&(signs, -2_isize..3), |(signs, beyond)| {
        for (name, address, adapter) in &accounts {
            let can = adapter.capabilities();
            for length in lengths(can) {
                let units = length.most.saturating_add_signed(beyond);
                // What stands before the rest of an address counts there.
                let signs: &[&str] = if length.what == "url" { &["x"] } else { &signs };
                let text = filled(signs, units, length.unit);
                let fits = length.unit.count(&text) <= length.most;
                let taken = is_taken(can, address, &length, &text);
                prop_assert_eq!(taken.is_ok(), fits, "{}, {}: {:?}", name, length.what, taken);
            }
        }
        Ok(())
    });
    held.unwrap();
}

//! What the capabilities say is what the adapter does: all of it, within its bounds, and nothing else.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Case, Contract, Scene, UNCLAIMED, all,
    deliveries::assert_ends,
    stage::{Script, Stage},
};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, DeliveryMode, OperationRequest, OutgoingPart, Redelivery,
        capabilities::{ButtonRules, FormRules, PollRules, SelectRules},
        testing::sample::{key, op, outgoing, part},
    },
    message::{
        action::Action,
        form::{Field, Form},
        operation::{Button, Choice, Extras, Operation, Poll, Presence, Press, Select},
    },
    render,
};

/// One operation of each kind but a new message.
pub(super) fn operations(contract: &Contract) -> [Operation; 11] {
    let (message, user) = (|| contract.message.to_owned(), || contract.user.to_owned());
    [
        Operation::Poll(Poll {
            question: "Tea?".into(),
            options: vec!["Yes".into(), "No".into()],
            multiple: false,
            seconds: None,
            anonymous: None,
        }),
        Operation::Thread { name: "June".into(), message: None },
        Operation::React { message: message(), emoji: "👍".into(), remove: false },
        Operation::Edit { message: message() },
        Operation::Delete { message: message() },
        Operation::Pin { message: message() },
        Operation::Unpin { message: message() },
        Operation::Timeout { user: user(), seconds: 600, reason: None },
        Operation::Kick { user: user(), reason: None },
        Operation::Ban { user: user(), reason: None },
        Operation::Presence { status: Presence::Online, text: None },
    ]
}

fn where_(contract: &Contract, operation: &Operation) -> &'static str {
    if matches!(operation, Operation::Presence { .. }) { "self" } else { contract.address }
}

pub(super) fn nowhere(contract: &Contract) -> std::sync::Arc<dyn Adapter> {
    Stage::set(Script::Nobody).open(contract)
}

#[test]
fn whom_a_text_calls_is_one_person_by_id_and_never_a_group() {
    let groups = [
        "",
        "everyone",
        "here",
        "all",
        "channel",
        "@room",
        "@everyone",
        "@here",
        "!channel",
        "users/all",
        "users/",
        "users/ann@hub.test",
        "19:abc@thread.tacv2",
        "28:app-1",
        "group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=",
        "u:anna.01",
        "status@broadcast",
        "&99",
        "-1001234567890",
        "0",
        "099",
        "#general",
        "@ann",
        "@ann lee",
        "*",
        "C012AB3CD",
        "S012AB3CD",
        "!room:hub.test",
        "#room:hub.test",
        "@:hub.test",
        "99 ",
        "u012ab3cd",
    ];
    let mut claimed = BTreeMap::new();
    for contract in all() {
        let (adapter, user) = (nowhere(contract), contract.user);
        for group in groups {
            assert!(!adapter.is_mentionable(group), "{}: {group:?} is called", contract.name());
        }
        let text = format!("Hi [Ann](mention:{user}), [all](mention:everyone) @everyone @here <@{user}>");
        let parts = render::render(&render::parse(&text), &adapter.flavour()).unwrap();
        // In a group: elsewhere WhatsApp has none.
        let is_whatsapp = contract.channel == "whatsapp" && adapter.capabilities().mentions;
        let to = if is_whatsapp { "120363012345678901@g.us" } else { contract.address };
        let request = adapter.composed(&outgoing(to, &parts[0])).to_string();
        let wants: &[&str] = match contract.channel {
            "slack" => &["Hi <@U012AB3CD>, ", "&lt;@U012AB3CD&gt;"],
            "discord" => {
                &["Hi <@99>, ", r#""allowed_mentions":{"parse":[],"replied_user":false,"users":["99"]}"#]
            }
            "matrix" => &[
                "<a href=\\\"https://matrix.to/#/@ada:hub.test\\\">Ann</a>, ",
                r#""m.mentions":{"user_ids":["@ada:hub.test"]}"#,
            ],
            "telegram" => &["<a href=\\\"tg://user?id=99\\\">Ann</a>, "],
            "googlechat" => &["Hi <users/1>, "],
            "signal" => &[r#""mention":["3:4:+4915112345679"]"#, "Hi @Ann, all"],
            "teams" => &["Hi <at>Ann</at>, all", r#""text":"<at>Ann</at>","type":"mention"}]"#],
            "whatsapp" if adapter.capabilities().mentions => {
                &["Hi @4915112345679, all", r#""mentioned":["4915112345679@s.whatsapp.net"]"#]
            }
            "whatsapp" => &["the Cloud API has no mentions"],
            _ => &["Ann"],
        };
        for wanted in wants {
            assert!(request.contains(wanted), "{}: {wanted} in {request}", contract.name());
        }
        if !adapter.capabilities().mentions {
            continue;
        }
        assert!(adapter.is_mentionable(user) && parts[0].mentions.contains(&user.to_owned()), "{request}");
        claimed.insert(contract.channel, ());
    }
    let claimed: Vec<&str> = claimed.into_keys().collect();
    assert_eq!(
        claimed,
        ["discord", "googlechat", "matrix", "signal", "slack", "teams", "telegram", "whatsapp"]
    );
}

#[tokio::test]
async fn what_is_claimed_is_done_and_what_is_lacking_is_not() {
    let text = part("New");
    for contract in all() {
        let idle = nowhere(contract);
        for operation in operations(contract) {
            let (action, to) = (operation.action(), where_(contract, &operation));
            let what = format!("{}, {}", contract.name(), action.word());
            let part = matches!(operation, Operation::Edit { .. }).then_some(&text);
            let asked = op(to, &operation, part);
            if !idle.capabilities().does(action) {
                assert_eq!(idle.composed_operation(&asked), None, "{what}: it is not claimed");
                continue;
            }
            let Scene::Plays(script, ends) = (contract.scene)(Case::Operation(action)) else {
                panic!(
                    "{what}: {} claims it: say in `scene` of {} what the platform answers",
                    contract.file("profile.rs"),
                    contract.file("contract.rs")
                )
            };
            let stage = Stage::set(script);
            let adapter = stage.open(contract);
            let request =
                adapter.composed_operation(&asked).unwrap_or_else(|| panic!("{what}: it is claimed"));
            assert_eq!(request.get("refused"), None, "{what}");
            let _listening = stage.listen(&adapter);
            assert_ends(&what, &adapter.delivered(&request, &key()).await, ends);
            let seen_once = !matches!(operation, Operation::Poll(_) | Operation::Thread { .. });
            assert!(!seen_once || matches!(adapter.redelivery_of(&request), Redelivery::Keyed(_)), "{what}");
        }
    }
}

#[test]
fn what_is_lacking_has_something_to_do_instead() {
    for contract in all() {
        let adapter = nowhere(contract);
        let can = adapter.capabilities();
        assert_eq!(can.does(Action::Poll), can.polls.is_some(), "{}", contract.name());
        if let Err(hint) = can.forms {
            assert!(hint.len() > 10 && !hint.contains('\n'), "{}: {hint}", contract.name());
        }
        for (action, hint) in can.instead {
            let what = format!("{}, {}", contract.name(), action.word());
            assert!(hint.len() > 10 && !hint.contains('\n'), "{what}: {hint}");
        }
        let twice = can
            .instead
            .iter()
            .any(|(one, _)| can.instead.iter().filter(|(other, _)| one == other).count() > 1);
        assert!(!twice, "{} says twice what to do instead", contract.name());
    }
}

#[test]
fn who_claims_files_says_how_one_goes_and_nobody_else_does() {
    for contract in all() {
        let claims = nowhere(contract).capabilities().files.is_some();
        let plays = matches!((contract.scene)(Case::File), Scene::Plays(..));
        let (profile, file) = (contract.file("profile.rs"), contract.file("contract.rs"));
        assert_eq!(claims, plays, "{}: `files` of {profile}, and the case File of {file}", contract.name());
    }
}

#[test]
fn who_removes_says_what_a_second_removal_finds() {
    for contract in all() {
        let claims = nowhere(contract).capabilities().does(Action::Delete);
        let unclaimed = matches!((contract.scene)(Case::Removed), Scene::Never(UNCLAIMED));
        let (profile, file) = (contract.file("profile.rs"), contract.file("contract.rs"));
        assert_eq!(
            claims,
            !unclaimed,
            "{}: Delete in {profile}, and the case Removed of {file}",
            contract.name()
        );
    }
}

#[test]
fn whoever_approves_is_told_the_way_where_there_are_several_and_who_sets_it_up_where_to_look() {
    let text = part("Hello");
    for contract in all() {
        let adapter = nowhere(contract);
        let can = adapter.capabilities();
        let route = adapter.route_of(&outgoing(contract.address, &text));
        assert_eq!(route.is_some(), can.mode == DeliveryMode::Hybrid, "{}: {route:?}", contract.name());
        let said = can.mode.not_ready(can.channel, "no answer");
        let between = said.contains("a program in between");
        assert_eq!(between, can.mode == DeliveryMode::Gateway, "{}: {said}", contract.name());
    }
}

#[test]
fn an_address_has_one_spelling_and_what_is_none_gets_a_hint() {
    for contract in all() {
        let adapter = nowhere(contract);
        let (name, address) = (contract.name(), contract.address);
        assert_eq!(adapter.resolve(address).as_deref(), Ok(address), "{name}");
        for bad in ["", " ", "\u{0}", &"x".repeat(10_000)] {
            let error = adapter.resolve(bad).expect_err(&name);
            assert!(error.hint.len() > 5 && error.to_string().len() < 1_000, "{name}: {error}");
        }
    }
}

/// Texts of a length that are told apart: the n-th begins with n.
fn filled(n: usize, length: usize) -> String {
    let head = format!("{n}.");
    head.chars().chain(std::iter::repeat('x')).take(length.clamp(1, 4_000)).collect()
}

fn buttons(rules: &ButtonRules, beyond: usize) -> Vec<Vec<Button>> {
    let mut left = rules.in_all + beyond;
    let mut rows = Vec::new();
    while left > 0 && rows.len() < rules.rows + beyond {
        let row = (0..left.min(rules.per_row + beyond)).map(|n| {
            let n = rows.len() * 100 + n;
            let press = match rules.data {
                0 => Press::Url(format!("https://a.test/{n}")),
                most => Press::Data(filled(n, most + beyond)),
            };
            Button { text: filled(n, rules.text + beyond), press }
        });
        let row: Vec<Button> = row.collect();
        left -= row.len();
        rows.push(row);
    }
    rows
}

fn selects(rules: &SelectRules, beyond: usize) -> Vec<Select> {
    let choice = |n| Choice { label: filled(n, rules.text + beyond), value: filled(n, rules.text + beyond) };
    let list = |n: usize| Select {
        id: format!("list{n}"),
        placeholder: Some("Choose".into()),
        options: (0..rules.options + beyond).map(choice).collect(),
    };
    (0..rules.in_all + beyond).map(list).collect()
}

fn form(rules: &FormRules, beyond: usize) -> Form {
    let field = |n| Field {
        name: filled(n, rules.name + beyond),
        label: filled(n, rules.label + beyond),
        long: n == 0,
        required: n == 0,
        min: Some(0),
        max: u16::try_from(rules.value).ok(),
        placeholder: Some(filled(n, rules.placeholder + beyond)),
        value: Some(filled(n, rules.value + beyond)),
    };
    let title = filled(0, rules.title + beyond);
    Form { title, fields: (0..rules.fields + beyond).map(field).collect() }
}

fn poll(rules: &PollRules, beyond: usize) -> Poll {
    Poll {
        question: filled(0, rules.question + beyond),
        options: (0..rules.options + beyond).map(|n| filled(n, rules.option + beyond)).collect(),
        multiple: rules.multiple,
        seconds: (rules.seconds > 0).then_some(rules.seconds + beyond as u64),
        anonymous: rules.anonymous.then_some(false),
    }
}

/// All texts of a request, and how often each is there.
fn texts(value: &Value, into: &mut BTreeMap<String, usize>) {
    match value {
        Value::String(text) => *into.entry(text.clone()).or_default() += 1,
        Value::Array(list) => list.iter().for_each(|one| texts(one, into)),
        Value::Object(members) => members.values().for_each(|one| texts(one, into)),
        _ => {}
    }
}

/// Nothing is left out of a request, cut off or refused.
fn assert_whole<'a>(what: &str, request: &Value, expected: impl IntoIterator<Item = &'a String>) {
    assert_eq!(request.get("refused"), None, "{what}: {request}");
    let mut there = BTreeMap::new();
    texts(request, &mut there);
    for text in expected {
        let has = there.keys().any(|one| one.contains(text.as_str()));
        assert!(has, "{what}: {text} is not in {}", request);
    }
}

/// The second round goes beyond each bound, where the adapter may refuse or leave out, and must not panic.
#[test]
fn what_is_within_the_bounds_stands_in_the_request_as_a_whole_and_beyond_them_nothing_breaks() {
    let text = part("Tea?");
    for contract in all() {
        let adapter = nowhere(contract);
        let can = adapter.capabilities();
        let compose =
            |extras: &Extras| adapter.composed(&OutgoingPart { extras, ..outgoing(contract.address, &text) });
        for beyond in [0, 3] {
            let name = format!("{}, {beyond} beyond the bound", contract.name());
            if let Some(rules) = &can.buttons {
                let rows = buttons(rules, beyond);
                let request = compose(&Extras { buttons: rows.clone(), ..Extras::default() });
                let shown = rows.iter().flatten().map(|button| &button.text);
                if beyond == 0 {
                    assert_whole(&name, &request, shown.chain([&text.text]));
                }
            }
            if let Ok(rules) = &can.forms {
                let form = form(rules, beyond);
                let opens = Button { text: "Say".into(), press: Press::Form(form.clone()) };
                let request = compose(&Extras { buttons: vec![vec![opens]], ..Extras::default() });
                let shown = form.fields.iter().flat_map(|field| [&field.label, &field.name]);
                if beyond == 0 {
                    assert_whole(&name, &request, shown.chain([&form.title, &text.text]));
                }
            }
            if let Some(rules) = &can.selects {
                let lists = selects(rules, beyond);
                let request = compose(&Extras { selects: lists.clone(), ..Extras::default() });
                let shown = lists.iter().flat_map(|list| &list.options).map(|choice| &choice.label);
                if beyond == 0 {
                    assert_whole(&name, &request, shown);
                }
            }
            if let Some(rules) = &can.polls {
                let poll = poll(rules, beyond);
                let operation = Operation::Poll(poll.clone());
                let request = adapter
                    .composed_operation(&op(contract.address, &operation, None))
                    .unwrap_or_else(|| panic!("{name}"));
                if beyond == 0 {
                    assert_whole(&name, &request, poll.options.iter().chain([&poll.question]));
                }
            }
        }
        for effect in can.effects {
            let request = compose(&Extras { effect: Some((*effect).into()), ..Extras::default() });
            assert_ne!(request, compose(Extras::NONE), "{}: {effect} is not in it", contract.name());
        }
        assert_eq!(
            can.cards.is_some(),
            !contract.card.is_empty(),
            "{}: say in `card` of {} which card it takes",
            contract.name(),
            contract.file("contract.rs")
        );
        if let Some(rules) = &can.cards {
            let card: Value = serde_json::from_str(contract.card).unwrap();
            assert_eq!((rules.check)(&card), Ok(()), "{}", contract.name());
            let request = compose(&Extras { card: Some(card), ..Extras::default() });
            assert_whole(&contract.name(), &request, [&"in a card".to_owned(), &text.text]);
            for odd in [json!(null), json!([]), json!({}), json!("x"), json!({"a": 1})] {
                assert!((rules.check)(&odd).is_err(), "{}: {odd}", contract.name());
                compose(&Extras { card: Some(odd), ..Extras::default() });
            }
        }
    }
}

#[tokio::test]
async fn a_request_that_was_not_stored_by_us_goes_nowhere_and_breaks_nothing() {
    for contract in all() {
        // Whatever it is given is what these two send.
        if matches!(contract.channel, "webhook" | "ntfy") {
            continue;
        }
        let adapter = nowhere(contract);
        for odd in [json!(null), json!({}), json!([1]), json!("x"), json!({"method": 1, "body": []})] {
            let ended = adapter.delivered(&odd, &key()).await;
            assert!(ended.is_err(), "{}: {odd}", contract.name());
            let _ = adapter.redelivery_of(&odd);
        }
    }
}

#[test]
fn an_answer_in_a_thread_in_silence_is_composed_wherever_it_is_claimed() {
    let text = part("Hello");
    for contract in all() {
        let adapter = nowhere(contract);
        let can = adapter.capabilities();
        let plain = outgoing(contract.address, &text);
        let bare = adapter.composed(&plain);
        let claims = [
            (can.threads, OutgoingPart { thread: Some(contract.message), ..plain }, "threads"),
            (can.replies, OutgoingPart { reply_to: Some(contract.message), ..plain }, "replies"),
            (can.silent, OutgoingPart { silent: true, ..plain }, "silence"),
        ];
        for (claimed, outgoing, what) in claims {
            let request = adapter.composed(&outgoing);
            if claimed {
                assert_ne!(request, bare, "{}: {what} are claimed", contract.name());
                assert_eq!(request.get("refused"), None, "{}: {what}", contract.name());
            }
        }
        let operation = Operation::Delete { message: contract.message.into() };
        let full = OperationRequest {
            thread: Some("1"),
            reply_to: Some("2"),
            silent: true,
            ..op(contract.address, &operation, None)
        };
        let _ = adapter.composed_operation(&full);
    }
}

//! What each event says.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{
        draft::{Draft, Ts},
        envelope::{self, Came, Content},
        message::written,
        mrkdwn, reader,
        reader::read_alone,
    },
    ANN, KITCHEN, message,
};
use crate::channels::{
    received::{AuthorKind, DropReason, Dropped, Event, MAX_FILES, Received},
    slack::client::Me,
};

const MINE: &str = "U0HUB0001";
const TS: &str = "1790000000.000100";

fn me() -> Me {
    Me { user: MINE.into(), bot: Some("B0HUB0001".into()), team: "T0HOUSE01".into() }
}

/// A message of somebody's, with these members besides.
fn with(more: Value) -> Value {
    let mut message = message(TS, "Hello");
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

fn callback(event: &Value) -> Value {
    json!({"type": "event_callback", "team_id": "T0HOUSE01", "event": event})
}

fn read(event: &Value) -> Result<Vec<Draft>, Dropped> {
    reader::read("events_api", &callback(event), &me())
}

fn one(event: &Value) -> Received {
    let mut drafts = read(event).unwrap_or_else(|dropped| panic!("{dropped:?}: {event}"));
    assert_eq!(drafts.len(), 1);
    let mut draft = drafts.remove(0);
    mrkdwn::plain_words(&mut draft.received.event, |_| None);
    draft.placed(None, None).bounded().unwrap()
}

fn left(event: &Value) -> Dropped {
    read(event).expect_err(&event.to_string())
}

#[test]
fn a_mention_is_one_message_however_often_it_is_told() {
    let text = format!("<@{MINE}> tea &amp; cake?");
    let mut mention = with(json!({"text": text, "type": "app_mention"}));
    let message = one(&with(json!({"text": text, "channel_type": "channel"})));
    assert_eq!(one(&mention), message);
    assert!(message.mentions_me && message.key == format!("{KITCHEN}:{TS}"));
    assert_eq!((message.said_at, message.message_id.as_deref()), (Some(1_790_000_000_000), Some(TS)));
    assert_eq!(message.event.words().unwrap().text, format!("@{MINE} tea & cake?"));
    // Whoever types it calls nobody.
    assert!(!one(&with(json!({"text": format!("&lt;@{MINE}&gt; hub, U0HUB0001 <!here>")}))).mentions_me);
    mention["user"] = MINE.into();
    let own = one(&mention);
    assert_eq!((own.author.kind, own.mentions_me), (AuthorKind::Myself, false));
}

#[test]
fn a_mention_in_a_message_that_somebody_shares_calls_nobody() {
    let theirs = format!("<@{MINE}> open the door");
    let shared = |kind: &str, own: &str, more: Value| {
        let attachment = json!({kind: true, "author_id": "U0EVE0001", "text": theirs,
            "message_blocks": [{"message": {"blocks": [{"type": "user", "user_id": MINE}]}}]});
        let mut message = with(json!({"text": own, "attachments": [attachment]}));
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        one(&message)
    };
    let own = format!("<@{MINE}> what is this?");
    let blocks = json!({"blocks": [{"type": "rich_text", "elements": [
        {"type": "rich_text_section", "elements": [{"type": "user", "user_id": MINE}]}]}]});
    for kind in ["is_share", "is_msg_unfurl"] {
        for (text, more, calls) in [
            ("look", json!({}), false),
            ("look", json!({"type": "app_mention"}), false),
            (own.as_str(), json!({}), true),
            (own.as_str(), json!({"type": "app_mention"}), true),
            ("look", blocks.clone(), true),
        ] {
            assert_eq!(shared(kind, text, more.clone()).mentions_me, calls, "{kind} {text} {more}");
        }
    }
    assert!(shared("is_share", "look", json!({})).event.words().unwrap().text.ends_with("open the door"));
}

#[test]
fn who_wrote_it_is_told_from_programs_and_from_the_account_itself() {
    for (more, kind, id) in [
        (json!({}), AuthorKind::Person, ANN),
        (json!({"user": MINE}), AuthorKind::Myself, MINE),
        (json!({"user": MINE, "bot_id": "B0HUB0001"}), AuthorKind::Myself, MINE),
        (
            json!({"user": null, "bot_id": "B0HUB0001", "subtype": "bot_message"}),
            AuthorKind::Myself,
            "B0HUB0001",
        ),
        (
            json!({"user": null, "bot_id": "B0OTHER01", "subtype": "bot_message", "username": "Ann"}),
            AuthorKind::Program,
            "B0OTHER01",
        ),
        (json!({"bot_id": "B0OTHER01"}), AuthorKind::Program, ANN),
        (json!({"user": "USLACKBOT"}), AuthorKind::Program, "USLACKBOT"),
    ] {
        let received = one(&with(more.clone()));
        assert_eq!((received.author.kind, received.author.id.as_str()), (kind, id), "{more}");
    }
    assert_eq!(left(&with(json!({"user": null}))).reason, DropReason::Unreadable);
}

#[test]
fn an_answer_in_a_thread_of_the_accounts_own_means_the_account() {
    let answer = |root: &str, parent: &str| {
        one(&with(json!({"thread_ts": root, "parent_user_id": parent, "subtype": "thread_broadcast"})))
    };
    let mine = answer("1780000000.000200", MINE);
    assert_eq!(mine.conversation.thread.as_deref(), Some("1780000000.000200"));
    let reply = mine.event.words().unwrap().reply_to.clone().unwrap();
    assert!(mine.mentions_me && reply.mine && reply.id == "1780000000.000200");
    let other = answer("1780000000.000200", ANN);
    assert!(!other.mentions_me && other.conversation.thread.is_some());
    // It begins the thread.
    let root = answer(TS, ANN);
    assert_eq!((root.conversation.thread, &root.event.words().unwrap().reply_to), (None, &None));
}

#[test]
fn a_direct_conversation_is_its_persons() {
    let direct = one(&with(json!({"channel": "D012AB3CD", "channel_type": "im"})));
    assert!(direct.conversation.direct);
    assert_eq!(direct.conversation.address, ANN);
    let group = one(&with(json!({"channel": "G012AB3CD", "channel_type": "mpim"})));
    assert_eq!((group.conversation.direct, group.conversation.address.as_str()), (false, "G012AB3CD"));
    // Whose it is must be asked where somebody else is told of.
    let draft = read(&with(json!({"channel": "D012AB3CD", "user": MINE}))).unwrap().remove(0);
    assert_eq!(draft.clone().placed(None, None).conversation.address, "D012AB3CD");
    assert_eq!(draft.placed(Some(ANN.into()), None).conversation.address, ANN);
}

#[test]
fn an_edit_is_one_where_the_words_changed() {
    let changed = |text: &str, edited: &str| {
        json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": KITCHEN, "ts": "1790000009.000000",
            "message": {"type": "message", "user": ANN, "text": text, "ts": TS, "edited": {"user": ANN, "ts": edited}},
            "previous_message": {"type": "message", "user": ANN, "text": "Hello", "ts": TS},
        })
    };
    let edit = one(&changed("Goodbye", "1790000008.000000"));
    assert!(matches!(&edit.event, Event::Edit(words) if words.text == "Goodbye"), "{edit:?}");
    assert_eq!(edit.key, format!("{KITCHEN}:{TS}:1790000008.000000"));
    assert_eq!((edit.message_id.as_deref(), edit.said_at), (Some(TS), Some(1_790_000_008_000)));
    assert_ne!(one(&changed("Goodbye", "1790000010.000000")).key, edit.key);
    // A link was unfolded, or an answer counted.
    assert_eq!(left(&changed("Hello", "1790000008.000000")).what, "message_changed without an edit");
    let mut unfurled = changed("Goodbye", "x");
    unfurled["message"].as_object_mut().unwrap().remove("edited");
    assert_eq!(left(&unfurled).reason, DropReason::NotUsed);
}

#[test]
fn an_edit_by_somebody_else_is_nobodys_words() {
    let changed = |editor: Value| {
        one(&json!({
            "type": "message", "subtype": "message_changed", "channel": KITCHEN, "ts": "1790000009.000000",
            "message": {
                "type": "message", "user": ANN, "text": "Open the door", "ts": TS,
                "edited": {"user": editor, "ts": "1790000008.000000"},
            },
            "previous_message": {"type": "message", "user": ANN, "text": "Hello", "ts": TS},
        }))
    };
    assert!(!changed(json!(ANN)).author.unverified);
    for editor in [json!("U0000EVE1"), json!(null), json!(5)] {
        let edit = changed(editor);
        assert!(matches!(edit.event, Event::Edit(_)) && edit.author.unverified, "{edit:?}");
    }
}

#[test]
fn words_that_another_changed_are_nobodys_wherever_they_come() {
    let with = |kind: &str, editor: Value| {
        let edited = json!({"user": editor, "ts": "1790000008.000000"});
        json!({"type": kind, "channel": KITCHEN, "user": ANN, "text": "<@U0HUB0001> open", "ts": TS, "edited": edited})
    };
    for kind in ["message", "app_mention"] {
        assert!(!one(&with(kind, json!(ANN))).author.unverified);
        for editor in [json!("U0000EVE1"), json!(null), json!(5)] {
            assert!(one(&with(kind, editor)).author.unverified, "{kind}");
        }
    }
    // As `conversations.history` has it.
    let asked = |message: Value| written(KITCHEN.into(), &message, &me()).unwrap().received.author;
    assert!(asked(with("message", json!("U0000EVE1"))).unverified);
    assert!(!asked(with("message", json!(ANN))).unverified);
}

#[test]
fn files_beyond_those_that_are_kept_are_missing_by_their_names() {
    let file = |n: usize| json!({"id": format!("F0{n}"), "name": format!("{n}.jpg"), "url_private": "https://files.slack.com/x"});
    let draft =
        read(&with(json!({"files": (0..MAX_FILES + 2).map(file).collect::<Vec<_>>()}))).unwrap().remove(0);
    let missing = &draft.received.event.words().unwrap().missing;
    assert_eq!((draft.links.len(), missing.len()), (MAX_FILES, 2));
    assert!(missing[0].starts_with("16.jpg: more files came"), "{missing:?}");
}

#[test]
fn what_is_taken_back_is_told_by_who_wrote_it_whom_nobody_vouches_for() {
    let before =
        json!({"type": "message", "user": ANN, "text": "Hello", "ts": TS, "thread_ts": "1780000000.000200"});
    let deleted = json!({
        "type": "message", "subtype": "message_deleted", "channel": KITCHEN, "deleted_ts": TS,
        "ts": "1790000009.000000", "event_ts": "1790000009.000000", "previous_message": before,
    });
    let stone = json!({
        "type": "message", "subtype": "message_changed", "channel": KITCHEN, "event_ts": "1790000009.000000",
        "message": {"subtype": "tombstone", "user": "USLACKBOT", "text": "This message was deleted.", "ts": TS},
        "previous_message": before,
    });
    for event in [&deleted, &stone] {
        let gone = one(event);
        assert_eq!((&gone.event, gone.message_id.as_deref()), (&Event::Delete, Some(TS)));
        assert!(gone.author.unverified && gone.author.id == ANN, "{gone:?}");
        assert_eq!(gone.conversation.thread.as_deref(), Some("1780000000.000200"));
        assert_eq!(gone.key, format!("{KITCHEN}:{TS}"));
    }
    let mut unknown = deleted;
    unknown["previous_message"] = Value::Null;
    assert_eq!(one(&unknown).author.id, "U0");
}

#[test]
fn reactions_come_and_go_by_the_sign_that_people_see() {
    let reaction = |kind: &str, name: &str| {
        json!({
            "type": kind, "user": ANN, "reaction": name, "item_user": MINE, "event_ts": "1790000009.000200",
            "item": {"type": "message", "channel": KITCHEN, "ts": TS},
        })
    };
    let added = one(&reaction("reaction_added", "thumbsup::skin-tone-2"));
    assert_eq!(added.event, Event::Reaction { emoji: "👍".into(), removed: false });
    assert_eq!((added.message_id.as_deref(), added.said_at), (Some(TS), Some(1_790_000_009_000)));
    let removed = one(&reaction("reaction_removed", "hub"));
    assert_eq!(removed.event, Event::Reaction { emoji: ":hub:".into(), removed: true });
    assert_ne!(one(&reaction("reaction_removed", "thumbsup::skin-tone-2")).key, added.key);
    let mut file = reaction("reaction_added", "eyes");
    file["item"] = json!({"type": "file", "file": "F1"});
    assert_eq!(left(&file).what, "reaction_added of what is no message");
}

#[test]
fn who_joins_and_leaves_is_told_and_who_takes_the_account_along() {
    let moved = |kind: &str, user: &str| json!({"type": kind, "user": user, "channel": KITCHEN, "channel_type": "C", "team": "T0HOUSE01", "inviter": ANN, "event_ts": TS});
    let joined = one(&moved("member_joined_channel", "U099AB3CD"));
    assert_eq!((joined.event, joined.author.id.as_str()), (Event::Join, "U099AB3CD"));
    let taken = one(&moved("member_joined_channel", MINE));
    assert_eq!((taken.author.id.as_str(), taken.author.kind), (ANN, AuthorKind::Person));
    assert_eq!(one(&moved("member_left_channel", ANN)).event, Event::Leave);
    // The same again in words.
    assert_eq!(left(&with(json!({"subtype": "channel_join"}))).what, "message of subtype channel_join");
}

#[test]
fn a_press_says_its_data_and_a_choice_its_list() {
    let press = |action: Value| {
        let mut action = action;
        action["action_ts"] = "1790000009.000300".into();
        json!({
            "type": "block_actions", "team": {"id": "T0HOUSE01", "domain": "house"}, "api_app_id": "A1",
            "user": {"id": ANN, "username": "ann", "name": "ann", "team_id": "T0HOUSE01"}, "trigger_id": "1.2.3",
            "container": {"type": "message", "message_ts": TS, "channel_id": KITCHEN, "is_ephemeral": false},
            "channel": {"id": KITCHEN, "name": "kitchen"}, "message": {"ts": TS, "thread_ts": "1780000000.000200"},
            "actions": [action], "response_url": "https://hooks.slack.com/actions/hush",
        })
    };
    let read = |payload: &Value| reader::read("interactive", payload, &me());
    for (action, data) in [
        (json!({"type": "button", "action_id": "button_0_0", "value": "y"}), "y"),
        (json!({"type": "button", "action_id": "poll_1", "value": "poll:1"}), "poll:1"),
        (json!({"type": "static_select", "action_id": "day", "selected_option": {"value": "1"}}), "day=1"),
        (
            json!({"type": "multi_static_select", "action_id": "day", "selected_options": [{"value": "1"}, {"value": "2"}]}),
            "day=1,2",
        ),
        (
            json!({"type": "datepicker", "action_id": "when", "selected_date": "2026-11-27"}),
            "when=2026-11-27",
        ),
    ] {
        let payload = press(action);
        let pressed = read(&payload).unwrap().remove(0).placed(None, None).bounded().unwrap();
        assert_eq!(pressed.event, Event::Press { data: data.into() });
        assert_eq!((pressed.message_id.as_deref(), pressed.mentions_me), (Some(TS), true));
        assert_eq!(pressed.conversation.thread.as_deref(), Some("1780000000.000200"));
        assert_eq!((pressed.author.id.as_str(), pressed.conversation.address.as_str()), (ANN, KITCHEN));
        assert!(!format!("{pressed:?}").contains("hush"));
    }
    let link = press(json!({"type": "button", "action_id": "button_0_1", "url": "https://a.test"}));
    assert_eq!(read(&link).unwrap_err().what, "block_actions without data");
    let mut view = press(json!({"type": "button", "value": "y"}));
    view["container"]["type"] = "view".into();
    assert_eq!(read(&view).unwrap_err().reason, DropReason::NotUsed);
}

#[test]
fn what_is_handed_on_is_somebody_elses() {
    let shared = one(&with(json!({
        "text": "See:", "attachments": [{"is_share": true, "author_id": "U099AB3CD", "text": "The &lt;key&gt; is out"}, {"text": "a preview"}],
    })));
    let words = shared.event.words().unwrap();
    assert_eq!((words.text.as_str(), words.forwarded), ("See:\n\nThe <key> is out", true));
    let previewed = one(&with(json!({"attachments": [{"text": "a preview", "from_url": "https://a.test"}]})));
    assert!(!previewed.event.words().unwrap().forwarded);
}

#[test]
fn what_is_handed_on_without_a_text_of_its_own_is_somebody_elses_too() {
    let told = |text: &str, attachments: Value| {
        let words =
            one(&with(json!({"text": text, "attachments": attachments}))).event.words().unwrap().clone();
        assert!(words.forwarded, "{words:?}");
        (words.text, words.missing)
    };
    let shared = |more: Value| {
        let mut one = json!({"is_share": true, "author_id": "U0EVE0001", "text": ""});
        one.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        one
    };
    let blocks = json!([{"message": {"blocks": [
        {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
            {"type": "text", "text": "send <the> "}, {"type": "user", "user_id": MINE}, {"type": "link", "url": "https://a.test"},
        ]}]},
        {"type": "section", "text": {"type": "mrkdwn", "text": "all &amp; now"}},
    ]}}]);
    let (text, missing) = told("do as she says", json!([shared(json!({"message_blocks": blocks}))]));
    assert_eq!(text, format!("do as she says\n\nsend <the> @{MINE}https://a.test\nall & now"));
    assert!(missing.is_empty());
    let picture = shared(json!({"files": [{"id": "F1", "name": "keys.png", "mode": "hosted"}]}));
    for text in ["do as she says", ""] {
        let (told, missing) = told(text, json!([picture]));
        assert_eq!((told.as_str(), missing.len()), (text, 1));
        assert!(missing[0].starts_with("keys.png: it is in a message that was shared"), "{missing:?}");
    }
    let (_, missing) = told("", json!([shared(json!({}))]));
    assert_eq!(missing, ["shared message: it has no words that can be read"]);
    let five: Vec<Value> = (0..7).map(|n| shared(json!({"text": format!("word {n}")}))).collect();
    let (text, missing) = told("see", json!(five));
    assert!(text.ends_with("word 3"), "{text}");
    assert_eq!(missing, ["shared messages: 3 more are not read"]);
    let mut deep = json!({"type": "text", "text": "x"});
    for _ in 0..60 {
        deep = json!({"elements": [deep]});
    }
    let (_, missing) = told("", json!([shared(json!({"blocks": [deep]}))]));
    assert_eq!(missing.len(), 1, "what lies too deep is said not to be read");
}

#[test]
fn another_workspaces_events_are_left_and_a_shared_channels_are_not() {
    let payload = |team: &str, installed: Value| json!({"type": "event_callback", "team_id": team, "authorizations": installed, "event": with(json!({}))});
    let read = |payload: &Value| reader::read("events_api", payload, &me());
    assert!(read(&payload("T0HOUSE01", json!([]))).is_ok());
    assert!(read(&payload("T0OTHER01", json!([{"team_id": "T0HOUSE01"}]))).is_ok());
    assert!(read(&json!({"event": with(json!({}))})).is_ok());
    let other = read(&payload("T0OTHER01", json!([{"team_id": "T0OTHER01"}]))).unwrap_err();
    assert_eq!(other.what, "events_api of another workspace");
}

#[test]
fn a_repetition_is_read_as_the_first_time() {
    let envelope = |attempt: u64, reason: &str| {
        let payload = callback(&with(json!({"ts": "1500000000.000100"})));
        json!({
            "type": "events_api", "envelope_id": format!("e{attempt}"), "payload": payload,
            "retry_attempt": attempt, "retry_reason": reason, "accepts_response_payload": false,
        })
        .to_string()
    };
    for (attempt, reason) in [(0, ""), (1, "timeout"), (3, "http_error"), (99, "tomorrow")] {
        match envelope::read(&envelope(attempt, reason), &me()) {
            Came::Event(Some(id), Content::Read(Ok(drafts))) => {
                assert_eq!(
                    (id, drafts[0].received.key.as_str()),
                    (format!("e{attempt}"), "C012AB3CD:1500000000.000100")
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_time_of_a_message_is_two_numbers() {
    assert_eq!(Ts::parse(TS).map(|ts| ts.to_string()).as_deref(), Some(TS));
    assert_eq!(Ts::parse("0.000001").map(|ts| ts.to_string()).as_deref(), Some("0.000001"));
    for other in
        ["", ".", "1.1", "x.000100", "1.0000001", "-1.000100", "1,000100", "99999999999999999999.000100"]
    {
        assert_eq!(Ts::parse(other), None, "{other}");
    }
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "[A-Z0-9]{1,11}".prop_map(Value::from),
        Just(json!(KITCHEN)),
        Just(json!(TS)),
        prop_oneof![
            Just("message_changed"),
            Just("message_deleted"),
            Just("block_actions"),
            Just("reaction_added")
        ]
        .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[<>@#!|&;a-z^]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let names = "type|subtype|channel|user|ts|text|event|item|message|previous_message|files|attachments|edited|actions|container|message_ts|channel_id|reaction|id|value|thread_ts|event_ts|bot_id";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(names, inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_left(
        kind in prop_oneof![Just("events_api"), Just("interactive")],
        name in prop_oneof![Just("message"), Just("app_mention"), Just("reaction_added"), Just("member_joined_channel"), Just("x")],
        mut payload in anything(),
        event in anything(),
    ) {
        envelope::read(&payload.to_string(), &me());
        if payload.is_object() {
            payload["event"] = event;
            if payload["event"].is_object() {
                payload["event"]["type"] = name.into();
            }
        }
        let batch = read_alone(kind, &payload);
        prop_assert!(batch.received.len() + batch.dropped.len() <= 8);
        for received in batch.received {
            prop_assert!(!received.author.id.is_empty() && !received.conversation.address.is_empty());
        }
    }
}

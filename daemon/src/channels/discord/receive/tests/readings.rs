//! What each event says.

use proptest::prelude::*;
use serde_json::Value;

use super::{
    super::reader::{read, read_in_a_channel},
    *,
};
use crate::channels::{
    discord::places::Place,
    received::{DropReason, ReplyTo},
};

const ME: &str = "1986";

/// A message of somebody's, with these members besides.
fn message(more: Value) -> Value {
    let mut message = json!({
        "id": "101", "channel_id": "42", "type": 0, "content": "Hello", "timestamp": "2026-11-23T12:00:00.123000+00:00",
        "edited_timestamp": null, "author": {"id": "99", "username": "ann", "global_name": "Ann"}, "mentions": [],
    });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

fn one(name: &str, data: &Value) -> Received {
    let mut drafts = read(name, data, "s:1", ME).unwrap_or_else(|dropped| panic!("{dropped:?}: {data}"));
    assert_eq!(drafts.len(), 1);
    drafts.remove(0).placed(&Place::default()).unwrap().bounded().unwrap()
}

fn left(name: &str, data: &Value) -> Dropped {
    read(name, data, "s:1", ME).expect_err(&data.to_string())
}

#[test]
fn a_message_says_who_wrote_it_when_and_whether_the_bot_is_meant() {
    let plain = one("MESSAGE_CREATE", &message(json!({})));
    assert_eq!((plain.key.as_str(), plain.said_at), ("101", Some(1_795_435_200_123)));
    assert_eq!((plain.author.id.as_str(), plain.author.name.as_deref()), ("99", Some("Ann")));
    assert!(!plain.mentions_me);
    for (more, meant) in [
        (json!({"mentions": [{"id": ME}]}), true),
        (json!({"content": "1986, hub!", "mention_everyone": true}), false),
        (
            json!({"type": 19, "message_reference": {"message_id": "90"}, "referenced_message": {"author": {"id": ME}}}),
            true,
        ),
        (json!({"type": 19, "message_reference": {"message_id": "90"}, "referenced_message": null}), false),
        (json!({"author": {"id": ME}, "mentions": [{"id": ME}]}), false),
    ] {
        assert_eq!(one("MESSAGE_CREATE", &message(more.clone())).mentions_me, meant, "{more}");
    }
    for (more, kind) in [
        (json!({"author": {"id": ME, "bot": true}}), AuthorKind::Myself),
        (json!({"author": {"id": "5", "bot": true}}), AuthorKind::Program),
        (json!({"webhook_id": "5", "author": {"id": "5", "username": "ann"}}), AuthorKind::Program),
    ] {
        assert_eq!(one("MESSAGE_CREATE", &message(more.clone())).author.kind, kind, "{more}");
    }
}

#[test]
fn replies_forwards_polls_and_stickers_have_their_words() {
    let reply = json!({"type": 19, "message_reference": {"type": 0, "message_id": "90"},
        "referenced_message": {"author": {"id": ME}, "content": "Tea?"}});
    let reply = one("MESSAGE_CREATE", &message(reply));
    let to = ReplyTo { id: "90".into(), mine: true, author: Some("1986".into()), text: Some("Tea?".into()) };
    assert_eq!(reply.event.words().unwrap().reply_to, Some(to));
    let forward = json!({"content": "", "message_reference": {"type": 1, "message_id": "90"},
        "message_snapshots": [{"message": {"content": "News"}}]});
    let forward = one("MESSAGE_CREATE", &message(forward));
    let words = forward.event.words().unwrap();
    assert!(words.forwarded && words.text == "News" && words.reply_to.is_none());
    let poll = json!({"content": "", "poll": {"question": {"text": "Tea?"},
        "answers": [{"answer_id": 1, "poll_media": {"text": "Yes"}}, {"answer_id": 2, "poll_media": {"text": "No"}}]}});
    assert_eq!(texts(&[one("MESSAGE_CREATE", &message(poll))]), ["Tea?\n- Yes\n- No"]);
    let sticker = json!({"content": "", "sticker_items": [{"id": "1", "name": "Wave"}]});
    let sticker = one("MESSAGE_CREATE", &message(sticker));
    assert_eq!(sticker.event.words().unwrap().missing, ["a sticker: Wave"]);
    assert_eq!(one("MESSAGE_CREATE", &message(json!({"type": 7, "content": ""}))).event, Event::Join);
}

#[test]
fn an_edit_is_one_only_with_its_time_and_what_nobody_did_is_left() {
    let edited_at = "2026-11-23T12:05:00+00:00";
    let edit = one("MESSAGE_UPDATE", &message(json!({"edited_timestamp": edited_at})));
    assert_eq!((edit.key, edit.message_id.as_deref()), (format!("101:{edited_at}"), Some("101")));
    assert!(matches!(edit.event, Event::Edit(_)));
    for (name, data) in [
        ("MESSAGE_UPDATE", message(json!({}))),
        ("MESSAGE_CREATE", message(json!({"content": ""}))),
        ("MESSAGE_CREATE", message(json!({"type": 6}))),
        ("INTERACTION_CREATE", json!({"type": 2, "id": "1", "token": "t", "data": {"name": "help"}})),
        ("TYPING_START", json!({})),
    ] {
        assert_eq!(left(name, &data).reason, DropReason::NotUsed, "{name} {data}");
    }
    for data in [json!({}), json!([]), message(json!({"id": "0"})), message(json!({"author": null}))] {
        assert_eq!(left("MESSAGE_CREATE", &data).reason, DropReason::Unreadable, "{data}");
    }
}

#[test]
fn deletions_reactions_votes_and_presses_are_about_a_message() {
    let about = json!({"channel_id": "42", "message_id": "101", "user_id": "99"});
    let with = |more: Value| {
        let mut data = about.clone();
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data
    };
    let reaction = |emoji: Value| one("MESSAGE_REACTION_ADD", &with(json!({"emoji": emoji}))).event;
    assert_eq!(
        reaction(json!({"id": null, "name": "👍"})),
        Event::Reaction { emoji: "👍".into(), removed: false }
    );
    let own = reaction(json!({"id": "5", "name": "hub"}));
    assert_eq!(own, Event::Reaction { emoji: "hub:5".into(), removed: false });
    let removed = one("MESSAGE_REACTION_REMOVE", &with(json!({"emoji": {"name": "👍"}})));
    assert!(matches!(removed.event, Event::Reaction { removed: true, .. }));
    assert_eq!((removed.key.as_str(), removed.message_id.as_deref()), ("s:1", Some("101")));
    let vote = |name: &str| one(name, &with(json!({"answer_id": 2}))).event;
    assert_eq!(vote("MESSAGE_POLL_VOTE_ADD"), Event::Vote { options: vec!["2".into()] });
    assert_eq!(vote("MESSAGE_POLL_VOTE_REMOVE"), Event::Vote { options: vec![] });
    let deleted = one("MESSAGE_DELETE", &json!({"id": "101", "channel_id": "42"}));
    assert_eq!((deleted.event, deleted.author.unverified), (Event::Delete, true));
    let bulk = json!({"ids": ["1", "x", "2"], "channel_id": "42"});
    assert_eq!(read("MESSAGE_DELETE_BULK", &bulk, "s:1", ME).unwrap().len(), 2);
    // Those of forms are answered where they come in.
    let form = json!({"type": 3, "data": {"custom_id": "gatepost:form:x:0"}});
    assert_eq!(read("INTERACTION_CREATE", &form, "s:1", ME), Ok(vec![]));
}

#[test]
fn a_thread_is_reached_by_its_channel_and_a_person_by_their_id() {
    let placed = |place: &Place| {
        let draft = read("MESSAGE_CREATE", &message(json!({})), "", ME).unwrap().remove(0);
        draft.placed(place).map(|received| {
            let conversation = received.conversation;
            (conversation.address, conversation.thread, conversation.direct)
        })
    };
    let place = Place::default();
    assert_eq!(placed(&place), Ok(("42".into(), None, false)));
    let thread = Place { kind: 11, parent: Some("5".into()), ..place.clone() };
    assert_eq!(placed(&thread), Ok(("5".into(), Some("42".into()), false)));
    let person = Place { kind: 1, person: Some("99".into()), ..place.clone() };
    assert_eq!(placed(&person), Ok(("@99".into(), None, true)));
    assert!(placed(&Place { kind: 1, ..place }).is_err());
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_u64..30).prop_map(Value::from),
        "[0-9]{1,21}".prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let names = "id|type|token|data|custom_id|channel_id|message_id|user_id|author|member|user|message|content|emoji|name|ids\
                     |edited_timestamp|timestamp|attachments|url|poll|mentions|message_reference|message_snapshots|answer_id";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_left(
        name in "(MESSAGE_(CREATE|UPDATE|DELETE|DELETE_BULK|REACTION_ADD|POLL_VOTE_ADD)|INTERACTION_CREATE|X)",
        data in anything(),
    ) {
        let batch = read_in_a_channel(&name, &data);
        prop_assert!(batch.received.len() + batch.dropped.len() <= 100);
    }
}

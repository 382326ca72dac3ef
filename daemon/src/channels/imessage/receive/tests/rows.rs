//! Every kind of row that a server hands over.

use serde_json::{Value, json};

use super::mac::{ANNA, said, with};
use crate::channels::{
    imessage::receive::server::read,
    received::{AuthorKind, DropReason, Dropped, Event, MAX_FILES, MORE_FILES, Received, ReplyTo},
};

const AT: i64 = 1_772_366_400_000;

fn rows(rows: &[Value]) -> (Vec<Received>, Vec<Dropped>) {
    read(json!({ "data": rows }).to_string().as_bytes())
}

fn one(row: Value) -> Received {
    let (mut received, dropped) = rows(std::slice::from_ref(&row));
    assert_eq!((received.len(), dropped.len()), (1, 0), "{row}: {received:?} {dropped:?}");
    received.remove(0)
}

fn in_group(row: Value) -> Value {
    with(
        row,
        json!({"chats": [{"guid": "any;+;chat123", "displayName": " Family ", "lastAddressedHandle": null}]}),
    )
}

#[test]
fn a_text_says_who_wrote_where_and_when() {
    let received = one(said("A-1", AT));
    assert_eq!((received.key.as_str(), received.message_id.as_deref()), ("A-1", Some("A-1")));
    assert_eq!((received.said_at, received.mentions_me), (Some(AT), false));
    assert_eq!((received.author.id.as_str(), received.author.unverified), (ANNA, false));
    let at = received.conversation;
    assert_eq!((at.address.as_str(), at.direct, at.title), (ANNA, true, None));
    let group = one(in_group(said("A-1", AT))).conversation;
    assert_eq!(
        (group.address.as_str(), group.direct, group.title.as_deref()),
        ("iMessage;+;chat123", false, Some("Family"))
    );
    let subject = one(with(said("A-1", AT), json!({"subject": "Tea", "text": "at five \u{fffc}"})));
    assert_eq!(subject.event.words().unwrap().text, "Tea\nat five");
    let reply = one(with(said("A-2", AT), json!({"threadOriginatorGuid": "A-1"})));
    let to = ReplyTo { id: "A-1".into(), ..ReplyTo::default() };
    assert_eq!(reply.event.words().unwrap().reply_to, Some(to));
}

#[test]
fn files_beyond_those_that_are_kept_are_missing_by_their_names() {
    let file = |n: usize| json!({"guid": format!("F-{n}"), "transferName": format!("{n}.jpg"), "mimeType": "image/jpeg"});
    let files: Vec<Value> = (0..MAX_FILES + 2).map(file).collect();
    let received = one(with(said("A-1", AT), json!({"attachments": files})));
    let missing = &received.event.words().unwrap().missing;
    assert_eq!(missing.len(), 2);
    assert_eq!(missing[0], format!("16.jpg: {MORE_FILES}"));
}

#[test]
fn who_writes_is_a_handle_in_its_one_spelling_and_only_apple_is_believed() {
    let by = |address: &str, service: &str, chat: &str| {
        let row = with(
            said("A-1", AT),
            json!({"handle": {"address": address, "service": service}, "chats": [{"guid": chat}]}),
        );
        let received = one(row);
        (received.conversation.address, received.author.id, received.author.unverified)
    };
    let is = |address: &str, id: &str, unverified| (address.to_owned(), id.to_owned(), unverified);
    assert_eq!(
        by("Anna@Example.org", "iMessage", "iMessage;-;Anna@Example.org"),
        is("anna@example.org", "anna@example.org", false)
    );
    assert_eq!(by(ANNA, "SMS", "SMS;-;+4915112345679"), is("SMS;-;+4915112345679", ANNA, true));
    assert_eq!(by(ANNA, "RCS", "any;-;+4915112345679"), is(ANNA, ANNA, true));
    assert_eq!(by("22395", "SMS", "any;-;22395"), is("any;-;22395", "SMS;-;22395", true));
    assert_eq!(by("DHL", "SMS", "SMS;-;DHL"), is("SMS;-;DHL", "SMS;-;dhl", true));
}

#[test]
fn what_the_account_itself_writes_is_its_own_from_either_end() {
    let own = one(with(said("A-1", AT), json!({"isFromMe": true, "handle": null})));
    assert_eq!((own.author.kind, own.author.id.as_str()), (AuthorKind::Myself, "+4915112345678"));
    let chats = json!([{"guid": "any;-;+4915112345678", "lastAddressedHandle": "+4915112345678"}]);
    let to_itself = json!({"handle": {"address": "+4915112345678", "service": "iMessage"}, "chats": chats});
    assert_eq!(one(with(said("A-2", AT), to_itself)).author.kind, AuthorKind::Myself);
}

#[test]
fn reactions_edits_and_removals_are_about_their_message() {
    let tapback = |kind: Value, text: &str| {
        let members =
            json!({"associatedMessageGuid": "p:0/B-1", "associatedMessageType": kind, "text": text});
        one(with(said("A-1", AT), members))
    };
    for (kind, text, emoji, removed) in [
        (json!("love"), "Loved “x”", "❤️", false),
        (json!("-like"), "", "👍", true),
        (json!("2006"), "Reacted 🎉 to “x”", "🎉", false),
        (json!(3006), "Removed a 🎉 from “x”", "🎉", true),
    ] {
        let received = tapback(kind, text);
        assert_eq!((received.key.as_str(), received.message_id.as_deref()), ("A-1", Some("B-1")));
        assert_eq!(received.event, Event::Reaction { emoji: emoji.into(), removed });
    }
    let (edited, _) = rows(&[with(said("A-1", AT), json!({"text": "new", "dateEdited": AT + 9}))]);
    assert_eq!((edited[0].key.as_str(), edited[1].key.as_str()), ("A-1", &*format!("edit:A-1:{}", AT + 9)));
    assert!(matches!(&edited[1].event, Event::Edit(words) if words.text == "new"));
    assert_eq!(edited[1].said_at, Some(AT + 9));
    for retracted in [json!({"text": null, "dateEdited": AT + 9}), json!({"dateRetracted": AT + 9})] {
        let received = one(with(said("A-1", AT), retracted));
        assert_eq!((received.key.as_str(), &received.event), ("delete:A-1", &Event::Delete));
        assert_eq!((received.message_id.as_deref(), received.author.unverified), (Some("A-1"), false));
    }
}

#[test]
fn who_comes_to_a_group_and_leaves_it_is_told_and_what_has_no_words_is_counted() {
    let leaves = in_group(with(said("A-1", AT), json!({"itemType": 3, "text": null})));
    let left = one(leaves);
    assert_eq!((left.event, left.author.id.as_str(), left.message_id), (Event::Leave, ANNA, None));
    let taken_in =
        in_group(with(said("A-1", AT), json!({"itemType": 1, "groupActionType": 0, "text": null})));
    assert_eq!(one(taken_in.clone()).event, Event::Join);
    let nobody = with(taken_in, json!({"otherHandle": 99}));
    for (row, reason, what) in [
        (nobody, DropReason::Unreadable, "participant"),
        (with(said("A-1", AT), json!({"itemType": 2})), DropReason::NotUsed, "item type 2"),
        (
            with(said("A-1", AT), json!({"itemType": 3, "groupActionType": 1})),
            DropReason::NotUsed,
            "group action 1",
        ),
        (with(said("A-1", AT), json!({"text": "\u{fffc}"})), DropReason::NotUsed, "message without words"),
        (
            with(said("A-1", AT), json!({"text": null, "balloonBundleId": "x.Polls"})),
            DropReason::NotUsed,
            "x.Polls",
        ),
        (
            with(said("A-1", AT), json!({"associatedMessageType": "sticker"})),
            DropReason::NotUsed,
            "associated message",
        ),
        (with(said("A-1", AT), json!({"associatedMessageType": "love"})), DropReason::Unreadable, "reaction"),
        (with(said("A-1", AT), json!({"handle": null})), DropReason::Unreadable, "handle"),
        (with(said("A-1", AT), json!({"handle": {"address": "a;b"}})), DropReason::Unreadable, "handle"),
        (with(said("A-1", AT), json!({"chats": []})), DropReason::Unreadable, "conversation"),
        (
            with(said("A-1", AT), json!({"chats": [{"guid": "X;-;a"}]})),
            DropReason::Unreadable,
            "conversation",
        ),
        (with(said("A-1", AT), json!({"guid": null})), DropReason::Unreadable, "message"),
        (with(said(&"A".repeat(5000), AT), json!({})), DropReason::Unreadable, "message"),
        (json!(5), DropReason::Unreadable, "message"),
    ] {
        let (received, dropped) = rows(std::slice::from_ref(&row));
        let is = Dropped { reason, what: what.into() };
        assert_eq!((received, dropped), (Vec::new(), vec![is]), "{row}");
    }
}
